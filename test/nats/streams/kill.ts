/**
 * The plan of the kill test: orders are written to a stream while the process that counts and publishes them is killed (-9) again and again. In the end
 * each is counted once, and published once, in the order of its organization.
 */
import { Context, Effect, Layer, Logger, Redacted, Stream } from "effect"
import * as Durable from "../../../src/durable.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import type { NatsConnection } from "../../../src/nats/connection.ts"
import type { StreamInfo } from "../../../src/nats/jetStreamApi.ts"
import * as ProgramStreamsJetStream from "../../../src/nats/ProgramStreamsJetStream.ts"
import { makeDatabase } from "../../support/database.ts"
import { deployment } from "../engineSupport.ts"
import { connectTo, createStream, waitUntil } from "../jetStreamSupport.ts"
import { Book, program, storesOf } from "./book.ts"
import { Victim } from "./Victim.ts"

const organizations = ["org_1", "org_2", "org_3", "org_4", "org_5", "org_6"]

const processProgram = new URL("process.ts", import.meta.url)

/** Everything that a stream holds, by organization. */
const contents = (client: NatsConnection["Service"]["client"], stream: string, count: number) =>
  Effect.gen(function* () {
    const streams = yield* ProgramStreamsJetStream.make(client)
    const found = yield* streams.follow({ stream, subjects: [], after: 0 }).pipe(
      Stream.flatMap(({ messages }) => Stream.fromIterable(messages)),
      Stream.take(count),
      Stream.runCollect
    )
    return organizations.map((organization) =>
      found
        .filter(({ subject }) => subject.endsWith(`.${organization}`))
        .map(({ data }) => {
          const value = JSON.parse(Buffer.from(data).toString()) as number | { readonly order: number }
          return typeof value === "number" ? value : value.order
        })
    )
  })

/** Plays the plan. Returns what was ordered, counted and published, by organization. */
export const playKills = (kills: number, ordersPerKill: number) =>
  Effect.gen(function* () {
    const { options } = yield* deployment
    const { url } = yield* makeDatabase
    const { client } = yield* connectTo(options.natsUrl)
    yield* createStream(client, "orders")
    yield* createStream(client, "counted", { duplicate_window: 120_000_000_000 })
    const last = (stream: string) =>
      Effect.promise(async () => {
        const answer = await client.request(`$JS.API.STREAM.INFO.${stream}`, "", { timeout: 10_000 })
        return answer.json<StreamInfo>().state.last_seq
      })
    const victim = new Victim(processProgram, [options.natsUrl, Redacted.value(url)])
    yield* Effect.addFinalizer(() => victim.kill)
    yield* victim.start
    const total = (kills + 1) * ordersPerKill
    const write = Effect.promise(async () => {
      for (let order = 0; order < total; order++)
        await client.request(`orders.${organizations[order % organizations.length]}`, String(order), {
          timeout: 10_000
        })
    })
    const writing = yield* Effect.forkScoped(write)
    for (let kill = 1; kill <= kills; kill++) {
      const reached = Math.floor((kill - 0.5) * ordersPerKill)
      yield* waitUntil(Effect.map(last("counted"), (found) => found >= reached))
      yield* victim.kill
      yield* victim.start
    }
    yield* waitUntil(Effect.map(last("counted"), (found) => found >= total))
    yield* Effect.sync(() => writing.interruptUnsafe())
    yield* victim.kill
    const layer = Durable.layer(program, storesOf(options.natsUrl, Redacted.value(url)))
    const built = yield* Layer.build(layer.pipe(Layer.provide(Logger.layer([]))))
    const engine = Context.get(built, Engine)
    yield* engine.ready
    const counted = yield* Effect.forEach(organizations, (organization) => engine.state(Book, { organization }))
    return {
      total,
      ordered: yield* contents(client, "orders", total),
      counted,
      published: yield* contents(client, "counted", yield* last("counted")),
      streams: yield* Effect.forEach(["orders", "counted"], last)
    }
  })
