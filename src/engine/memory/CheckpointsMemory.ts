/**
 * Keeps checkpoints in memory: for the library without servers, tests and simulations. Shared by everything built from
 * one `makeStore`. Needs no service.
 */
import { Effect, Layer } from "effect"
import { type ActorAddress, compareAddresses, compareByBytes, compareKeys } from "../address.ts"
import {
  type ActorRow,
  CheckpointConflict,
  type CheckpointRecord,
  Checkpoints,
  type ExpiryRow,
  type RemovedRows,
  type TimerRow
} from "../ports/Checkpoints.ts"

/** The rows of a partition. See {@link engineCheckers}. */
export interface PartitionRows {
  records: Array<CheckpointRecord>
  /** By actor, its rows with rising sequence. */
  rows: Map<string, Array<ActorRow>>
  /** Names of actors of which rows may be superseded. */
  readonly unpruned: Set<string>
  /** The rows that count until a time, in the order of these times. */
  expiring: ReadonlyArray<ActorRow>
}

/** The content of a deployment's checkpoints. Tests and simulations may change it. See {@link engineCheckers}. */
export interface CheckpointsStore {
  partitions: number | undefined
  /** The id of the deployment, in force when its partitions are. */
  readonly deployment: string
  readonly of: (partition: number) => PartitionRows
}

/** Makes the store of one common deployment by default, since memory is never shared between processes. */
export const makeStore = (options?: { readonly deployment?: string }): CheckpointsStore => {
  const partitions = new Map<number, PartitionRows>()
  return {
    partitions: undefined,
    deployment: options?.deployment ?? "memory",
    of: (partition) => {
      let found = partitions.get(partition)
      if (found === undefined) {
        found = { records: [], rows: new Map(), unpruned: new Set(), expiring: [] }
        partitions.set(partition, found)
      }
      return found
    }
  }
}

const nameOf = ({ key, kind, organization }: ActorAddress): string => `${organization}\n${kind}\n${key}`

const newestAt = (rows: ReadonlyArray<ActorRow>, through: number): ActorRow | undefined => {
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    if (row.sequence <= through) return row
  }
  return undefined
}

const compareTimers = (left: TimerRow, right: TimerRow): number =>
  left.wakeAt - right.wakeAt || compareAddresses(left, right)

type Expiring = Omit<ExpiryRow, "expiresAt"> & Pick<ActorRow, "expiresAt">

const compareExpiries = (left: Expiring, right: Expiring): number =>
  left.expiresAt! - right.expiresAt! || compareAddresses(left, right)

/** Merges both lists, in order; the second one usually follows the first. */
const merged = (list: ReadonlyArray<ActorRow>, others: ReadonlyArray<ActorRow>): ReadonlyArray<ActorRow> => {
  const behind = others.toSorted(compareExpiries)
  const all = list.concat(behind)
  const isSorted = list.length === 0 || behind.length === 0 || compareExpiries(list.at(-1)!, behind[0]!) <= 0
  return isSorted ? all : all.sort(compareExpiries)
}

/** Removes a row, if it is there. */
const remove = ({ rows }: PartitionRows, row: ActorRow): void => {
  const name = nameOf(row)
  const kept = rows.get(name)?.filter((other) => other !== row)
  if (kept?.length === 0) rows.delete(name)
  else if (kept !== undefined) rows.set(name, kept)
}

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
        if (row.expiresAt === null && (list !== undefined || row.state === null)) held.unpruned.add(name)
      }
      const expiring = rows.filter(({ expiresAt }) => expiresAt !== null)
      if (expiring.length > 0) held.expiring = merged(held.expiring, expiring)
      held.records.push(write.record)
      return Effect.void
    })
})

