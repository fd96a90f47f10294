/** The content of emails as the rules see it. */
export { type EmailContent, examineContent, riskySignalsOf } from "./riskyContent.ts"
export { shorteners } from "./shorteners.ts"
