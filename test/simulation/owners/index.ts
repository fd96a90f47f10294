/** Several owners of the same partitions, played from seeds. */
import { operations, ways } from "./OwnersScenario.ts"

export { fromJson, generate, type Scenario, toJson } from "./OwnersScenario.ts"
export { describe, type Outcome, play, shrink } from "./playOwners.ts"

/** What a campaign must have reached for its silence to mean something. */
export const requiredMarks: ReadonlyArray<string> = [
  ...Object.entries(operations).flatMap(([operation, kinds]) => kinds.map((kind) => `fault, ${operation}: ${kind}`)),
  ...ways.map((way) => `moved, ${way}`),
  "locks out of sight",
  "placed twice",
  "a node was killed",
  "a node was stopped",
  "a node stood still",
  "a node was cut off",
  "outage, log",
  "outage, database",
  "a request reached two owners",
  "a look was answered",
  "a lane was answered",
  "answer, Replied",
  "answer, Rejected",
  "answer, OutcomeUnknown",
  "answer, PartitionUnavailable",
  "engine, fenced",
  "formats, raised",
  "formats, a node was left behind",
  "formats, a node was refused",
  "formats, a node found itself outdated",
  "formats, a partition was not taken",
  "formats, a fact of a later level",
  "a node was upgraded"
]
