/**
 * Definition of reactors: what follows the log of each partition with a durable cursor (docs/architecture.md, rule 11).
 * One transaction takes in all that a batch does in SQL and moves the cursor; other effects (SMTP, POST) belong into a
 * work queue that is filled there. A reactor judges only by the log up to its cursor, so what it needs to know it keeps
 * in the same store.
 */
import { Effect } from "effect"
import type { ReactorTransaction } from "./Cursors.ts"
import type { LogRecord } from "./records.ts"

/** Frames and records that one transaction takes at most. */
export const maximumBatchFrames = 64
export const maximumBatchRecords = 2_048

export interface Reactor<R = never> {
  /** Unique in the engine, stored with the cursors: never rename it. */
  readonly name: string
  /**
   * Processes records in log order, inside the transaction (`SqlClient` statements join it). It runs again for the same
   * records when the transaction was not committed. When it fails, the records are tried again, and after some attempts
   * one organization at a time; the record that still fails is parked with its error, and the later ones of its
   * organization behind it.
   */
  readonly handle: (records: ReadonlyArray<LogRecord>) => Effect.Effect<void, unknown, R | ReactorTransaction>
  /** Whether the reactor has a use for a record; the others are left out. */
  readonly wants?: (record: LogRecord) => boolean
}

/** Several handlers as one reactor with one cursor: a partition has one SQL reactor. They run in the given order on the same batch. */
export const combine = <R>(name: string, parts: ReadonlyArray<Pick<Reactor<R>, "handle" | "wants">>): Reactor<R> => ({
  name,
  wants: (record) => parts.some((part) => part.wants?.(record) ?? true),
  handle: (records) =>
    Effect.forEach(
      parts,
      (part) => {
        const wanted = part.wants === undefined ? records : records.filter(part.wants)
        return wanted.length === 0 ? Effect.void : part.handle(wanted)
      },
      { discard: true }
    )
})
