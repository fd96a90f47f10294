/**
 * Writes the events of decisions to the event log, as part of the SQL reactor's batch: exactly once, in the transaction
 * that moves the cursor. Needs what `appendEvents` needs.
 */
import { Effect } from "effect"
import type { EventRecord, LogRecord } from "../engine/records.ts"
import { appendEvents, type LoggedEvent } from "./EventLog.ts"
import { readEvent, testEventsKind } from "./event.ts"

const isOurs = (record: LogRecord): record is EventRecord => record._tag === "Event"

/** The event log's entry for a record. Throws on a record that does not fit the catalogue, which is then parked. */
export const loggedEventOf = (record: EventRecord): LoggedEvent => ({
  organizationId: record.organization,
  sequence: record.sequence,
  index: record.index,
  forBothModes: record.kind === testEventsKind && record.key === "",
  ...readEvent(record)
})

/** The part of the SQL reactor that keeps the event log. */
export const eventProjection = {
  wants: isOurs,
  handle: (records: ReadonlyArray<LogRecord>) =>
    Effect.suspend(() => appendEvents(records.filter(isOurs).map(loggedEventOf)))
}