const reading = (
  store: CheckpointsStore
): Pick<Service, "list" | "load" | "keys" | "organizations" | "states" | "timers" | "expiring"> => ({
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
  keys: (partition, { after, kind, limit, organization, through }) =>
    Effect.sync(() => {
      const found: Array<string> = []
      for (const rows of store.of(partition).rows.values()) {
        const row = rows[0]!
        if (row.organization !== organization || row.kind !== kind) continue
        if (after !== undefined && compareKeys(row.key, after) <= 0) continue
        if ((newestAt(rows, through)?.state ?? null) !== null) found.push(row.key)
      }
      return found.sort(compareKeys).slice(0, limit)
    }),
  organizations: (partition, { after, kind, limit, through }) =>
    Effect.sync(() => {
      const found = new Set<string>()
      for (const rows of store.of(partition).rows.values()) {
        const { kind: of, organization } = rows[0]!
        if (of !== kind || (after !== undefined && compareKeys(organization, after) <= 0)) continue
        if ((newestAt(rows, through)?.state ?? null) !== null) found.add(organization)
      }
      return [...found].sort(compareKeys).slice(0, limit)
    }),
  states: (partition, { after, kinds, limit, through }) =>
    Effect.sync(() => {
      const found: Array<ActorRow> = []
      for (const rows of store.of(partition).rows.values()) {
        if (!kinds.includes(rows[0]!.kind) || (after !== undefined && compareByBytes(rows[0]!, after) <= 0)) continue
        const row = newestAt(rows, through)
        if (row !== undefined) found.push(row)
      }
      return found.sort(compareByBytes).slice(0, limit)
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
    }),
  expiring: (partition, { after, limit }) =>
    Effect.sync(() => {
      const { expiring } = store.of(partition)
      const from = expiring.findIndex((row) => compareExpiries(row, after) > 0)
      if (from === -1) return []
      return expiring
        .slice(from, from + limit)
        .map(({ expiresAt, key, kind, organization }) => ({ organization, kind, key, expiresAt: expiresAt! }))
    })
})

const removing = (store: CheckpointsStore): Pick<Service, "prune" | "expire" | "discardAbove"> => ({
  prune: (partition, stateless = []) =>
    Effect.sync((): RemovedRows => {
      const held = store.of(partition)
      const records = [...held.records].sort((a, b) => b.sequence - a.sequence)
      const covered = records[1]?.sequence
      if (covered === undefined) return { rows: 0, checkpoints: 0 }
      let removedRows = 0
      for (const name of stateless.length === 0 ? held.unpruned : held.rows.keys()) {
        const rows = held.rows.get(name) ?? []
        const newest = newestAt(rows, covered)
        if (newest === undefined || newest.expiresAt !== null) continue
        const keepsNewest = newest.state !== null && !stateless.includes(newest.kind)
        const kept = rows.filter((row) => row.sequence > newest.sequence || (row === newest && keepsNewest))
        removedRows += rows.length - kept.length
        if (kept.length === 0) held.rows.delete(name)
        else held.rows.set(name, kept)
        if (kept.length < 2 && kept[0]?.state !== null) held.unpruned.delete(name)
      }
      held.records = records.slice(0, 2)
      return { rows: removedRows, checkpoints: records.length - held.records.length }
    }),
  expire: (partition, now, limit) =>
    Effect.sync(() => {
      const held = store.of(partition)
      const first = held.expiring.findIndex(({ expiresAt }) => expiresAt! > now)
      const gone = held.expiring.slice(0, Math.min(limit, first === -1 ? held.expiring.length : first))
      for (const row of gone) remove(held, row)
      if (gone.length > 0) held.expiring = held.expiring.slice(gone.length)
      return gone.length
    }),
  discardAbove: (partition, sequence) =>
    Effect.sync((): RemovedRows => {
      const held = store.of(partition)
      const before = held.records.length
      held.records = held.records.filter((record) => record.sequence <= sequence)
      held.expiring = held.expiring.filter((row) => row.sequence <= sequence)
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

/** Checkpoints of its own, lost with the process. */
export const layer: Layer.Layer<Checkpoints> = Layer.suspend(() => layerOf(makeStore()))
