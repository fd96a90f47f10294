/** Hangs while a text is spoken, on virtual time (docs/platform.md, 10.2): a speech service that does not answer, one that goes silent, one that never comes to an end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Engine from "../../src/engine/Engine.ts"
import { makingTimeoutMillis, silenceTimeoutMillis, speechPlaces } from "../../src/talk/limits.ts"
import { SpeechEngine, type SpeechOrder } from "../../src/talk/SpeechEngine.ts"
import { Talk } from "../../src/talk/Talk.ts"
import { TalkActor } from "../../src/talk/TalkActor.ts"
import * as UpstreamEngine from "../../src/talk/upstream/UpstreamEngine.ts"

const order: SpeechOrder = { text: "Hello.", voice: "alloy", format: "wav", speed: 1 }
const owner = { organizationId: "org_1", livemode: true }
const silence = "The speech engine gives no audio; the request is safe to repeat."

const talkOn = (engine: Layer.Layer<SpeechEngine>) =>
  Talk.layer.pipe(Layer.provide(engine), Layer.provide(Engine.layerMemory({ actors: [TalkActor] })))

/** A speech service that answers as `answer` says; `aborted` counts the requests that were given up. */
const upstream = (answer: () => Promise<Response>) => {
  const seen = { asked: 0, aborted: 0 }
  const fetch: typeof globalThis.fetch = (_, init) => {
    seen.asked++
    init?.signal?.addEventListener("abort", () => seen.aborted++)
    return answer()
  }
  const engine = UpstreamEngine.layer({
    url: "http://speech.test/v1",
    key: Redacted.make("k"),
    model: "m",
    voices: ["alloy"]
  })
  return { seen, talk: talkOn(engine), layerFetch: Layer.succeed(FetchHttpClient.Fetch, fetch) }
}

/** An answer whose body says so much and is then silent. */
const silentAfter = (bytes: number) => () =>
  Promise.resolve(
    new Response(
      new ReadableStream({
        start: (controller) => {
          if (bytes > 0) controller.enqueue(new Uint8Array(bytes))
        }
      }),
      { headers: { "content-type": "audio/mpeg" } }
    )
  )

/** Lets what is under way come to rest: a fetch is answered outside of virtual time. */
const settle = Effect.promise(async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
})

describe("a speech service", () => {
  const never = () => new Promise<Response>(() => {})

  it.effect.each([
    ["does not answer about a WAV file", never, "wav"],
    ["does not answer about another format", never, "mp3"],
    ["answers and says nothing", silentAfter(0), "wav"],
    ["goes silent in the middle", silentAfter(5_000), "wav"]
  ] as const)("that %s is given up after 30 s", ([, answer, format]) => {
    const { layerFetch, seen, talk } = upstream(answer)
    return Effect.gen(function* () {
      const { speak } = yield* Talk
      const speaking = yield* Effect.forkChild(Effect.flip(Effect.scoped(speak(owner, { ...order, format }))))
      yield* settle
      assert.strictEqual(seen.asked, 1)
      yield* TestClock.adjust(silenceTimeoutMillis - 1)
      yield* settle
      assert.isUndefined(speaking.pollUnsafe())
      yield* TestClock.adjust(1)
      const error = yield* Fiber.join(speaking)
      assert.deepStrictEqual(
        [error._tag, (error as { readonly message?: string }).message],
        ["SpeechUnavailable", silence]
      )
    }).pipe(Effect.provide(talk), Effect.provide(layerFetch))
  })

  it.effect("[platform 10.2] that hangs keeps no place, and its request is given up with it", () => {
    const { layerFetch, seen, talk } = upstream(never)
    return Effect.gen(function* () {
      const { speak } = yield* Talk
      for (let round = 0; round < 2 * speechPlaces.total; round++) {
        const speaking = yield* Effect.forkChild(Effect.flip(Effect.scoped(speak(owner, order))))
        yield* settle
        yield* TestClock.adjust(silenceTimeoutMillis)
        assert.strictEqual((yield* Fiber.join(speaking))._tag, "SpeechUnavailable")
      }
      assert.deepStrictEqual(seen, { asked: 2 * speechPlaces.total, aborted: 2 * speechPlaces.total })
    }).pipe(Effect.provide(talk), Effect.provide(layerFetch))
  })
})

describe("an engine", () => {
  it.effect("that never comes to an end, though it is never silent for long, has 120 s for a WAV file", () => {
    let pieces = 0
    const trickling = SpeechEngine.of({
      offer: Effect.succeed({
        voices: [{ id: "alloy", name: "alloy", language: "mul", gender: null }],
        formats: ["wav"]
      }),
      speak: () => [
        Stream.fromEffectRepeat(
          Effect.delay(
            Effect.sync(() => {
              pieces++
              return new Uint8Array(10)
            }),
            silenceTimeoutMillis / 2
          )
        )
      ]
    })
    return Effect.gen(function* () {
      const { speak } = yield* Talk
      const speaking = yield* Effect.forkChild(Effect.flip(Effect.scoped(speak(owner, order))))
      yield* TestClock.adjust(makingTimeoutMillis - 1)
      assert.isUndefined(speaking.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(speaking))._tag, "SpeechUnavailable")
      const before = pieces
      yield* TestClock.adjust(makingTimeoutMillis)
      assert.strictEqual(pieces, before)
    }).pipe(Effect.provide(talkOn(Layer.succeed(SpeechEngine, trickling))))
  })
})
