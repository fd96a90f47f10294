/** The client of a Sluice platform in TypeScript. */
export * from "./errors.ts"
export * from "./generated/index.ts"
export { createSluice, everyItem, type SluiceOptions } from "./sluice.ts"
export * from "./verifyWebhook.ts"
