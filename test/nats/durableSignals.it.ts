/** `Durable.layer` of a program with external signals: it makes their stream, counts each signal once, and bounds what waits. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import * as Durable from "../../src/durable.ts"
import { Engine } from "../../src/engine/Engine.ts"
import type { StreamInfo } from "../../src/nats/jetStreamApi.ts"
import { Counter } from "../engine/support/actors.ts"
import { makeDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import { deployment } from "./engineSupport.ts"
import { connectTo, waitUntil } from "./jetStreamSupport.ts"

const target = { organization: "org_1", key: "bounces" }
const maximumSignalBytes = 8 * 1024 * 1024

const signals = {
  bounce: (signal: { readonly data: Uint8Array }) => ({
    actor: Counter,
    key: target.key,
    command: { _tag: "Add" as const, amount: Number(Buffer.from(signal.data).toString()) }
  })
}

describe("an embedded engine on real stores", { timeout: patienceMillis }, () => {
  it.live("decides the external signals of its program, each once, also across a restart", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const { url } = yield* makeDatabase
      const { client } = yield* connectTo(options.natsUrl)
      const publish = (from: number, count: number) =>
        Effect.promise(async () => {
          for (let number = from; number < from + count; number++)
            await client.request("signal.org_1.bounce", String(number), { timeout: patienceMillis })
        })
      const settings = { natsUrl: options.natsUrl, databaseUrl: url, maximumSignalBytes }
      const layer = Durable.layer({ actors: [Counter], config: { partitions: 2 }, signals }, settings)
      /** Runs until the counter has reached a total. */
      const untilTotal = (total: number, before: Effect.Effect<void>) =>
        Effect.scoped(
          Effect.gen(function* () {
            const built = yield* Layer.build(layer.pipe(Layer.provide(Logger.layer([]))))
            const engine = Context.get(built, Engine)
            yield* engine.ready
            yield* before
            yield* waitUntil(Effect.map(engine.state(Counter, target), (state) => state.total === total))
          })
        )
      yield* untilTotal(55, publish(1, 10))
      const stored = yield* Effect.promise(() =>
        client.request("$JS.API.STREAM.INFO.signals", "", { timeout: patienceMillis })
      )
      assert.strictEqual(stored.json<StreamInfo>().config.max_bytes, maximumSignalBytes)
      // These come while nobody decides.
      yield* publish(11, 10)
      yield* untilTotal(210, Effect.void)
      yield* untilTotal(465, publish(21, 10))
    })
  )
})
