/**
 * Reads checkpoints for the core, beside its loop (docs/architecture.md, rules 10 and 16): actors a batch at a time,
 * and pages of timers and of idempotency keys. Each read has a deadline. A failed read is reported to the core, and the
 * partition continues with the data in memory.
 */
import { Duration, Effect } from "effect"
import type { LoadBatch } from "../../core/actors/Loads.ts"
import type { KeyPageRequest } from "../../core/keys/StoredKeys.ts"
import type { PageRequest } from "../../core/timers/TimerPages.ts"
import { loadDeadlineMillis } from "../../limits.ts"
import { CheckpointsUnavailable } from "../../ports/Checkpoints.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"

/** Pauses between attempts; after the last one the waiting commands are answered `PartitionUnavailable`. */
const retryPausesMillis = [20, 100, 500]

const late = () =>
  new CheckpointsUnavailable({ message: `the checkpoints did not answer within ${loadDeadlineMillis} ms` })

/**
 * Whether the checkpoint under this life is still there. Two later checkpoints of another owner supersede its rows. A
 * missing row may then have existed, and using the initial state instead would be wrong.
 */
export const baseIsThere = (partition: Partition): Effect.Effect<boolean, CheckpointsUnavailable> =>
  Effect.suspend(() => {
    // Read this before the list: our own next checkpoint may be written meanwhile and is not in it.
    const base = partition.core.newestCheckpoint
    return Effect.map(
      partition.context.checkpoints.list(partition.id),
      (records) =>
        base === undefined || records.some(({ hash, sequence }) => sequence === base.sequence && hash === base.hash)
    )
  })

export const baseIsGone = "another owner has superseded the checkpoint that it rests on"

/** Reads for as long as the life lasts. */
export const readCheckpoints = Effect.fnUntraced(function* (partition: Partition) {
  while (true) {
    const wanted = partition.core.checkpoints.takeRead(partition.now())
    if (wanted === undefined) {
      yield* partition.readsWakeup.wait
      continue
    }
    const read =
      wanted._tag === "Actors"
        ? loadBatch(partition, wanted.batch)
        : wanted._tag === "Timers"
          ? readPage(partition, wanted.page)
          : readKeys(partition, wanted.page)
    yield* Effect.forkChild(
      Effect.ensuring(
        read,
        Effect.sync(() => partition.readsWakeup.notify())
      )
    )
  }
})

/** Returns the rows if their base checkpoint is still there; otherwise the life must end. */
const soundly = <A>(
  partition: Partition,
  read: Effect.Effect<A, CheckpointsUnavailable>,
  isComplete: (found: A) => boolean
): Effect.Effect<A | "unsound", CheckpointsUnavailable> =>
  deadline(
    Effect.flatMap(read, (found) =>
      isComplete(found)
        ? Effect.succeed(found)
        : Effect.map(baseIsThere(partition), (isSound) => (isSound ? found : ("unsound" as const)))
    ),
    loadDeadlineMillis,
    late
  )

const loadBatch = Effect.fnUntraced(function* (partition: Partition, batch: LoadBatch) {
  const addresses = batch.cells.map(({ address }) => address)
  const begunAt = partition.now().monotonic
  for (let attempt = 0; ; attempt++) {
    const load = partition.context.checkpoints.load(partition.id, addresses, batch.through)
    const read = soundly(partition, load, (rows) => rows.length === batch.cells.length)
    const loaded = yield* Effect.exit(read)
    if (loaded._tag === "Success") {
      // The commands wait on; the next life decides them.
      if (loaded.value === "unsound") return partition.restart(baseIsGone)
      return partition.core.checkpoints.loaded(batch, loaded.value, partition.now())
    }
    const pause = retryPausesMillis[attempt]
    if (pause === undefined || partition.now().monotonic - begunAt + pause >= loadDeadlineMillis) break
    yield* Effect.sleep(Duration.millis(pause))
  }
  partition.core.checkpoints.loaded(batch, undefined, partition.now())
})

const readPage = Effect.fnUntraced(function* (partition: Partition, page: PageRequest) {
  const { after, limit, through } = page
  const timers = partition.context.checkpoints.timers(partition.id, { through, after, limit })
  const read = yield* Effect.exit(soundly(partition, timers, () => false))
  if (read._tag === "Success" && read.value === "unsound") return partition.restart(baseIsGone)
  partition.core.checkpoints.paged(page, read._tag === "Success" ? (read.value as never) : undefined, partition.now())
})

const readKeys = Effect.fnUntraced(function* (partition: Partition, page: KeyPageRequest) {
  const { after, limit } = page
  const keys = partition.context.checkpoints.expiring(partition.id, { after, limit })
  const read = yield* Effect.exit(soundly(partition, keys, () => false))
  if (read._tag === "Success" && read.value === "unsound") return partition.restart(baseIsGone)
  partition.core.checkpoints.keysPaged(
    page,
    read._tag === "Success" ? (read.value as never) : undefined,
    partition.now()
  )
})
