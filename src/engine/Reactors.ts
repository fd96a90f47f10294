/**
 * Operates reactors (docs/reactors.md): wait until they have caught up, rebuild their tables, and test a handler on
 * facts without an engine.
 */
import { Effect } from "effect"
import type { Actor } from "./Actor.ts"
import type { Target } from "./address.ts"
import { Engine, type EngineRefused } from "./Engine.ts"
import { type RebuildOptions, type Rebuilt, rebuildReactor } from "./operator/rebuild.ts"
import { type CursorsUnavailable, ReactorTransaction } from "./ports/Cursors.ts"
import type { JournalUnavailable } from "./ports/Journal.ts"
import type { FactOf, Reactor } from "./Reactor.ts"
import type { LogRecord } from "./records.ts"
import { internals } from "./shell/partition/internals.ts"
import { awaitReactors } from "./shell/reactors/awaitReactors.ts"

export type { RebuildOptions, Rebuilt }

/**
 * Waits until every reactor has processed everything stored so far, on the partitions of this process: for tests, and
 * for reading your own writes. A parked record counts as processed.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactors } from "sluice"
 *
 * // For tests: what an act has written by way of reactors.
 * export const afterwards = <A, E, R>(act: Effect.Effect<A, E, R>) => Effect.tap(act, () => Reactors.settled)
 * ```
 */
export const settled: Effect.Effect<void, never, Engine> = Effect.flatMap(Engine, (engine) => {
  const { partitions } = internals(engine)
  return Effect.forEach(partitions.values(), awaitReactors, { discard: true })
})

/**
 * Waits until every reactor has processed what is stored now of one organization's partition, to read your own writes
 * of it. Answers false, without a wait, where another process serves the partition.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactors } from "sluice"
 *
 * // A row that a reactor writes, after the act that causes it.
 * export const after = <A, E, R>(organization: string, act: Effect.Effect<A, E, R>) =>
 *   Effect.tap(act, () => Reactors.settledFor(organization))
 * ```
 */
export const settledFor = (organization: string): Effect.Effect<boolean, never, Engine> =>
  Effect.flatMap(Engine, (engine) => {
    const partition = internals(engine).partitions.get(engine.partitionOf(organization))
    return partition === undefined ? Effect.succeed(false) : Effect.as(awaitReactors(partition), true)
  })

/**
 * Rebuilds a reactor's tables: one transaction runs `clear`, which empties them, and sends the reactor back to work
 * through the log again. The log is purged behind checkpoints, so it rarely reaches back to the beginning: if it does
 * not, this fails with `EngineRefused`, unless `from` is "what is kept" or "states". All partitions must be served by this process;
 * asks are answered meanwhile. `settled` waits until the reactor is through.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactors } from "sluice"
 * import { SqlClient } from "effect/sql"
 *
 * const clear = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`truncate takings`)
 * export const anew = Effect.andThen(Reactors.rebuild({ reactor: "takings", clear: Effect.asVoid(clear) }), Reactors.settled)
 * ```
 */
export const rebuild = <E = never, R = never>(
  options: RebuildOptions<E, R>
): Effect.Effect<
  Rebuilt,
  E | EngineRefused | CursorsUnavailable | JournalUnavailable,
  Engine | Exclude<R, ReactorTransaction>
> => Effect.flatMap(Engine, (engine) => rebuildReactor(engine, options))

/** How far a reactor is on a partition of this process. See {@link Reactors.progress}. */
export interface ReactorProgress {
  readonly partition: number
  /** Frames that it has still to read. */
  readonly frames: number
  /** While it is rebuilt from states: those that it has got, and whether these are all. */
  readonly rebuild: { readonly states: number; readonly isWalked: boolean } | undefined
}

/**
 * How far a reactor is, on the partitions of this process: while it is rebuilt, or lags. A reactor without a cursor has
 * all frames to read.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactors } from "sluice"
 *
 * // The states that a rebuild has processed so far.
 * export const done = Effect.map(Reactors.progress("takings"), (partitions) =>
 *   partitions.reduce((sum, { rebuild }) => sum + (rebuild?.states ?? 0), 0)
 * )
 * ```
 */
export const progress = (reactor: string): Effect.Effect<ReadonlyArray<ReactorProgress>, CursorsUnavailable, Engine> =>
  Effect.flatMap(Engine, (engine) =>
    Effect.forEach(internals(engine).partitions.values(), ({ context, core, id }) =>
      Effect.map(
        context.cursors.read(id, reactor),
        ({ rebuild, sequence }): ReactorProgress => ({
          partition: id,
          frames: Math.max(0, core.head.sequence - sequence),
          rebuild: rebuild && { states: rebuild.states, isWalked: rebuild.isWalked }
        })
      )
    )
  )

/** The place of a test's record, if it matters. See {@link Reactors.factOf}. */
export interface RecordPlace {
  readonly partition?: number
  /** The frame, from 1. */
  readonly sequence?: number
  readonly index?: number
  /** Milliseconds since the Unix epoch. */
  readonly now?: number
}

/**
 * A fact as a reactor gets it, for tests of handlers. Without a place it is the first of the first frame, at 0.
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Actor, Reactors } from "sluice"
 *
 * const Visits = Actor.makeStateless({
 *   kind: "visits",
 *   command: Schema.String,
 *   fact: Schema.String,
 *   decide: (page) => Actor.decided({ facts: [page] })
 * })
 * console.log(Reactors.factOf(Visits, { organization: "acme" }, "/prices").fact) // /prices
 * ```
 */
export const factOf = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  { key = "", organization }: Target,
  fact: NoInfer<Fact>,
  { index = 0, now = 0, partition = 0, sequence = 1 }: RecordPlace = {}
): FactOf<Fact> => ({ _tag: "Fact", partition, sequence, index, now, organization, kind: actor.kind, key, fact })

/**
 * Runs a reactor's handler on records without an engine, for tests: the wanted records, in this order, as one batch.
 * Actions registered with `Reactor.onCommit` run after the handler has succeeded.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactor, Reactors } from "sluice"
 *
 * const seen: Array<string> = []
 * const board = Reactor.make({
 *   name: "board",
 *   parts: [Reactor.events(["orders.*"], (records) => Reactor.onCommit(() => seen.push(...records.map(({ id }) => id))))]
 * })
 * // no record, no work
 * await Effect.runPromise(Reactors.handle(board, []))
 * console.log(seen) // []
 * ```
 */
export const handle = <R = never>(
  reactor: Reactor<R>,
  records: ReadonlyArray<LogRecord>
): Effect.Effect<void, unknown, Exclude<R, ReactorTransaction>> =>
  Effect.suspend(() => {
    const wanted = reactor.wants === undefined ? records : records.filter(reactor.wants)
    const actions: Array<() => void> = []
    const transaction = ReactorTransaction.of({ onCommit: (action) => void actions.push(action) })
    return wanted.length === 0
      ? Effect.void
      : Effect.map(Effect.provideService(reactor.handle(wanted), ReactorTransaction, transaction), () => {
          for (const action of actions) action()
        })
  })
