/**
 * Manages records that a reactor has parked (docs/architecture.md, rule 11), for an operator: lists them with their
 * errors, tries them again in order, or dismisses the first. A record of the act can be written in its transaction.
 */
import { Cause, Effect } from "effect"
import { describe } from "../describe.ts"
import { type Engine, EngineRefused } from "../Engine.ts"
import { outboxName } from "../outbox.ts"
import { CursorsUnavailable, type ParkedRecord } from "../ports/Cursors.ts"
import { StreamUnavailable } from "../ports/ProgramStreams.ts"
import type { Reactor } from "../Reactor.ts"
import { decodeRecord } from "../records.ts"
import { internals } from "../shell/partition/internals.ts"
import { showParked } from "../shell/reactors/parkRecords.ts"
import type { Alongside, DismissOptions, ParkedEntry, ParkedList, RetriedParked, RetryOptions } from "./parked.ts"
import {
  countParkedMessages,
  dismissParkedMessage,
  listParkedMessages,
  retryParkedMessages,
  showParkedMessages,
  unrecorded
} from "./parkedMessages.ts"
import { isPassed, notPassed, outsideNames, retryParkedSignals } from "./parkedSignals.ts"

type AnyEngine = Engine["Service"]

const nothing: Alongside = () => Effect.void

/** Parked records that one transaction takes. */
const batchRecords = 100

/** Finds the named reactor: if an engine has only one, the name is optional. */
export const reactorNamed = (engine: AnyEngine, name?: string): Effect.Effect<string, EngineRefused> => {
  const { context } = internals(engine)
  const reactors = context.reactors.map((reactor) => reactor.name)
  const names = [...reactors, outboxName, ...outsideNames(context)]
  const found = name === undefined && reactors.length === 1 ? reactors[0] : names.find((known) => known === name)
  return found !== undefined
    ? Effect.succeed(found)
    : Effect.fail(new EngineRefused({ message: `no reactor is named ${name ?? "here"}; known: ${names.join(", ")}` }))
}

/**
 * Lists the organizations with parked records at a reactor, in pages. Its cost does not depend on how many records are
 * parked.
 */
export const listParked = Effect.fnUntraced(function* (
  engine: AnyEngine,
  reactor: string,
  page: { readonly after?: string | undefined; readonly limit: number }
): Effect.fn.Return<ParkedList, CursorsUnavailable> {
  if (reactor === outboxName) return yield* listParkedMessages(engine, page)
  const { cursors } = internals(engine).context
  let records = 0
  const organizations: Array<ParkedEntry> = []
  const first = page.after === undefined ? 0 : engine.partitionOf(page.after)
  for (let partition = 0; partition < engine.partitions; partition++) {
    const parked = yield* cursors.parkedCount(partition, reactor)
    records += parked
    const wanted = page.limit + 1 - organizations.length
    if (parked === 0 || partition < first || wanted <= 0) continue
    const after = partition === first ? page.after : undefined
    for (const { count, organization } of yield* cursors.parkedOrganizations(partition, reactor, {
      after,
      limit: wanted
    }))
      organizations.push({ partition, reactor, organization, records: count })
  }
  return {
    reactor,
    records,
    organizations: organizations.slice(0, page.limit),
    hasMore: organizations.length > page.limit
  }
})

/** The first parked records of an organization, in log order. */
export const showParkedRecords = (
  engine: AnyEngine,
  reactor: string,
  organization: string,
  limit: number
): Effect.Effect<ReadonlyArray<ParkedRecord>, CursorsUnavailable> =>
  reactor === outboxName
    ? showParkedMessages(engine, organization, limit)
    : internals(engine).context.cursors.parked(engine.partitionOf(organization), reactor, organization, limit)

/** The number of an organization's parked records at a reactor. */
export const countParkedRecords = (
  engine: AnyEngine,
  reactor: string,
  organization: string
): Effect.Effect<number, CursorsUnavailable> =>
  reactor === outboxName
    ? countParkedMessages(engine, organization)
    : internals(engine).context.cursors.parkedCount(engine.partitionOf(organization), reactor, organization)

/**
 * Tries an organization's parked records again, one transaction each batch, until none is left, one fails or the limit
 * is reached.
 */
