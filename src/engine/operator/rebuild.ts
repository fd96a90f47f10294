/**
 * Restarts a reactor with the content of the log (docs/reactors.md, "Waiting, and building anew"): one transaction
 * clears its tables, drops its parked records and moves its cursors back, on all partitions. The reactor's work waits
 * meanwhile.
 */
import { Effect } from "effect"
import { type Engine, EngineRefused } from "../Engine.ts"
import { lookupDeadlineMillis, rebuildDeadlineMillis } from "../limits.ts"
import { emptyLogHash, type LogPosition } from "../ports/Checkpoints.ts"
import { CursorMoved, CursorsUnavailable, type ReactorTransaction } from "../ports/Cursors.ts"
import type { JournalUnavailable } from "../ports/Journal.ts"
import { deadline } from "../shell/deadline.ts"
import { internals } from "../shell/partition/internals.ts"
import type { Partition } from "../shell/partition/Partition.ts"
import { showParked } from "../shell/reactors/parkRecords.ts"
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
   * is kept" begins with the oldest frame that each log has.
   */
  readonly from?: "beginning" | "what is kept"
}

/** The work that the reactor has ahead. See {@link Reactors.rebuild}. */
export interface Rebuilt {
  /** Frames, over all partitions. */
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
  if (!context.reactors.some(({ name }) => name === reactor))
    return yield* new EngineRefused({ message: `the engine has no reactor ${reactor}` })
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
  type Cleared = Effect.Effect<void, E | CursorsUnavailable | CursorMoved, R | ReactorTransaction>
  const moved = places.reduceRight<Cleared>(
    (inner, { cursor, partition, to }) =>
      partition.context.cursors.transact(
        { partition: partition.id, reactor, from: cursor, to },
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
  { id, log }: Partition,
  from: "beginning" | "what is kept"
): Effect.fn.Return<LogPosition, EngineRefused | JournalUnavailable> {
  if (log === undefined) return yield* new EngineRefused({ message: `partition ${id} restarts: try again` })
  const state = yield* log.state
  const { firstSequence } = state
  if (firstSequence === 1) return { sequence: 0, hash: emptyLogHash }
  if (from === "beginning")
    return yield* new EngineRefused({
      message: `the log of partition ${id} begins at frame ${firstSequence}: what a reactor made of the frames before cannot be made again. Begin with what is kept (from: "what is kept"), or make it from the states (Engine's keys and state)`
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
