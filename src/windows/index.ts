/**
 * Exports `sluice/windows`: windows and joins over event time, as pure functions for the rules of your own actors
 * (docs/windows.md). Import it as `Windows`: `import * as Windows from "sluice/windows"`. Needs no engine.
 */
import "../common/checkedPeers.ts"

export {
  type Added,
  type Advanced,
  type EventWindow,
  type JsonSchema,
  state,
  type TimedEvent,
  type Windows,
  type WindowsOptions,
  type WindowsState
} from "./eventWindows.ts"
export {
  type Joined,
  type LatestTable,
  type LatestTableOptions,
  latestTable,
  maximumTableKeyLength,
  type TableChange,
  type TableEntry,
  type TableState,
  type TableValue
} from "./latestTable.ts"
export { type SessionOptions, session } from "./session.ts"
export { type HoppingOptions, hopping, type TumblingOptions, tumbling } from "./timeWindows.ts"
export { RefusalReason, WindowRefused } from "./WindowRefused.ts"
