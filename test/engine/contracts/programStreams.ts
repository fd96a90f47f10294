/** The contract of `ProgramStreams`, for every implementation. Each test has a stream of its own. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Fiber, type Layer, Stream } from "effect"
import type { ProgramStreams, StreamMessage } from "../../../src/engine/ports/ProgramStreams.ts"
import { patienceMillis } from "../../support/patience.ts"

export class ProgramStreamsHarness extends Context.Service<
  ProgramStreamsHarness,
  {
    readonly streams: ProgramStreams["Service"]
    /** Makes a stream that stores `<name>.>`. */
    readonly create: (name: string) => Effect.Effect<void>
    /** Removes the messages below a sequence. */
    readonly purge: (name: string, below: number) => Effect.Effect<void>
  }
>()("test/ProgramStreamsHarness") {}

let nextStream = 0

const open = Effect.gen(function* () {
  const { create, purge, streams } = yield* ProgramStreamsHarness
  const stream = `own${nextStream++}`
  yield* create(stream)
  const publish = (text: string, more: { readonly kind?: string; readonly id?: string } = {}) =>
    streams.publish({ subject: `${stream}.${more.kind ?? "a"}`, data: Buffer.from(text), id: more.id, stream })
  /** The first messages behind a place. */
  const take = (after: number, count: number, subjects: ReadonlyArray<string> = []) =>
    streams.follow({ stream, subjects, after }).pipe(
      Stream.flatMap(({ messages }) => Stream.fromIterable(messages)),
      Stream.take(count),
      Stream.runCollect
    )
  return { streams, stream, publish, take, purge: (below: number) => purge(stream, below) }
})

const texts = (messages: ReadonlyArray<StreamMessage>) => messages.map(({ data }) => Buffer.from(data).toString())

export const programStreamsContract = <E>(name: string, harness: Layer.Layer<ProgramStreamsHarness, E>): void => {
  layer(harness, { excludeTestServices: true, timeout: patienceMillis })(`ProgramStreams: ${name}`, (it) => {
    following(it)
    writing(it)
  })
}

const following = (it: Vitest.MethodsNonLive<ProgramStreamsHarness>): void => {
  it.effect("messages come in order, whole, with their place, time and headers", () =>
    Effect.gen(function* () {
      const { stream, streams, take } = yield* open
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
      const begun = Date.now()
      yield* streams.publish({ subject: `${stream}.b`, data: bytes, headers: { Trace: "t1" } })
      yield* streams.publish({ subject: `${stream}.c.d`, data: new Uint8Array() })
      const [first, second] = yield* take(0, 2)
      assert.deepStrictEqual([...first!.data], [...bytes])
      assert.deepStrictEqual([first!.sequence, first!.subject, first!.headers.Trace], [1, `${stream}.b`, "t1"])
      assert.deepStrictEqual([second!.sequence, second!.subject, second!.data.length], [2, `${stream}.c.d`, 0])
      assert.isTrue(Math.abs(first!.time - begun) < 60_000)
    })
  )

  it.effect("a follower begins behind its place and gets the subjects that it names", () =>
    Effect.gen(function* () {
      const { publish, stream, take } = yield* open
      for (const kind of ["a", "b", "c", "a", "b", "c"]) yield* publish(kind, { kind })
      assert.deepStrictEqual(texts(yield* take(2, 4)), ["c", "a", "b", "c"])
      const some = yield* take(0, 4, [`${stream}.a`, `${stream}.c`])
      assert.deepStrictEqual(
        some.map(({ sequence }) => sequence),
        [1, 3, 4, 6]
      )
    })
  )

  it.effect("a follower waits for what is published later, and a slow one gets everything", () =>
    Effect.gen(function* () {
      const { publish, take } = yield* open
      const count = 400
      const fiber = yield* Effect.forkChild(take(0, count))
      for (let number = 0; number < count; number++) yield* publish(String(number))
      assert.deepStrictEqual(
        texts(yield* Fiber.join(fiber)),
        Array.from({ length: count }, (_, number) => String(number))
      )
    })
  )

  it.effect("a place that the stream does not reach any more is said, and so is one behind its end", () =>
    Effect.gen(function* () {
      const { publish, purge, take } = yield* open
      for (const text of ["1", "2", "3", "4"]) yield* publish(text)
      yield* purge(4)
      const gone = yield* Effect.flip(take(1, 1))
      assert.deepInclude(gone, { _tag: "StreamPlaceLost", place: 1 })
      // All that comes behind the third is there.
      assert.deepStrictEqual(texts(yield* take(3, 1)), ["4"])
      const ahead = yield* Effect.flip(take(9, 1))
      assert.deepInclude(ahead, { _tag: "StreamPlaceLost", place: 9 })
    })
  )

  it.effect("the ends of a stream, and the place before a time", () =>
    Effect.gen(function* () {
      const { publish, purge, stream, streams, take } = yield* open
      assert.deepStrictEqual(yield* streams.ends(stream), { first: 1, last: 0 })
      for (const text of ["1", "2", "3"]) {
        yield* publish(text, { kind: text === "2" ? "b" : "a" })
        yield* Effect.sleep("5 millis")
      }
      const [, second, third] = yield* take(0, 3)
      assert.strictEqual(yield* streams.before(stream, 0), 0)
      assert.strictEqual(yield* streams.before(stream, second!.time), 1)
      assert.strictEqual(yield* streams.before(stream, third!.time + 60_000), 3)
      yield* purge(3)
      assert.deepStrictEqual(yield* streams.ends(stream), { first: 3, last: 3 })
    })
  )

  it.effect("a stream that is not there is away", () =>
    Effect.gen(function* () {
      const { streams } = yield* open
      const missing = { stream: "nowhere", subjects: [], after: 0 }
      assert.strictEqual((yield* Effect.flip(streams.ends("nowhere")))._tag, "StreamUnavailable")
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(streams.follow(missing))))._tag, "StreamUnavailable")
    })
  )
}

const writing = (it: Vitest.MethodsNonLive<ProgramStreamsHarness>): void => {
  it.effect("a second message with the same id is not stored again", () =>
    Effect.gen(function* () {
      const { publish, take } = yield* open
      yield* publish("once", { id: "1" })
      yield* publish("again", { id: "1" })
      yield* publish("other", { id: "2" })
      assert.deepStrictEqual(texts(yield* take(0, 2)), ["once", "other"])
    })
  )

  it.effect("a message that nobody stores is to be tried again, and one that is too large is refused", () =>
    Effect.gen(function* () {
      const { stream, streams } = yield* open
      const data = Buffer.from("x")
      const nowhere = streams.publish({ subject: "nobody.takes", data })
      assert.strictEqual((yield* Effect.flip(nowhere))._tag, "StreamUnavailable")
      const wrong = streams.publish({ subject: `${stream}.a`, data, stream: "another" })
      assert.strictEqual((yield* Effect.flip(wrong))._tag, "StreamUnavailable")
      const large = streams.publish({ subject: `${stream}.a`, data: new Uint8Array(2 * 1024 * 1024) })
      assert.strictEqual((yield* Effect.flip(large))._tag, "PublishRefused")
    })
  )
}
