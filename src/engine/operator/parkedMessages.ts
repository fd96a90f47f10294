/**
 * Manages messages that the outbox has parked (docs/outbox.md), for an operator. They are listed by the organization
 * that receives them, and each partition that sends to it has some of its own, in its own order.
 */
import { Effect } from "effect"
import { describe } from "../describe.ts"
import type { Engine } from "../Engine.ts"
import { outboxName } from "../outbox.ts"
import { CursorsUnavailable, type ParkedRecord } from "../ports/Cursors.ts"
import { deliverParked } from "../shell/outbox/deliverParked.ts"
import { internals } from "../shell/partition/internals.ts"
import { showParked } from "../shell/reactors/parkRecords.ts"
import type { DismissOptions, ParkedEntry, ParkedList, RetriedParked, RetryOptions } from "./parked.ts"

type AnyEngine = Engine["Service"]

const partitionsOf = ({ partitions }: AnyEngine) => Array.from({ length: partitions }, (_, partition) => partition)

/** Fails because the record of an act could not be written. */
export const unrecorded = (error: unknown): Effect.Effect<never, CursorsUnavailable> =>
  Effect.fail(
    error instanceof CursorsUnavailable
      ? error
      : new CursorsUnavailable({ message: `the act could not be recorded: ${describe(error)}`, cause: error })
  )

/** Lists receivers with parked messages, in pages. The partition of an entry is the first that has some. */
export const listParkedMessages = Effect.fnUntraced(function* (
  engine: AnyEngine,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number }
): Effect.fn.Return<ParkedList, CursorsUnavailable> {
  const { cursors } = internals(engine).context
  let records = 0
  const entries = new Map<string, ParkedEntry>()
  for (const partition of partitionsOf(engine)) {
    const parked = yield* cursors.parkedCount(partition, outboxName)
    records += parked
    if (parked === 0) continue
    const page = yield* cursors.parkedOrganizations(partition, outboxName, { after, limit: limit + 1 })
    for (const { count, organization } of page) {
      const before = entries.get(organization) ?? { partition, reactor: outboxName, organization, records: 0 }
      entries.set(organization, { ...before, records: before.records + count })
    }
  }
  const organizations = [...entries.values()].sort((left, right) => (left.organization < right.organization ? -1 : 1))
  return {
    reactor: outboxName,
    records,
    organizations: organizations.slice(0, limit),
    hasMore: organizations.length > limit
  }
})

/** The first parked messages of a receiver, partition by partition. */
export const showParkedMessages = (
  engine: AnyEngine,
  receiver: string,
  limit: number
): Effect.Effect<ReadonlyArray<ParkedRecord>, CursorsUnavailable> =>
  Effect.map(
    Effect.forEach(partitionsOf(engine), (partition) =>
      internals(engine).context.cursors.parked(partition, outboxName, receiver, limit)
    ),
    (found) => found.flat().slice(0, limit)
  )

/** The number of parked messages of a receiver. */
export const countParkedMessages = (engine: AnyEngine, receiver: string): Effect.Effect<number, CursorsUnavailable> =>
  Effect.map(
    Effect.forEach(partitionsOf(engine), (partition) =>
      internals(engine).context.cursors.parkedCount(partition, outboxName, receiver)
    ),
    (counts) => counts.reduce((sum, count) => sum + count, 0)
  )

/** Sends a receiver's parked messages again, in order for each partition, until one fails. */
export const retryParkedMessages = Effect.fnUntraced(function* (
  engine: AnyEngine,
  receiver: string,
  { alongside, limit }: Required<RetryOptions>
): Effect.fn.Return<RetriedParked, CursorsUnavailable> {
  const { partitions, context } = internals(engine)
  let retried = 0
  let error: string | undefined
  for (const id of partitionsOf(engine)) {
    if (retried >= limit || (yield* context.cursors.parkedCount(id, outboxName, receiver)) === 0) continue
    const partition = partitions.get(id)
    if (partition === undefined) {
      error ??= `partition ${id}, which sends some of them, is placed in another process`
      continue
    }
    const done = yield* Effect.catch(deliverParked(partition, receiver, limit - retried, alongside), unrecorded)
    retried += done.delivered
    if (done.error !== undefined) error ??= describe(done.error)
    partition.courier?.look(receiver)
  }
  const left = yield* countParkedMessages(engine, receiver)
  return { retried, left, ...(error === undefined ? {} : { error }) }
})

/**
 * Gives up the first parked message of a receiver. The messages behind it are then sent automatically. False if nothing
 * was removed.
 */
export const dismissParkedMessage = Effect.fnUntraced(function* (
  engine: AnyEngine,
  receiver: string,
  { alongside, record }: DismissOptions & Required<Pick<DismissOptions, "alongside">>
): Effect.fn.Return<boolean, CursorsUnavailable> {
  const { partitions, context } = internals(engine)
  for (const partition of partitions.values()) {
    const records = yield* context.cursors.parked(partition.id, outboxName, receiver, 1)
    const [first] = records
    if (first === undefined) continue
    if (record !== undefined && (first.sequence !== record.sequence || first.index !== record.index)) continue
    yield* partition.courier?.save ?? Effect.void
    const { sequence } = yield* context.cursors.read(partition.id, outboxName)
    // A start before the cursor has passed it would send it again.
    if (sequence < first.sequence)
      return yield* new CursorsUnavailable({
        message: "the outbox has not passed this message yet: try again in a minute"
      })
    yield* Effect.catch(context.cursors.unpark(records, alongside(records)), unrecorded)
    yield* showParked(partition, outboxName)
    partition.courier?.look(receiver)
    return true
  }
  return false
})
