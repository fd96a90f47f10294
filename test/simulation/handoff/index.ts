/** The hand-off of mail in a simulated world: the real workers, tasks and account rules under seeded faults. */
import { operations } from "./HandoffScenario.ts"

export { fromJson, generate, type Scenario } from "./HandoffScenario.ts"
export { describe, type Outcome, play, shrink } from "./playHandoff.ts"

/** Marks that a campaign must reach, so that its silence means something. */
export const requiredMarks: ReadonlyArray<string> = [
  ...Object.entries(operations).flatMap(([operation, kinds]) => kinds.map((kind) => `fault, ${operation}: ${kind}`)),
  "crash",
  "restart",
  "outage",
  "cancelled",
  "new life",
  "taken without the database",
  "written: Ended",
  "written: Running",
  "written: Left"
]
