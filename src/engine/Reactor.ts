/**
 * Defines reactors: handlers that follow the log of each partition with a durable cursor (docs/architecture.md, rule
 * 11). One transaction holds all SQL effects of a batch and moves the cursor; other effects (SMTP, POST) belong into a
 * work queue that the handler fills. A reactor decides only by the log up to its cursor, so it keeps the knowledge that
 * it needs in the same store.
 */
import { Effect } from "effect"
import type { Actor } from "./Actor.ts"
import { ReactorTransaction } from "./ports/Cursors.ts"
import { adaptive, immediate, type Pace } from "./reactorPace.ts"
import type { EventRecord, FactRecord, LogRecord } from "./records.ts"
import type { TaskSource } from "./tasks/TaskSource.ts"

export { adaptive, immediate, type Pace }

/** Frames that one transaction takes at most. See {@link Reactor.make}. */
export const maximumBatchFrames = 256
/** Records that one transaction takes at most. See {@link Reactor.make}. */
export const maximumBatchRecords = 2_048

/** A handler that follows the log with a durable cursor. Made by `make`. See {@link Reactor.make}. */
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
  /**
   * Does something outside with a batch before its transaction, without the records of organizations that may have
   * parked ones. `handle` gets them all, and does the rest. When it fails, so has the batch.
   *
   * @internal
   */
  readonly ahead?: (records: ReadonlyArray<LogRecord>) => Effect.Effect<void, unknown, R>
  /** Whether the reactor uses a record; the others are left out. */
  readonly wants?: (record: LogRecord) => boolean
  /**
   * Makes the same of the states of actors as `handle` makes of all of their facts, for a rebuild from states; one for
   * each kind that the reactor wants. Left out, it can be rebuilt from the log alone.
   */
  readonly states?: ReadonlyArray<StatesPart<R>> | undefined
  /** When the next transaction may begin; `adaptive` by default. */
  readonly pace?: Pace
  /**
   * The tasks of its records: work outside that begins as soon as a frame is acknowledged, before `handle` writes its
   * outcome.
   *
   * @internal
   */
  readonly tasks?: Effect.Effect<ReadonlyArray<TaskSource>, never, R>
}

/** A fact of one actor, typed by its schema. Never change `fact`: the actor may share it. See {@link Reactor.facts}. */
export interface FactOf<out Fact> extends FactRecord {
  readonly fact: Fact
}

/** The state of an actor, typed by its schema. Never change it: the actor may share it. See {@link Reactor.facts}. */
export interface StateOf<out State> {
  readonly partition: number
  readonly organization: string
  readonly key: string
  readonly state: State
  /** The frame of the actor's last fact or an earlier checkpoint's. */
  readonly sequence: number
}

/** A reactor's handler of the states of a kind. See {@link Reactor.facts}. */
export interface StatesPart<R = never> {
  readonly kind: string
  readonly handle: (states: ReadonlyArray<StateOf<unknown>>) => Effect.Effect<void, unknown, R | ReactorTransaction>
}

/** Options of the part for facts. See {@link Reactor.facts}. */
export interface FactsPartOptions<State, E, R> {
  /**
   * Makes of the states of some actors what `handle` makes of all their facts so far: for `Reactors.rebuild` with
   * `from: "states"`. Part of a transaction, as `handle` is.
   */
  readonly states?: (states: ReadonlyArray<StateOf<State>>) => Effect.Effect<void, E, R>
}

/**
 * A part of a reactor: its filter of records, and their handler. Made by `facts` and `events`. See
 * {@link Reactor.make}.
 */
export interface Part<R = never> extends Pick<Reactor<R>, "handle" | "states" | "wants"> {
  /** @internal */
  readonly tasks?: Effect.Effect<ReadonlyArray<TaskSource>, never, R>
}

/**
 * The part for the facts of an actor, typed (docs/reactors.md). `handle` gets all facts of a batch in log order, at
 * least one; they may belong to several organizations and keys.
 *
 * @example
 * ```ts
 * import { type Actor, Reactor } from "sluice"
 *
 * const sold = new Map<string, number>()
 *
 * export const counted = <Command, State>(Shop: Actor.Actor<Command, { readonly item: string }, State, void, never>) =>
 *   Reactor.facts(Shop, (records) =>
 *     Reactor.onCommit(() => {
 *       for (const { fact } of records) sold.set(fact.item, (sold.get(fact.item) ?? 0) + 1)
 *     })
 *   )
 * ```
 */
export const facts = <Command, Fact, State, Reply, Rejection, E = never, R = never>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  handle: (records: ReadonlyArray<FactOf<Fact>>) => Effect.Effect<void, E, R>,
  { states }: FactsPartOptions<NoInfer<State>, E, R> = {}
): Part<R> => {
  // A record of the actor's kind holds a fact decoded by the actor's own schema.
  const wants = (record: LogRecord): record is FactOf<Fact> => record._tag === "Fact" && record.kind === actor.kind
  // So does a state.
  const handleStates = states as StatesPart<R>["handle"] | undefined
  return {
    wants,
    handle: (records) => handle(records.filter(wants)),
    ...(handleStates === undefined ? {} : { states: [{ kind: actor.kind, handle: handleStates }] })
  }
}