export const retryParked = Effect.fnUntraced(function* (
  engine: AnyEngine,
  partitionId: number,
  reactorName: string,
  organization: string,
  { alongside = nothing, limit = Number.POSITIVE_INFINITY }: RetryOptions = {}
): Effect.fn.Return<RetriedParked, EngineRefused | CursorsUnavailable> {
  if (reactorName === outboxName) return yield* retryParkedMessages(engine, organization, { limit, alongside })
  if (outsideNames(internals(engine).context).includes(reactorName))
    return yield* retryParkedSignals(engine, reactorName, organization, { limit, alongside })
  const { cursors, partition, reactor, registry } = yield* placeOf(engine, partitionId, reactorName)
  let retried = 0
  let error: string | undefined
  /** Tries the records; returns why they failed again, with nothing done, or undefined. */
  const attempt = Effect.fnUntraced(function* (records: ReadonlyArray<ParkedRecord>) {
    const decoded = yield* Effect.result(
      Effect.try({ try: () => records.map(({ record }) => decodeRecord(registry, record)), catch: describe })
    )
    if (decoded._tag === "Failure") return `it cannot be read: ${decoded.failure}`
    const exit = yield* Effect.exit(
      cursors.unpark(records, Effect.andThen(reactor.handle(decoded.success), alongside(records)))
    )
    if (exit._tag === "Success") {
      retried += records.length
      return undefined
    }
    const failure = Cause.squash(exit.cause)
    if (failure instanceof StreamUnavailable) return yield* new CursorsUnavailable({ message: failure.message })
    if (Cause.hasInterrupts(exit.cause) || failure instanceof CursorsUnavailable)
      return yield* Effect.failCause(exit.cause as Cause.Cause<CursorsUnavailable>)
    return describe(failure)
  })
  while (error === undefined && retried < limit) {
    const records = yield* cursors.parked(
      partitionId,
      reactorName,
      organization,
      Math.min(batchRecords, limit - retried)
    )
    if (records.length === 0) break
    error = yield* attempt(records)
    // One of them is broken: remove those before it.
    if (error === undefined || records.length === 1) continue
    error = undefined
    for (const record of records) {
      error = yield* attempt([record])
      if (error !== undefined) break
    }
  }
  yield* showParked(partition, reactorName)
  const left = yield* cursors.parkedCount(partitionId, reactorName, organization)
  return { retried, left, ...(error === undefined ? {} : { error }) }
})

/**
 * Removes an organization's first parked record without its effects; then the later ones can be retried. False if
 * nothing was removed.
 */
export const dismissParked = Effect.fnUntraced(function* (
  engine: AnyEngine,
  partitionId: number,
  reactorName: string,
  organization: string,
  { alongside = nothing, record }: DismissOptions = {}
): Effect.fn.Return<boolean, EngineRefused | CursorsUnavailable> {
  if (reactorName === outboxName)
    return yield* dismissParkedMessage(engine, organization, { alongside, ...(record === undefined ? {} : { record }) })
  const { cursors, partition } = yield* partitionAt(engine, partitionId, reactorName)
  const records = yield* cursors.parked(partitionId, reactorName, organization, 1)
  const [first] = records
  if (first === undefined) return false
  if (record !== undefined && (first.sequence !== record.sequence || first.index !== record.index)) return false
  if (outsideNames(partition.context).includes(reactorName) && !isPassed(partition, first))
    return yield* new CursorsUnavailable({ message: notPassed })
  yield* Effect.catch(cursors.unpark(records, alongside(records)), unrecorded)
  yield* showParked(partition, reactorName)
  return true
})

/** Gives up all parked records of a deleted organization, at every reactor and among what came from outside. */
export const eraseParked = Effect.fnUntraced(function* (
  engine: AnyEngine,
  organization: string
): Effect.fn.Return<void, CursorsUnavailable> {
  const { context } = internals(engine)
  const { cursors, reactors } = context
  const id = engine.partitionOf(organization)
  for (const name of [...reactors.map((reactor) => reactor.name), ...outsideNames(context)])
    for (;;) {
      const records = yield* cursors.parked(id, name, organization, batchRecords)
      if (records.length === 0) break
      yield* cursors.unpark(records, Effect.void)
    }
})

const notHere = (partitionId: number, reactorName: string) =>
  Effect.fail(new EngineRefused({ message: `no reactor ${reactorName} runs for partition ${partitionId} here` }))

/** The partition, which must have this reactor or receive signals. */
const partitionAt = (engine: AnyEngine, partitionId: number, reactorName: string) => {
  const { context, partitions } = internals(engine)
  const partition = partitions.get(partitionId)
  const isKnown =
    outsideNames(context).includes(reactorName) || context.reactors.some(({ name }) => name === reactorName)
  return partition === undefined || !isKnown
    ? notHere(partitionId, reactorName)
    : Effect.succeed({ cursors: context.cursors, partition })
}

const placeOf = (engine: AnyEngine, partitionId: number, reactorName: string) => {
  const { context } = internals(engine)
  const reactor: Reactor<never> | undefined = context.reactors.find(({ name }) => name === reactorName)
  return reactor === undefined
    ? notHere(partitionId, reactorName)
    : Effect.map(partitionAt(engine, partitionId, reactorName), (place) => ({
        ...place,
        registry: context.registry,
        reactor
      }))
}
