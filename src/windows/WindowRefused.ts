/** Defines the refusal of an event or of a change of a table, which a rule can reject a command with. */
import { Schema } from "effect"

/**
 * The reasons of a refusal (docs/windows.md, "Bounds"):
 *
 * - `event_time`: the event's time is no whole number of milliseconds that a `Date` can show
 * - `ahead_of_clock`: the event's time is further ahead of the clock than `aheadMillis`
 * - `open_windows`: the event needs one more window than may be open
 * - `session_span`: the event would make a session longer than `spanMillis`
 * - `keys`: the table has no room for another key
 * - `key`: the key is empty or too long
 *
 * See {@link tumbling}.
 */
export const RefusalReason = Schema.Literals([
  "event_time",
  "ahead_of_clock",
  "open_windows",
  "session_span",
  "keys",
  "key"
])
/** The reason of a refusal. See {@link tumbling}. */
export type RefusalReason = typeof RefusalReason.Type

/** Nothing was added or changed. The schema of an actor's `rejection` for it is this class. See {@link tumbling}. */
export class WindowRefused extends Schema.TaggedError<WindowRefused>()("WindowRefused", {
  reason: RefusalReason,
  /** Place of the refused one among those that were given together, from 0. */
  index: Schema.Int,
  /** The bound and the given value. */
  message: Schema.String
}) {}
