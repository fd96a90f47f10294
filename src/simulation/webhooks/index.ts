/** Webhook deliveries in a simulated world: the real dispatcher, endpoint rules and matching under seeded faults. */
export { webhookCheckers } from "./checkers/index.ts"
export { requiredMarks } from "./marks.ts"
export type { Checker, Observer, Sent } from "./Observer.ts"
export { describe, type Outcome, type PlayOptions, play, shrink } from "./play.ts"
export { fromJson, generate, operations, Scenario } from "./Scenario.ts"
export type { Simulation, Violation } from "./Simulation.ts"
