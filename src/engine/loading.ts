/**
 * Loads actors from the checkpoints, beside the drain (architecture, rule 10): a batch at a time; the organizations whose commands need them
 * wait, the others go on.
 */
import { Duration, Effect } from "effect"
import type { ActorRow, CheckpointsUnavailable } from "./Checkpoints.ts"
import { addressOf } from "./decideContext.ts"
import { Unavailable } from "./errors.ts"
import { maximumLoadBatch, maximumTimerPage } from "./limits.ts"
import type { Cell } from "./memory.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"

/** Pauses between attempts; after the last one the commands that wait are answered `Unavailable`. */
const retryPausesMillis = [20, 100, 500]

const retryAfterMillis = 1_000

const nameOf = (address: { readonly organization: string; readonly kind: string; readonly key: string }): string =>
  `${address.organization}\n${address.kind}\n${address.key}`

/** Asks for a cell's state: true when it is there at once, false when its organization has to wait. Throws where it cannot be read. */
export const load = (partition: Partition, cell: Cell): boolean => {
  if (cell.broken !== undefined) throw new Error(cell.broken)
  const { emptyCheckpointAt, newestCheckpoint } = partition
  if (newestCheckpoint === undefined || newestCheckpoint.sequence === emptyCheckpointAt) {
    cell.state = cell.actor.options.initial(cell.key)
    cell.loaded = true
    return true
  }
  cell.organization.loading++
  partition.loadRequests.push(cell)
  partition.loaderWakeup.notify()
  return false
}

/** Puts rows into their cells; a cell without a row gets its initial state. Reads by schema; what cannot be read marks the cell. */
export const fillCells = (partition: Partition, cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>): void => {
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  for (const cell of cells) {
    if (cell.loaded) continue
    const address = addressOf(cell)
    const row = byName.get(nameOf(address))
    try {
      if (row === undefined || row.state === null) {
        cell.state = cell.actor.options.initial(cell.key)
      } else {
        cell.state = cell.actor.decodeState(JSON.parse(row.state), row.version)
        cell.bytes = Buffer.byteLength(row.state)
        cell.changedAt = row.sequence
        if (row.wakeAt !== null) {
          cell.wakeAt = row.wakeAt
          partition.timers.add(address, row.wakeAt)
        }
      }
      cell.loaded = true
    } catch (cause) {
      cell.broken = `its stored state cannot be read: ${describe(cause)}`
    }
  }
}

/**
 * Whether the checkpoint that this life rests on is still there. Two later ones of another owner supersede its rows, and then a row that is not
 * found may have been there: taking the initial state for it would be wrong.
 */
export const baseIsThere = (partition: Partition): Effect.Effect<boolean, CheckpointsUnavailable> =>
  Effect.suspend(() => {
    // before the list is read: our own next checkpoint may be written meanwhile, and is not in it
    const base = partition.newestCheckpoint
    return Effect.map(
      partition.parts.checkpoints.list(partition.id),
      (records) =>
        base === undefined || records.some(({ hash, sequence }) => sequence === base.sequence && hash === base.hash)
    )
  })

export const baseIsGone = "another owner has superseded the checkpoint that it rests on"

const restartWithoutBase = (partition: Partition): void => {
  partition.restartWanted = baseIsGone
  partition.wakeup.notify()
}

/** Batches that are read at once: a slow one does not hold up all others. */
const maximumConcurrentLoads = 4

/** Loads what the drain and the lanes ask for, for ever. */
export const loader = Effect.fnUntraced(function* (partition: Partition) {
  let underWay = 0
  while (true) {
    if (partition.loadRequests.length === 0 || underWay >= maximumConcurrentLoads) {
      yield* partition.loaderWakeup.wait
      continue
    }
    const batch = partition.loadRequests.splice(0, maximumLoadBatch)
    underWay++
    yield* Effect.forkChild(
      Effect.ensuring(
        loadBatch(partition, batch),
        Effect.sync(() => {
          underWay--
          partition.loaderWakeup.notify()
        })
      )
    )
  }
})

const loadBatch = Effect.fnUntraced(function* (partition: Partition, batch: ReadonlyArray<Cell>) {
  const through = partition.newestCheckpoint?.sequence ?? 0
  let rows: ReadonlyArray<ActorRow> | undefined
  for (let attempt = 0; rows === undefined && attempt <= retryPausesMillis.length; attempt++) {
    const loaded = yield* Effect.option(
      Effect.flatMap(partition.parts.checkpoints.load(partition.id, batch.map(addressOf), through), (found) =>
        found.length === batch.length
          ? Effect.succeed({ found, isSound: true })
          : Effect.map(baseIsThere(partition), (isSound) => ({ found, isSound }))
      )
    )
    // the organizations go on waiting: the next life decides their commands
    if (loaded._tag === "Some" && !loaded.value.isSound) return restartWithoutBase(partition)
    if (loaded._tag === "Some") rows = loaded.value.found
    else if (attempt < retryPausesMillis.length) yield* Effect.sleep(Duration.millis(retryPausesMillis[attempt]!))
  }
  if (rows !== undefined) fillCells(partition, batch, rows)
  for (const { organization } of batch) {
    organization.loading--
    if (organization.loading > 0) continue
    if (rows === undefined) {
      const error = new Unavailable({
        partition: partition.id,
        reason: "actors cannot be loaded, the checkpoints are away",
        retryAfterMillis
      })
      for (const entry of partition.mailbox.takeAllOf(organization)) entry.fail(error)
      partition.lanes.failWaiting(error)
    }
    partition.mailbox.enlist(organization)
    partition.memory.releaseOrganization(organization)
  }
  partition.lanes.retry()
  partition.wakeup.notify()
})

/** Reads the next page of evicted actors' timers. */
export const loadTimerPage = Effect.fnUntraced(function* (partition: Partition) {
  const through = partition.newestCheckpoint?.sequence ?? 0
  const page = yield* Effect.option(
    Effect.flatMap(
      partition.parts.checkpoints.timers(partition.id, {
        through,
        after: partition.timers.pageAfter,
        limit: maximumTimerPage
      }),
      (rows) => Effect.map(baseIsThere(partition), (isSound) => (isSound ? rows : undefined))
    )
  )
  if (page._tag === "Some" && page.value === undefined) {
    restartWithoutBase(partition)
  } else if (page._tag === "Some") {
    partition.timers.addPage(page.value!, page.value!.length === maximumTimerPage)
  } else {
    // commands go on; timers are looked at again in a second
    partition.heldUntil = partition.nanos() + 1_000_000_000n
  }
})
