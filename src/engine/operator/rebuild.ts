/**
 * Restarts a reactor with the content of the log (docs/reactors.md, "Waiting, and building anew"): one transaction
 * clears its tables, drops its parked records and moves its cursors back, on all partitions. The reactor's work waits
 * meanwhile.
 */
import { Effect } from "effect"
import { formatLevels } from "../../common/formatLevels.ts"
import { type Engine, EngineRefused } from "../Engine.ts"
import { lookupDeadlineMillis, rebuildDeadlineMillis } from "../limits.ts"
import { emptyLogHash, type LogPosition } from "../ports/Checkpoints.ts"
import { CursorMoved, CursorsUnavailable, type ReactorTransaction } from "../ports/Cursors.ts"
import type { JournalUnavailable } from "../ports/Journal.ts"
import type { Reactor } from "../Reactor.ts"
import { deadline } from "../shell/deadline.ts"
import { internals } from "../shell/partition/internals.ts"
import type { Partition } from "../shell/partition/Partition.ts"
import { showParked } from "../shell/reactors/parkRecords.ts"
import { begunWalk } from "../shell/reactors/statesWalk.ts"
import { hashAt } from "../shell/witnesses.ts"

/** Organizations, and records of one, whose parked records are dropped together. */
const parkedPage = 100
const parkedBatch = 1_000

/** The reactor to restart, and the effect that clears its tables. See {@link Reactors.rebuild}. */
export interface RebuildOptions<E = never, R = never> {
  /** The reactor's name. */
  readonly reactor: string
  /**
   * Clears the reactor's tables. Part of the transaction that moves its cursors back: `SqlClient` statements join it.
   */
  readonly clear: Effect.Effect<void, E, R>
  /**
   * "beginning", the default, refuses if a log was purged, since the purged records would be missing afterwards. "what
   * is kept" begins with the oldest frame that each log has. "states" gives the reactor the states of all actors as the
   * newest checkpoints have them, and the facts behind.
   */
  readonly from?: "beginning" | "what is kept" | "states"
}

/** The work that the reactor has ahead. See {@link Reactors.rebuild}. */
export interface Rebuilt {
  /** Frames, over all partitions; behind the states, where it is rebuilt from them. */
  readonly frames: number
}

/** Moves a reactor back. Completes when that is stored; the reactor then works through the log. */
export const rebuildReactor = Effect.fnUntraced(function* <E, R>(
  engine: Engine["Service"],
  options: RebuildOptions<E, R>
): Effect.fn.Return<
  Rebuilt,
  E | EngineRefused | CursorsUnavailable | JournalUnavailable,
  Exclude<R, ReactorTransaction>
> {
  const { context, partitions } = internals(engine)
  const { reactor } = options
  const found = context.reactors.find(({ name }) => name === reactor)
  if (found === undefined) return yield* new EngineRefused({ message: `the engine has no reactor ${reactor}` })
  if (options.from === "states") {
    const refused = statesRefusal(found, context.placement.level?.())
    if (refused !== undefined) return yield* new EngineRefused({ message: refused })
  }
  const all: Array<Partition> = []
  for (let id = 0; id < context.config.partitions; id++) {
    const partition = partitions.get(id)
    if (partition?.status._tag !== "Serving" || partition.log === undefined)
      return yield* new EngineRefused({
        message: `partition ${id} does not serve in this process, and a reactor is rebuilt where all partitions serve: let one process have them all`
      })
    all.push(partition)
  }
  const rebuilt = all.reduceRight<ReturnType<typeof sendBack<E, R>>>(
    // Without a turn no batch is worked on, and without a checkpoint nothing is purged.
    (inner, partition) => partition.checkpointTurn.withPermit(partition.reactorTurn(reactor).withPermit(inner)),
    Effect.suspend(() => sendBack(all, options))
  )
  return yield* rebuilt
})

/** Says why a reactor cannot be rebuilt from states; undefined when it can. */
const statesRefusal = ({ name, states }: Reactor<never>, level: number | undefined): string | undefined => {
  if (states === undefined)
    return `a part of ${name} has no handler of states: give each a second one (Reactor.facts(actor, handle, { states })), or rebuild from the log`
  if (level !== undefined && level < formatLevels.rebuildsFromStates)
    return `${name} can be rebuilt from states once no node of an older version runs`
  return undefined
}

