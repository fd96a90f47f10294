/** The situations that a campaign over webhook deliveries must reach before its silence means something. */
import { operations } from "./WebhooksScenario.ts"

export const requiredMarks: ReadonlyArray<string> = [
  ...Object.entries(operations).flatMap(([operation, kinds]) => kinds.map((kind) => `${operation}: ${kind}`)),
  "crash",
  "restart",
  "retry",
  "replay",
  "clock stopped",
  "written: Ended",
  "written: Running",
  "written: Left",
  "a well endpoint among others",
  "a well endpoint among others, tested",
  "a well endpoint beside one with a rate",
  "a line",
  "a line, again",
  "a rate is used up",
  "an endpoint with a rate, in time"
]
