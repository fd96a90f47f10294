/** A program's own streams on JetStream: the contract, streams that cannot be followed, and other subjects that go by. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as ProgramStreamsJetStream from "../../src/nats/ProgramStreamsJetStream.ts"
import { ProgramStreamsHarness, programStreamsContract } from "../engine/contracts/programStreams.ts"
import { patienceMillis } from "../support/patience.ts"
import { callApi, connectTo, createStream } from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"

const opened = Effect.gen(function* () {
  const { url } = yield* oneServer()
  const { client } = yield* connectTo(url)
  return { client, streams: yield* ProgramStreamsJetStream.make(client) }
})

programStreamsContract(
  "JetStream",
  Layer.effect(
    ProgramStreamsHarness,
    Effect.map(opened, ({ client, streams }) =>
      ProgramStreamsHarness.of({
        streams,
        create: (name) => createStream(client, name),
        purge: (name, below) => callApi(client, `STREAM.PURGE.${name}`, { seq: below })
      })
    )
  )
)

describe("a program's own streams on JetStream", { timeout: patienceMillis }, () => {
  it.live("a stream that drops what is read cannot be followed, in words", () =>
    Effect.gen(function* () {
      const { client, streams } = yield* opened
      yield* createStream(client, "work", { retention: "workqueue" })
      const follow = streams.follow({ stream: "work", subjects: [], after: 0 })
      const error = yield* Effect.flip(Stream.runDrain(follow))
      assert.strictEqual(error._tag, "StreamPlaceLost")
      assert.include(error.message, "retention workqueue")
    })
  )

  it.live("a follower that lags behind the stream's own retention says so, and skips nothing silently", () =>
    Effect.gen(function* () {
      const { client, streams } = yield* opened
      yield* createStream(client, "short", { max_msgs: 300 })
      const publish = (from: number, through: number) =>
        Effect.promise(async () => {
          for (let number = from; number <= through; number++)
            await client.request("short.a", String(number), { timeout: patienceMillis })
        })
      yield* publish(1, 300)
      const seen: Array<number> = []
      const follow = streams.follow({ stream: "short", subjects: ["short.a"], after: 0 })
      const error = yield* Effect.flip(
        Stream.runForEach(follow, ({ messages }) =>
          Effect.gen(function* () {
            for (const { sequence } of messages) seen.push(sequence)
            // While it works on the first ones, the stream turns over.
            if (seen.length === messages.length) yield* publish(301, 1_200)
          })
        )
      )
      assert.strictEqual(error._tag, "StreamPlaceLost")
      assert.deepStrictEqual(
        seen,
        seen.map((_, index) => index + 1)
      )
    })
  )

  it.live("a follower that lags behind a purge says so, although nothing more comes", () =>
    Effect.gen(function* () {
      const { client, streams } = yield* opened
      yield* createStream(client, "purged")
      yield* Effect.promise(async () => {
        for (let number = 1; number <= 600; number++)
          await client.request("purged.a", String(number), { timeout: patienceMillis })
      })
      let seen = 0
      const follow = streams
        .follow({ stream: "purged", subjects: ["purged.a"], after: 0 })
        .pipe(Stream.takeUntil(({ through }) => through >= 600))
      const error = yield* Effect.flip(
        Stream.runForEach(follow, ({ messages }) =>
          Effect.gen(function* () {
            if (seen === 0) yield* callApi(client, "STREAM.PURGE.purged", {})
            seen += messages.length
          })
        )
      )
      assert.strictEqual(error._tag, "StreamPlaceLost")
      assert.isBelow(seen, 600)
    })
  )

  it.live("a quiet follower moves over messages of other subjects, up to what is still to come", () =>
    Effect.gen(function* () {
      const { client, streams } = yield* opened
      yield* createStream(client, "mixed")
      const say = (subject: string) => Effect.promise(() => client.request(subject, "", { timeout: patienceMillis }))
      yield* say("mixed.ours")
      for (let other = 0; other < 5; other++) yield* say("mixed.other")
      const batches = yield* streams
        .follow({ stream: "mixed", subjects: ["mixed.ours"], after: 0 })
        .pipe(Stream.take(2), Stream.runCollect)
      assert.deepStrictEqual(
        batches.map(({ messages, through }) => [messages.length, through]),
        [
          [1, 1],
          [0, 6]
        ]
      )
    })
  )
})
