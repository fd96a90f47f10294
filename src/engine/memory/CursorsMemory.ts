/**
 * Keeps cursors in memory. A transaction stages the actions given to `onCommit` and runs them when the cursor's
 * compare-and-set succeeds, so effects on a store in memory are exactly once when they are done there. Shared by
 * everything built from one `makeStore`. Needs no service.
 */
import { Effect, Layer } from "effect"
import { emptyLogHash, type LogPosition } from "../ports/Checkpoints.ts"
import {
  type Cursor,
  type CursorMove,
  CursorMoved,
  Cursors,
  CursorsUnavailable,
  type ParkedRecord,
  ReactorTransaction
} from "../ports/Cursors.ts"

/** The content of a deployment's cursors. Tests and simulations may change it. See {@link engineCheckers}. */
export interface CursorsStore {
  cursors: Map<string, Cursor>
  parked: Array<ParkedRecord>
}

export const makeStore = (): CursorsStore => ({ cursors: new Map(), parked: [] })

const keyOf = (partition: number, reactor: string): string => `${partition}/${reactor}`

/** Whether the progress of a rebuild is where a move expects it. */
const isExpected = ({ rebuild }: Cursor, move: CursorMove): boolean =>
  move.rebuild === undefined || move.rebuild.from === "any" || move.rebuild.from === rebuild?.step

const samePlace = (left: LogPosition, right: LogPosition): boolean =>
  left.sequence === right.sequence && left.hash === right.hash

const sameRecord = (left: ParkedRecord, right: ParkedRecord): boolean =>
  left.partition === right.partition &&
  left.reactor === right.reactor &&
  left.sequence === right.sequence &&
  left.index === right.index

/** Runs effects with a transaction of their own; their staged actions go to `onCommit` when they succeed. */
const runStaged = <A, E, R>(
  effects: Effect.Effect<A, E, R>,
  onCommit: (action: () => void) => void,
  move?: CursorMove
) =>
  Effect.suspend(() => {
    const staged: Array<() => void> = []
    return Effect.map(
      Effect.provideService(
        effects,
        ReactorTransaction,
        ReactorTransaction.of({ move, onCommit: (action) => void staged.push(action) })
      ),
      (value) => {
        for (const action of staged) onCommit(action)
        return value
      }
    )
  })

const readCursor = (store: CursorsStore, partition: number, reactor: string): Cursor =>
  store.cursors.get(keyOf(partition, reactor)) ?? { partition, reactor, sequence: 0, hash: emptyLogHash }

const parkedAt = (store: CursorsStore, partition: number, reactor: string): ReadonlyArray<ParkedRecord> =>
  store.parked.filter((record) => record.partition === partition && record.reactor === reactor)

const transactIn =
  (store: CursorsStore): Cursors["Service"]["transact"] =>
  (move, effects) =>
    Effect.suspend(() => {
      const actions: Array<() => void> = []
      return Effect.flatMap(
        runStaged(effects, (action) => actions.push(action), move),
        (value) =>
          Effect.suspend(() => {
            const { from, partition, reactor, to } = move
            const found = readCursor(store, partition, reactor)
            if (!samePlace(found, move.from) || !isExpected(found, move)) {
              return Effect.fail(new CursorMoved({ partition, reactor, expected: from, found }))
            }
            const rebuild = move.rebuild === undefined ? found.rebuild : move.rebuild.to
            store.cursors.set(keyOf(partition, reactor), {
              partition,
              reactor,
              ...to,
              ...(rebuild === undefined ? {} : { rebuild })
            })
            for (const action of actions) action()
            return Effect.succeed(value)
          })
      )
    })

const unparkIn =
  (store: CursorsStore): Cursors["Service"]["unpark"] =>
  (records, effects) =>
    Effect.suspend(() => {
      const actions: Array<() => void> = []
      return Effect.flatMap(
        runStaged(effects, (action) => actions.push(action)),
        (value) => {
          // When two callers take the same records, the second finds them gone.
          const gone = records.filter((record) => !store.parked.some((held) => sameRecord(held, record))).length
          if (gone > 0) {
            const message = `${gone} of ${records.length} records are no longer parked: look again`
            return Effect.fail(new CursorsUnavailable({ message }))
          }
          store.parked = store.parked.filter((held) => !records.some((record) => sameRecord(held, record)))
          for (const action of actions) action()
          return Effect.succeed(value)
        }
      )
    })

const parkedOrganizationsIn =
  (store: CursorsStore): Cursors["Service"]["parkedOrganizations"] =>
  (partition, reactor, page) =>
    Effect.sync(() => {
      const counts = new Map<string, number>()
      for (const { organization } of parkedAt(store, partition, reactor))
        counts.set(organization, (counts.get(organization) ?? 0) + 1)
      const found = [...counts].map(([organization, count]) => ({ organization, count }))
      if (page === undefined) return found
      return found
        .filter(({ organization }) => page.after === undefined || organization > page.after)
        .sort((left, right) => (left.organization < right.organization ? -1 : 1))
        .slice(0, page.limit)
    })

/** The port over a store. */
export const make = (store: CursorsStore): Cursors["Service"] =>
  Cursors.of({
    list: (partition) => Effect.sync(() => [...store.cursors.values()].filter((c) => c.partition === partition)),
    read: (partition, reactor) => Effect.sync(() => readCursor(store, partition, reactor)),
    transact: transactIn(store),
    attempt: (effects) =>
      Effect.flatMap(Effect.service(ReactorTransaction), (outer) => runStaged(effects, outer.onCommit)),
    park: (records) =>
      Effect.map(ReactorTransaction, (transaction) =>
        transaction.onCommit(() => {
          for (const record of records) {
            if (!store.parked.some((other) => sameRecord(other, record))) store.parked.push(record)
          }
        })
      ),
    parkedCount: (partition, reactor, organization) =>
      Effect.sync(
        () =>
          parkedAt(store, partition, reactor).filter(
            (record) => organization === undefined || record.organization === organization
          ).length
      ),
    parkedOrganizations: parkedOrganizationsIn(store),
    parked: (partition, reactor, organization, limit) =>
      Effect.sync(() =>
        parkedAt(store, partition, reactor)
          .filter((record) => record.organization === organization)
          .sort((left, right) => left.sequence - right.sequence || left.index - right.index)
          .slice(0, limit)
      ),
    unpark: unparkIn(store),
    parkedAmong: (partition, reactor, organizations) =>
      Effect.map(ReactorTransaction, () => {
        const parked = new Set(parkedAt(store, partition, reactor).map(({ organization }) => organization))
        return new Set(organizations.filter((name) => parked.has(name)))
      }),
    forget: (partition, reactor) => Effect.sync(() => void store.cursors.delete(keyOf(partition, reactor))),
    reset: (cursor) => Effect.sync(() => void store.cursors.set(keyOf(cursor.partition, cursor.reactor), cursor))
  })

export const layerOf = (store: CursorsStore): Layer.Layer<Cursors> => Layer.succeed(Cursors, make(store))

/** Cursors of their own, lost with the process. */
export const layer: Layer.Layer<Cursors> = Layer.suspend(() => layerOf(makeStore()))
