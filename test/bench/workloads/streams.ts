/**
 * Messages of a stream, by a process each: read by a bare ordered consumer, read and decided by an ingest, published with so many in flight, or published
 * by the engine from its facts. In messages a second, from the first message to the last.
 */
import { jetstream, jetstreamManager } from "@nats-io/jetstream"
import type { NatsConnection } from "@nats-io/transport-node"
import { Context, Effect, Layer, Redacted, Schema, Scope } from "effect"
import * as Durable from "../../../src/durable.ts"
import * as Actor from "../../../src/engine/Actor.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import * as Ingest from "../../../src/engine/Ingest.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import * as Reactor from "../../../src/engine/Reactor.ts"
import { connectNats } from "../../../src/nats/connection.ts"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface StreamLoad {
  readonly by: "consumer" | "ingest" | "batched" | "publisher"
  readonly messages: number
}

const organizations = 500
const partitions = 8

/** Publishes of a bare publisher under way. */
const inFlight = 256

const Order = Schema.Struct({ order: Schema.Int, cents: Schema.Int })

const Book = Actor.make({
  kind: "book",
  command: Order,
  fact: Order,
  state: Schema.Int,
  initial: () => 0,
  evolve: (sum, { cents }) => sum + cents,
  decide: (_, order) => Actor.decided({ facts: [order] })
})

const bodyOf = (order: number): string => JSON.stringify({ order, cents: 1_000 + (order % 500) })

const fill = async (client: NatsConnection, subject: string, messages: number): Promise<void> => {
  const stream = jetstream(client)
  let next = 0
  const publisher = async () => {
    while (next < messages) {
      const order = next++
      await stream.publish(`${subject}.org_${order % organizations}`, bodyOf(order))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, publisher))
}

/** Waits for a count in steps of a millisecond; answers the rate between the first that was seen and the last. */
const rateOf = async (
  count: () => number | Promise<number>,
  messages: number
): Promise<{ readonly perSecond: number }> => {
  let first = 0
  while (first === 0) {
    first = await count()
    if (first === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const begun = performance.now()
  while ((await count()) < messages) await new Promise((resolve) => setTimeout(resolve, 1))
  return { perSecond: ((messages - first) * 1_000) / (performance.now() - begun) }
}

/** The engine with an ingest of the stream, and a publisher to another one that is made later. */
const startEngine = (
  addresses: { readonly natsUrl: string; readonly databaseUrl: string },
  reactors: ReadonlyArray<Reactor.Reactor>
) => {
  const orders = Ingest.jetStream({
    name: "orders",
    stream: "orders",
    subject: (partition) => `orders_by.${partition}.*`,
    organization: ({ subject }) => subject.split(".")[2],
    toCommand: (message) => Ingest.command(Book, "", Ingest.json(message) as typeof Order.Type)
  })
  return Layer.build(
    Durable.layer(
      { actors: [Book], ingests: [orders], reactors, config: { partitions } },
      { ...addresses, namespace: "streams", maximumLogBytes: 512 * 1024 * 1024 }
    )
  )
}

const published = Publish.jetStream({
  name: "published",
  from: Publish.facts(Book),
  stream: "published",
  subject: ({ organization }) => `published.${organization}`
})

const prepare = ({ by, dataFolder, messages }: StreamLoad & { readonly dataFolder: string }) =>
  Effect.gen(function* () {
    const addresses = yield* startServers(dataFolder)
    const { client } = yield* connectNats({ url: Redacted.make(addresses.natsUrl) })
    const manager = yield* Effect.promise(() => jetstreamManager(client))
    const add = (name: string, subject_transform?: { readonly src: string; readonly dest: string }) =>
      manager.streams.add({ name, subjects: [`${name}.*`], ...(subject_transform && { subject_transform }) })
    const last = async (name: string) => (await manager.streams.info(name)).state.messages
    yield* Effect.promise(() =>
      add("orders", { src: "orders.*", dest: `orders_by.{{partition(${partitions},1)}}.{{wildcard(1)}}` })
    )
    if (by === "batched") {
      return {
        measure: () => {
          const filled = fill(client, "orders", messages)
          return rateOf(() => last("orders"), messages).finally(() => filled)
        }
      }
    }
    if (by === "consumer" || by === "ingest") yield* Effect.promise(() => fill(client, "orders", messages))
    if (by === "consumer")
      return {
        measure: async () => {
          const consumer = await jetstream(client).consumers.get("orders")
          const read = await consumer.consume({ max_messages: 1_000 })
          let [count, begun] = [0, 0]
          for await (const _ of read) {
            if (count++ === 0) begun = performance.now()
            if (count === messages) break
          }
          return { perSecond: ((messages - 1) * 1_000) / (performance.now() - begun) }
        }
      }
    let decided = 0
    const counting = Reactor.make({
      name: "counting",
      parts: [
        Reactor.facts(Book, (records) =>
          Reactor.onCommit(() => {
            decided += records.length
          })
        )
      ]
    })
    const scope = yield* Effect.scope
    if (by === "ingest") {
      const start = Effect.provideService(startEngine(addresses, [counting]), Scope.Scope, scope)
      return {
        measure: () => {
          const started = Effect.runPromise(start)
          return rateOf(() => decided, messages).finally(() => started)
        }
      }
    }
    const context = yield* startEngine(addresses, [counting, published as Reactor.Reactor])
    yield* Context.get(context, Engine).ready
    yield* Effect.promise(() => fill(client, "orders", messages))
    while (decided < messages) yield* Effect.sleep(10)
    return {
      measure: async () => {
        await add("published")
        return rateOf(() => last("published"), messages)
      }
    }
  })

serveWorkload(prepare)
