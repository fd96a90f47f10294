/**
 * Parks records that a reactor cannot process: each organization's are tried alone, then one by one, and from the first
 * that fails they are parked inside the transaction (docs/architecture.md, rule 11).
 */
import { Cause, Effect, Exit } from "effect"
import { describe } from "../../describe.ts"
import { lookupDeadlineMillis } from "../../limits.ts"
import { CursorsUnavailable, type ParkedRecord } from "../../ports/Cursors.ts"
import { StreamUnavailable } from "../../ports/ProgramStreams.ts"
import type { Reactor } from "../../Reactor.ts"
import { encodeRecord, type LogRecord } from "../../records.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"
import type { WantedRecord } from "./batchOf.ts"

const behindText = "behind a parked record of its organization"

/** Whether a store or a stream cannot be reached, which is not the fault of a record: nothing is parked for it. */
export const isAway = (error: unknown): error is CursorsUnavailable | StreamUnavailable =>
  error instanceof CursorsUnavailable || error instanceof StreamUnavailable

/** A small read of the cursors, with its deadline. */
export const lookup = <A, R>(effect: Effect.Effect<A, CursorsUnavailable, R>) =>
  deadline(effect, lookupDeadlineMillis, () => new CursorsUnavailable({ message: "the cursors do not answer" }))

/** Shows in the metrics how many records are parked. A count that fails now is shown with the next change. */
export const showParked = (partition: Partition, reactor: string): Effect.Effect<void> =>
  Effect.ignore(
    Effect.map(lookup(partition.context.cursors.parkedCount(partition.id, reactor)), (count) =>
      partition.metrics.parkedNow(reactor, count)
    )
  )

/** Parks records behind one that is parked already. */
export const parkBehind = (partition: Partition, reactor: string, group: ReadonlyArray<WantedRecord>) =>
  partition.context.cursors.park(group.map((one) => parkedOf(partition, reactor, one, behindText)))

/**
 * Tries each organization's records alone, then one by one; parks from the first that fails. Returns the organizations
 * with parked records.
 */
export const isolate = Effect.fnUntraced(function* (
  partition: Partition,
  reactor: Reactor<never>,
  wanted: ReadonlyArray<WantedRecord>
) {
  const groups = Map.groupBy(wanted, ({ record }) => record.organization)
  const parked: Array<string> = []
  for (const [organization, group] of groups) {
    if (group.every(({ problem }) => problem === undefined)) {
      const whole = yield* attempt(partition, reactor, group)
      if (whole === undefined) continue
    }
    for (const [index, one] of group.entries()) {
      const error = one.problem ?? (yield* attempt(partition, reactor, [one]))
      if (error === undefined) continue
      yield* park(partition, reactor.name, group.slice(index), error)
      parked.push(organization)
      break
    }
  }
  return parked
})

/** Processes some records inside the transaction; returns the error, with nothing done, or undefined. */
const attempt = Effect.fnUntraced(function* (
  partition: Partition,
  reactor: Reactor<never>,
  wanted: ReadonlyArray<WantedRecord>
) {
  const handled = reactor.handle(wanted.map(({ record }) => record as LogRecord))
  const exit = yield* Effect.exit(partition.context.cursors.attempt(handled))
  if (Exit.isSuccess(exit)) return undefined
  const error = Cause.squash(exit.cause)
  // An interruption or an unreachable store is not the fault of a record, so it is not caught.
  if (Cause.hasInterrupts(exit.cause) || isAway(error)) return yield* Effect.failCause(exit.cause)
  return describe(error)
})

const park = Effect.fnUntraced(function* (
  partition: Partition,
  reactor: string,
  group: ReadonlyArray<WantedRecord>,
  error: string
) {
  const [first] = group
  yield* partition.context.cursors.park(
    group.map((one, index) => parkedOf(partition, reactor, one, index === 0 ? error : behindText))
  )
  partition.metrics.parked(reactor, group.length)
  const { index, organization, sequence } = first!.record
  yield* Effect.logError(`reactor ${reactor} parked ${organization} at frame ${sequence}, record ${index}: ${error}`)
})

const parkedOf = (partition: Partition, reactor: string, { record }: WantedRecord, error: string): ParkedRecord => {
  const { index, organization, sequence } = record
  const place = { partition: partition.id, reactor, organization, sequence, index }
  return {
    ...place,
    record: encodeRecord(partition.context.registry, record, partition.context.placement.level?.()),
    error
  }
}
