/**
 * Checkpoints in memory: for the library without servers, tests and simulations. Shared by everything built from one `makeStore`.
 * Needs no service.
 */
import { Effect, Layer } from "effect"
import { type ActorAddress, compareAddresses } from "../address.ts"
import {
  type ActorRow,
  CheckpointConflict,
  type CheckpointRecord,
  Checkpoints,
  type Removed,
  type TimerRow
} from "../Checkpoints.ts"

interface PartitionRows {
  records: Array<CheckpointRecord>
  /** By actor, its rows with rising sequence. */
  rows: Map<string, Array<ActorRow>>
}

/** What a deployment's checkpoints hold. Tests and simulations may change it. */
export interface CheckpointsStore {
  partitions: number | undefined
  /** The id of the deployment, in force as soon as its partitions are. */
  readonly deployment: string
  readonly of: (partition: number) => PartitionRows
}

/** Stores belong to one common deployment unless told otherwise, since memory is never shared between processes. */
export const makeStore = (options?: { readonly deployment?: string }): CheckpointsStore => {
  const partitions = new Map<number, PartitionRows>()
  return {
    partitions: undefined,
    deployment: options?.deployment ?? "memory",
    of: (partition) => {
      let found = partitions.get(partition)
      if (found === undefined) {
        found = { records: [], rows: new Map() }
        partitions.set(partition, found)
      }
      return found
    }
  }
}

const nameOf = (address: ActorAddress): string => JSON.stringify([address.organization, address.kind, address.key])

const newestAt = (rows: ReadonlyArray<ActorRow>, through: number): ActorRow | undefined => {
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    if (row.sequence <= through) return row
  }
  return undefined
}

const compareTimers = (left: TimerRow, right: TimerRow): number =>
  left.wakeAt - right.wakeAt || compareAddresses(left, right)

type Service = Checkpoints["Service"]

const writing = (store: CheckpointsStore): Pick<Service, "fixPartitions" | "deployment" | "save"> => ({
  fixPartitions: (count) =>
    Effect.sync(() => {
      store.partitions ??= count
      return store.partitions
    }),
  deployment: Effect.sync(() =>
    store.partitions === undefined ? undefined : { id: store.deployment, home: `the store ${store.deployment}` }
  ),
  save: (write) =>
    Effect.suspend(() => {
      const held = store.of(write.record.partition)
      const found = held.records.reduce((newest, record) => Math.max(newest, record.sequence), 0)
      if (found !== write.previous || write.record.sequence <= found) {
        return Effect.fail(
          new CheckpointConflict({ partition: write.record.partition, expected: write.previous, found })
        )
      }
      // Encoding may throw, so all rows are made before any is kept.
      const rows = [...write.rows]
      for (const row of rows) {
        const name = nameOf(row)
        const list = held.rows.get(name)
        if (list === undefined) held.rows.set(name, [row])
        else list.push(row)
      }
      held.records.push(write.record)
      return Effect.void
    })
})

const reading = (store: CheckpointsStore): Pick<Service, "list" | "load" | "timers"> => ({
  list: (partition) => Effect.sync(() => [...store.of(partition).records].sort((a, b) => b.sequence - a.sequence)),
  load: (partition, addresses, through) =>
    Effect.sync(() => {
      const held = store.of(partition)
      const found: Array<ActorRow> = []
      for (const address of addresses) {
        const row = newestAt(held.rows.get(nameOf(address)) ?? [], through)
        if (row !== undefined && row.state !== null) found.push(row)
      }
      return found
    }),
  timers: (partition, options) =>
    Effect.sync(() => {
      const found: Array<TimerRow> = []
      for (const rows of store.of(partition).rows.values()) {
        const row = newestAt(rows, options.through)
        if (row === undefined || row.wakeAt === null) continue
        const timer = { organization: row.organization, kind: row.kind, key: row.key, wakeAt: row.wakeAt }
        if (options.after === undefined || compareTimers(timer, options.after) > 0) found.push(timer)
      }
      return found.sort(compareTimers).slice(0, options.limit)
    })
})

const removing = (store: CheckpointsStore): Pick<Service, "prune" | "expire" | "discardAbove"> => ({
  prune: (partition, stateless = []) =>
    Effect.sync((): Removed => {
      const held = store.of(partition)
      const records = [...held.records].sort((a, b) => b.sequence - a.sequence)
      const covered = records[1]?.sequence
      if (covered === undefined) return { rows: 0, checkpoints: 0 }
      let removedRows = 0
      for (const [name, rows] of held.rows) {
        const newest = newestAt(rows, covered)
        if (newest === undefined) continue
        const keepsNewest = newest.state !== null && !stateless.includes(newest.kind)
        const kept = rows.filter((row) => row.sequence > newest.sequence || (row === newest && keepsNewest))
        removedRows += rows.length - kept.length
        if (kept.length === 0) held.rows.delete(name)
        else held.rows.set(name, kept)
      }
      held.records = records.slice(0, 2)
      return { rows: removedRows, checkpoints: records.length - held.records.length }
    }),
  expire: (partition, now, limit) =>
    Effect.sync(() => {
      const held = store.of(partition)
      const over = (row: ActorRow) => row.expiresAt !== null && row.expiresAt <= now
      const all: Array<ActorRow> = []
      for (const rows of held.rows.values()) for (const row of rows) if (over(row)) all.push(row)
      const gone = new Set(all.sort((left, right) => left.expiresAt! - right.expiresAt!).slice(0, limit))
      for (const name of new Set([...gone].map(nameOf))) {
        const kept = held.rows.get(name)!.filter((row) => !gone.has(row))
        if (kept.length === 0) held.rows.delete(name)
        else held.rows.set(name, kept)
      }
      return gone.size
    }),
  discardAbove: (partition, sequence) =>
    Effect.sync((): Removed => {
      const held = store.of(partition)
      const before = held.records.length
      held.records = held.records.filter((record) => record.sequence <= sequence)
      let removedRows = 0
      for (const [name, rows] of held.rows) {
        const kept = rows.filter((row) => row.sequence <= sequence)
        removedRows += rows.length - kept.length
        if (kept.length === 0) held.rows.delete(name)
        else held.rows.set(name, kept)
      }
      return { rows: removedRows, checkpoints: before - held.records.length }
    })
})

/** The port over a store. */
export const make = (store: CheckpointsStore): Service =>
  Checkpoints.of({ ...writing(store), ...reading(store), ...removing(store) })

export const layerOf = (store: CheckpointsStore): Layer.Layer<Checkpoints> => Layer.succeed(Checkpoints, make(store))

/** Checkpoints of its own, gone with the process. */
export const layer: Layer.Layer<Checkpoints> = Layer.suspend(() => layerOf(makeStore()))
