/**
 * Keeps external signals in memory, per partition. Shared by everything built from one `makeStore`. Needs no service.
 */
import { Effect, Layer, Stream } from "effect"
import { partitionOf } from "../address.ts"
import { type Signal, Signals } from "../ports/Signals.ts"

/** Signals in one chunk of a subscription. */
const batchSize = 64

/** The signals of a deployment. See {@link engineCheckers}. */
export interface SignalsStore {
  readonly partitions: number
  /** All signals ever published; a signal's sequence is its place, from 1. */
  readonly lists: Array<Array<Signal>>
  /** The sequence up to which each partition's signals are removed. */
  readonly forgotten: Array<number>
  readonly ids: Set<string>
  /** Subscribers that wait for the next signal. */
  readonly waiting: Set<() => void>
}

export const makeStore = (partitions: number): SignalsStore => ({
  partitions,
  lists: Array.from({ length: partitions }, () => []),
  forgotten: Array.from({ length: partitions }, () => 0),
  ids: new Set(),
  waiting: new Set()
})

/**
 * The port over a store. It keeps publishers' ids for as long as the store lives, which a test can afford and a server
 * cannot.
 */
export const make = (store: SignalsStore): Signals["Service"] =>
  Signals.of({
    publish: (signal) =>
      Effect.sync(() => {
        if (signal.id !== undefined) {
          if (store.ids.has(signal.id)) return
          store.ids.add(signal.id)
        }
        const list = store.lists[partitionOf(signal.organization, store.partitions)]!
        list.push({
          sequence: list.length + 1,
          organization: signal.organization,
          kind: signal.kind,
          data: signal.data
        })
        for (const wake of [...store.waiting]) wake()
      }),
    subscribe: (partition, after) =>
      Stream.flattenIterable(
        Stream.unfold(Math.max(after, store.forgotten[partition]!), (at) =>
          Effect.map(waitFor(store, partition, at), (batch) => [batch, batch[batch.length - 1]!.sequence] as const)
        )
      ),
    forget: (partition, through) =>
      Effect.sync(() => {
        store.forgotten[partition] = Math.max(store.forgotten[partition]!, through)
      })
  })

const waitFor = (store: SignalsStore, partition: number, after: number): Effect.Effect<ReadonlyArray<Signal>> =>
  Effect.callback<ReadonlyArray<Signal>>((resume) => {
    const look = () => {
      const list = store.lists[partition]!
      if (list.length <= after) return
      store.waiting.delete(look)
      resume(Effect.succeed(list.slice(after, after + batchSize)))
    }
    store.waiting.add(look)
    look()
    return Effect.sync(() => void store.waiting.delete(look))
  })

export const layerOf = (store: SignalsStore): Layer.Layer<Signals> => Layer.succeed(Signals, make(store))

/**
 * Signals of their own, for as many partitions as the engine has; lost with the process.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import { type Actor, Engine, Streams } from "sluice"
 *
 * export const inMemory = (Mailbox: Actor.AnyActor, signals: Engine.SignalRules) =>
 *   Layer.provideMerge(Engine.layerMemory({ actors: [Mailbox], signals }), Streams.layerSignalsMemory(1))
 * ```
 */
export const layer = (partitions: number): Layer.Layer<Signals> => Layer.suspend(() => layerOf(makeStore(partitions)))
