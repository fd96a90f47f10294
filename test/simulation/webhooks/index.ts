/** Webhook deliveries in a simulated world: the real dispatcher, endpoint rules and matching under seeded faults. */
export { webhookCheckers } from "./checkers/index.ts"
export { requiredMarks } from "./marks.ts"
export type { Checker, Observer, Sent } from "./Observer.ts"
export { describe, type Outcome, type PlayOptions, play, shrink } from "./playWebhooks.ts"
export { fromJson, generate, operations, Scenario } from "./WebhooksScenario.ts"
export type { Simulation, Violation } from "./WebhooksSimulation.ts"
