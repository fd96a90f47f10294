/**
 * Selects a reactor's records in the frames behind its place, in batches of whole frames (docs/architecture.md, rule
 * 11).
 */

import { describe } from "../../describe.ts"
import type { LogPosition } from "../../ports/Checkpoints.ts"
import { maximumBatchRecords, type Reactor } from "../../Reactor.ts"
import type { CommittedFrame, LogRecord, UnreadableRecord } from "../../records.ts"

/** A record for the reactor; `problem` when the reactor cannot even say whether it wants it. */
export interface WantedRecord {
  readonly record: LogRecord | UnreadableRecord
  readonly problem: string | undefined
}

/** Records of whole frames, up to the last one of them. */
export interface ReactorBatch {
  readonly wanted: ReadonlyArray<WantedRecord>
  readonly to: LogPosition
}

/** Whether a record is done already. */
export type IsDone = (record: LogRecord | UnreadableRecord) => boolean

/**
 * The wanted records of as many frames as fit a batch; whole frames, at least one, or those that fit behind a started
 * batch.
 */
export const batchOf = (
  reactor: Reactor<never>,
  frames: ReadonlyArray<CommittedFrame>,
  begun?: ReactorBatch,
  isDone: IsDone = () => false
): ReactorBatch => {
  const wanted: Array<WantedRecord> = begun === undefined ? [] : [...begun.wanted]
  let to = begun?.to ?? frames[0]!
  for (const frame of frames) {
    const ofFrame: Array<WantedRecord> = []
    for (const record of frame.records) {
      if (isDone(record)) continue
      const problem = problemOf(reactor, record)
      if (problem !== "unwanted") ofFrame.push({ record, problem })
    }
    if (wanted.length > 0 && wanted.length + ofFrame.length > maximumBatchRecords) break
    for (const one of ofFrame) wanted.push(one)
    to = frame
  }
  return { wanted, to: { sequence: to.sequence, hash: to.hash } }
}

/** Says why the reactor cannot get a record, or does not want it; undefined when it gets it. */
const problemOf = (reactor: Reactor<never>, record: LogRecord | UnreadableRecord): string | "unwanted" | undefined => {
  if (record._tag === "Unreadable") return record.error
  try {
    return reactor.wants === undefined || reactor.wants(record) ? undefined : "unwanted"
  } catch (cause) {
    return `wants: ${describe(cause)}`
  }
}