const unanswered = () =>
  new CursorsUnavailable({
    message: "the database does not answer: look whether the tables were cleared, and try again"
  })

const sendBack = Effect.fnUntraced(function* <E, R>(
  all: ReadonlyArray<Partition>,
  { clear, from = "beginning", reactor }: RebuildOptions<E, R>
): Effect.fn.Return<
  Rebuilt,
  E | EngineRefused | CursorsUnavailable | JournalUnavailable,
  Exclude<R, ReactorTransaction>
> {
  const places: Array<{ readonly partition: Partition; readonly to: LogPosition; readonly cursor: LogPosition }> = []
  let frames = 0
  for (const partition of all) {
    const { id, log, context } = partition
    const to = yield* beginningOf(partition, from)
    const cursor = yield* deadline(context.cursors.read(id, reactor), lookupDeadlineMillis, unanswered)
    if (log === undefined) return yield* new EngineRefused({ message: `partition ${id} restarts: try again` })
    frames += partition.core.head.sequence - to.sequence
    places.push({ partition, to, cursor: { sequence: cursor.sequence, hash: cursor.hash } })
  }
  const effects = Effect.andThen(
    clear,
    Effect.forEach(all, (partition) => dropParked(partition, reactor), { discard: true })
  )
  const rebuild = { from: "any", to: from === "states" ? begunWalk : undefined } as const
  type Cleared = Effect.Effect<void, E | CursorsUnavailable | CursorMoved, R | ReactorTransaction>
  const moved = places.reduceRight<Cleared>(
    (inner, { cursor, partition, to }) =>
      partition.context.cursors.transact(
        { partition: partition.id, reactor, from: cursor, to, rebuild },
        inner
      ) as unknown as Cleared,
    effects
  )
  type Moved = Effect.Effect<void, E | CursorsUnavailable | CursorMoved, Exclude<R, ReactorTransaction>>
  yield* Effect.catchIf(
    // A statement that hangs would keep the reactor and the checkpoints from going on.
    deadline(moved as Moved, rebuildDeadlineMillis, unanswered),
    (error): error is CursorMoved & (E | CursorsUnavailable | CursorMoved) => error instanceof CursorMoved,
    () => Effect.fail(new CursorsUnavailable({ message: `the cursors of ${reactor} have moved meanwhile: try again` }))
  )
  for (const partition of all) {
    partition.sentBack.add(reactor)
    partition.feed.wake()
  }
  yield* Effect.forEach(all, (partition) => showParked(partition, reactor), { discard: true })
  return { frames }
})

/** The place where a new reactor begins. */
const beginningOf = Effect.fnUntraced(function* (
  { core, id, log }: Partition,
  from: Required<RebuildOptions>["from"]
): Effect.fn.Return<LogPosition, EngineRefused | JournalUnavailable> {
  if (log === undefined) return yield* new EngineRefused({ message: `partition ${id} restarts: try again` })
  const { newestCheckpoint } = core
  if (from === "states" && newestCheckpoint !== undefined)
    return { sequence: newestCheckpoint.sequence, hash: newestCheckpoint.hash }
  const state = yield* log.state
  const { firstSequence } = state
  if (firstSequence === 1) return { sequence: 0, hash: emptyLogHash }
  if (from !== "what is kept")
    return yield* new EngineRefused({
      message: `the log of partition ${id} begins at frame ${firstSequence}: what a reactor made of the frames before cannot be made again. Begin with the states (from: "states"), or with what is kept (from: "what is kept")`
    })
  const hash = yield* hashAt(log, state, firstSequence - 1)
  if (hash === undefined)
    return yield* new EngineRefused({
      message: `the log of partition ${id} does not say what stood before frame ${firstSequence}`
    })
  return { sequence: firstSequence - 1, hash }
})

/** Drops the parked records: the reactor meets them again. */
const dropParked = Effect.fnUntraced(function* ({ id, context: { cursors } }: Partition, reactor: string) {
  while (true) {
    const organizations = yield* cursors.parkedOrganizations(id, reactor, { limit: parkedPage })
    if (organizations.length === 0) return
    for (const { organization } of organizations) {
      const records = yield* cursors.parked(id, reactor, organization, parkedBatch)
      yield* cursors.unpark(records, Effect.void)
    }
  }
})
