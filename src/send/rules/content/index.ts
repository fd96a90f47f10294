/** Exports the rules about the content of emails. */
export { type EmailContent, examineContent, riskySignalsOf } from "./riskyContent.ts"
export { shorteners } from "./shorteners.ts"