/**
 * The part for public events of some types (docs/reactors.md): `orders.created`, or `orders.*` for every type below
 * `orders`. `handle` gets all events of a batch in log order, at least one.
 *
 * @example
 * ```ts
 * import { Reactor } from "sluice"
 *
 * const seen: Array<string> = []
 *
 * export const log = Reactor.make({
 *   name: "log",
 *   parts: [Reactor.events(["orders.*"], (records) => Reactor.onCommit(() => seen.push(...records.map(({ id }) => id))))]
 * })
 * ```
 */
export const events = <E = never, R = never>(
  types: ReadonlyArray<string>,
  handle: (records: ReadonlyArray<EventRecord>) => Effect.Effect<void, E, R>
): Part<R> => {
  const whole = new Set(types)
  const prefixes = types.filter((type) => type.endsWith(".*")).map((type) => type.slice(0, -1))
  const wants = (record: LogRecord): record is EventRecord =>
    record._tag === "Event" &&
    (whole.has(record.event.type) || prefixes.some((prefix) => record.event.type.startsWith(prefix)))
  return { wants, handle: (records) => handle(records.filter(wants)) }
}

/** The definition of a reactor: its name, and its parts. See {@link Reactor.make}. */
export interface ReactorOptions<Parts extends ReadonlyArray<Part<unknown>>> {
  /** Unique in the engine, stored with the cursors: never rename it. */
  readonly name: string
  /** They run in this order on the same batch, with one cursor and one transaction. */
  readonly parts: Parts
  /** When the next transaction may begin; `adaptive` by default. */
  readonly pace?: Pace
}

/** The services that parts need. See {@link Reactor.make}. */
export type PartServices<Parts extends ReadonlyArray<Part<unknown>>> =
  ReturnType<Parts[number]["handle"]> extends Effect.Effect<void, unknown, infer R>
    ? Exclude<R, ReactorTransaction>
    : never

/**
 * Defines a reactor of parts (docs/reactors.md). Records that no part wants are passed over.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Actor, Engine, Reactor, Reactors } from "sluice"
 *
 * const Order = Schema.Struct({ cents: Schema.Int })
 * const Shop = Actor.make({
 *   kind: "shop",
 *   command: Order,
 *   fact: Order,
 *   state: Schema.Int,
 *   initial: () => 0,
 *   evolve: (sold, { cents }) => sold + cents,
 *   decide: (_, order) => Actor.decided({ facts: [order] })
 * })
 *
 * let total = 0
 * const totals = Reactor.make({
 *   name: "totals",
 *   parts: [
 *     Reactor.facts(Shop, (records) =>
 *       Reactor.onCommit(() => {
 *         for (const { fact } of records) total += fact.cents
 *       })
 *     )
 *   ]
 * })
 *
 * const program = Effect.gen(function* () {
 *   const engine = yield* Engine.Engine
 *   yield* engine.ask(Shop, { organization: "acme" }, { cents: 300 })
 *   yield* Reactors.settled
 * })
 * await Effect.runPromise(Effect.provide(program, Engine.layerMemory({ actors: [Shop], reactors: [totals] })))
 * console.log(total) // 300
 * ```
 */
export const make = <const Parts extends ReadonlyArray<Part<unknown>>>({
  name,
  pace,
  parts
}: ReactorOptions<Parts>): Reactor<PartServices<Parts>> => ({
  // The parts' own types prove `PartServices`.
  ...combine(name, parts as ReadonlyArray<Part<PartServices<Parts>>>),
  ...(pace === undefined ? {} : { pace })
})

/**
 * Does something in memory once the transaction is committed, and not at all when it is rolled back: wake a worker,
 * update a cache. The action must not throw.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Reactor } from "sluice"
 * import { SqlClient } from "effect/sql"
 *
 * let waiting = 0
 * const kept = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`insert into mails (event) values ('orders.created')`)
 * // the row is rolled back with the transaction, and then nothing is counted
 * export const handled = Effect.andThen(kept, Reactor.onCommit(() => void waiting++))
 * ```
 */
export const onCommit = (action: () => void): Effect.Effect<void, never, ReactorTransaction> =>
  Effect.map(ReactorTransaction, (transaction) => transaction.onCommit(action))

/**
 * Several handlers as one reactor with one cursor: a partition has one SQL reactor. They run in the given order on the
 * same batch.
 *
 * @example
 * ```ts
 * import { Reactor } from "sluice"
 *
 * const counts = { orders: 0, mails: 0 }
 * export const both = Reactor.combine("counts", [
 *   Reactor.events(["orders.*"], (records) => Reactor.onCommit(() => void (counts.orders += records.length))),
 *   Reactor.events(["mails.*"], (records) => Reactor.onCommit(() => void (counts.mails += records.length)))
 * ])
 * ```
 */
export const combine = <R>(name: string, parts: ReadonlyArray<Part<R>>): Reactor<R> => ({
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
    ),
  ...statesOf(parts),
  ...tasksOf(parts)
})

/** The parts for states, if every part has some: otherwise a part of the output could not be made of states. */
const statesOf = <R>(parts: ReadonlyArray<Part<R>>): Pick<Reactor<R>, "states"> =>
  parts.every(({ states }) => states !== undefined) ? { states: parts.flatMap(({ states = [] }) => states) } : {}

/** The tasks of all parts, if any has some. */
const tasksOf = <R>(parts: ReadonlyArray<Part<R>>): Pick<Reactor<R>, "tasks"> => {
  const all = parts.flatMap(({ tasks }) => tasks ?? [])
  return all.length === 0 ? {} : { tasks: Effect.map(Effect.all(all), (sources) => sources.flat()) }
}
