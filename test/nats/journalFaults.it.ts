/**
 * The fenced append of the engine (docs/architecture.md, rule 2) over a real nats-server that is killed, frozen, cut
 * off, truncated and written to by others: whatever happens, a frame is stored once or the caller knows.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { fill, text } from "../engine/contracts/journalHarness.ts"
import { patienceMillis } from "../support/patience.ts"
import {
  appendText,
  connectTo,
  contents,
  eventually,
  journalOn,
  lostTail,
  observed,
  openOn,
  waitUntil
} from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"
import { proxyTo } from "./proxy.ts"

describe("the fenced append over a real server", { timeout: patienceMillis }, () => {
  it.live("a server killed after it has stored a frame and before it said so: stored once, found by reading", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const proxy = yield* proxyTo(server.url)
      const direct = yield* openOn(server.url)
      const { log, answers } = observed(yield* openOn(proxy.url))
      yield* fill(log, 0, [text("first")])
      yield* proxy.holdAnswers
      const fiber = yield* Effect.forkScoped(appendText(log, "second", 1))
      yield* waitUntil(Effect.map(direct.state, (state) => state.lastSequence === 2))
      yield* server.kill
      yield* proxy.cut
      yield* waitUntil(Effect.sync(() => answers.length === 1 + 1))
      assert.deepStrictEqual(answers[1], { _tag: "NoAnswer", reason: "disconnected" })
      yield* proxy.release
      yield* server.start
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual([outcome._tag, outcome.branch], ["Stored", "read-back"])
      assert.deepStrictEqual(yield* contents(direct), ["first", "second"])
    })
  )

  it.live("a server killed before the frame reached it: the same frame is sent again", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const proxy = yield* proxyTo(server.url)
      const { log, answers } = observed(yield* openOn(proxy.url))
      yield* fill(log, 0, [text("first")])
      yield* proxy.holdRequests
      const fiber = yield* Effect.forkScoped(appendText(log, "second", 1))
      yield* waitUntil(Effect.sync(() => answers.length === 2))
      assert.strictEqual(answers[1]?._tag, "NoAnswer")
      yield* server.kill
      yield* proxy.cut
      yield* proxy.release
      yield* server.start
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual([outcome._tag, outcome.branch], ["Stored", "acked-after-resend"])
      assert.deepStrictEqual(yield* contents(log), ["first", "second"])
    })
  )

  it.live("an acknowledgement later than the timeout: stored once", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const proxy = yield* proxyTo(server.url)
      const { log, answers } = observed(yield* openOn(proxy.url))
      yield* proxy.holdAnswers
      const fiber = yield* Effect.forkScoped(appendText(log, "first", 0))
      yield* waitUntil(Effect.sync(() => answers.length > 0))
      assert.deepStrictEqual(answers[0], { _tag: "NoAnswer", reason: "timeout" })
      yield* proxy.release
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Stored")
      assert.strictEqual((yield* appendText(log, "second", 1))._tag, "Stored")
      assert.deepStrictEqual(yield* contents(log), ["first", "second"])
    })
  )

  it.live("a server that stands still beyond the timeout and goes on: stored once", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const { log, answers } = observed(yield* openOn(server.url))
      yield* server.freeze
      const fiber = yield* Effect.forkScoped(appendText(log, "first", 0))
      yield* waitUntil(Effect.sync(() => answers.length > 0))
      assert.strictEqual(answers[0]?._tag, "NoAnswer")
      yield* server.thaw
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Stored")
      assert.deepStrictEqual(yield* contents(log), ["first"])
    })
  )

  it.live("a lost connection is reported when it is lost, not at the timeout", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const proxy = yield* proxyTo(server.url)
      const log = yield* openOn(proxy.url)
      yield* proxy.holdAnswers
      const never = 1_000_000
      const fiber = yield* Effect.forkScoped(
        log.publish({ bytes: text("x"), identity: "0/1/1", expectedLast: 0, timeoutMillis: never })
      )
      const direct = yield* openOn(server.url)
      yield* waitUntil(Effect.map(direct.state, (state) => state.lastSequence === 1))
      yield* proxy.cut
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "NoAnswer", reason: "disconnected" })
    })
  )

  it.live(
    "without a server an attempt is given up at once, a read is told that the log is away, and both work again later",
    () =>
      Effect.gen(function* () {
        const server = yield* oneServer()
        const connection = yield* connectTo(server.url)
        const log = yield* openOn(server.url)
        yield* server.kill
        yield* waitUntil(Effect.map(connection.status, (status) => status._tag === "Disconnected"))
        const never = 1_000_000
        const attempt = log.publish({ bytes: text("x"), identity: "0/1/1", expectedLast: 0, timeoutMillis: never })
        // The log has a connection of its own, which may notice a moment later.
        yield* waitUntil(Effect.map(attempt, ({ _tag }) => _tag === "NotSent"))
        assert.strictEqual((yield* Effect.flip(log.state))._tag, "JournalUnavailable")
        assert.strictEqual((yield* Effect.flip(log.frameAt(1)))._tag, "JournalUnavailable")
        yield* server.start
        yield* eventually(log.state)
        assert.strictEqual((yield* appendText(log, "first", 0))._tag, "Stored")
      })
  )

  it.live("kills in the middle of a series: every frame once and in order", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const log = yield* openOn(server.url)
      const count = 3000
      let committed = 0
      const writer = yield* Effect.forkScoped(
        Effect.gen(function* () {
          while (committed < count) {
            const outcome = yield* appendText(log, `frame ${committed + 1}`, committed)
            assert.strictEqual(outcome._tag, "Stored")
            committed++
          }
        })
      )
      for (let kill = 1; kill <= 4; kill++) {
        yield* waitUntil(Effect.sync(() => committed >= kill * 500))
        yield* server.kill
        yield* server.start
      }
      yield* Fiber.join(writer)
      assert.deepStrictEqual(
        yield* contents(log),
        Array.from({ length: count }, (_, index) => `frame ${index + 1}`)
      )
    })
  )

  it.live("another writer's frame at our place fences, for certain", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const [ours, theirs] = yield* Effect.all([openOn(server.url), openOn(server.url)])
      yield* fill(ours, 0, [text("common")])
      yield* fill(theirs, 1, [text("theirs")])
      const outcome = yield* appendText(ours, "ours", 1)
      assert.deepStrictEqual(outcome, { _tag: "Fenced", branch: "fenced-other-frame", certain: true })
      assert.deepStrictEqual(yield* contents(ours), ["common", "theirs"])
    })
  )

  it.live("a log that another owner has taken on and purged fences", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const [ours, theirs] = yield* Effect.all([openOn(server.url), openOn(server.url)])
      yield* fill(ours, 0, [text("1"), text("2"), text("3")])
      yield* fill(theirs, 3, [text("4"), text("5"), text("6")])
      yield* theirs.purgeBelow(6)
      const outcome = yield* appendText(ours, "ours", 3)
      assert.deepStrictEqual(outcome, { _tag: "Fenced", branch: "fenced-absent", certain: false })
      assert.deepStrictEqual(yield* contents(ours), ["6"])
    })
  )

  it.live("a log that was deleted and made anew is behind us: nothing is appended to it", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const { client } = yield* connectTo(server.url)
      const log = yield* openOn(server.url)
      yield* fill(log, 0, [text("1"), text("2"), text("3")])
      yield* Effect.promise(() => client.request("$JS.API.STREAM.DELETE.log-0", "", { timeout: patienceMillis }))
      const anew = yield* openOn(server.url)
      assert.strictEqual((yield* anew.state).lastSequence, 0)
      const outcome = yield* appendText(log, "ours", 3)
      assert.deepStrictEqual(outcome, { _tag: "Fenced", branch: "log-behind", certain: false })
      assert.strictEqual((yield* anew.state).lastSequence, 0)
    })
  )

  it.live("a log that has silently lost its end is behind us: nothing is appended to it", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const log = yield* openOn(server.url)
      yield* fill(
        log,
        0,
        Array.from({ length: 20 }, (_, index) => text(`frame ${index + 1}`))
      )
      yield* server.kill
      lostTail(server, "log-0", 500)
      yield* server.start
      const state = yield* eventually(log.state)
      assert.isBelow(state.lastSequence, 20)
      const outcome = yield* appendText(log, "ours", 20)
      assert.deepStrictEqual(outcome, { _tag: "Fenced", branch: "log-behind", certain: false })
      assert.strictEqual((yield* log.state).lastSequence, state.lastSequence)
    })
  )

  it.live("a reader survives the server's restart and misses nothing", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const log = yield* openOn(server.url)
      const filler = "x".repeat(20_000)
      yield* fill(
        log,
        0,
        Array.from({ length: 600 }, (_, index) => text(`frame ${index + 1} ${filler}`))
      )
      let restarted = false
      const batches = yield* Stream.runCollect(
        Stream.tap(log.read(1, 600), () =>
          restarted
            ? Effect.void
            : Effect.suspend(() => {
                restarted = true
                return Effect.andThen(server.kill, server.start)
              })
        )
      )
      assert.deepStrictEqual(
        batches.flat().map((frame) => frame.sequence),
        Array.from({ length: 600 }, (_, index) => index + 1)
      )
    })
  )

  it.live("a purge and a moved end outlive a killed server", () =>
    Effect.gen(function* () {
      const server = yield* oneServer()
      const journal = yield* journalOn(server.url)
      const [purged, moved] = yield* Effect.all([journal.open(0), journal.open(1)])
      yield* fill(
        purged,
        0,
        Array.from({ length: 30 }, (_, index) => text(`frame ${index + 1}`))
      )
      yield* purged.purgeBelow(30)
      yield* moved.restartAfter(900)
      yield* server.kill
      yield* server.start
      const states = yield* eventually(Effect.all([purged.state, moved.state]))
      assert.deepStrictEqual(
        states.map((state) => [state.firstSequence, state.lastSequence]),
        [
          [30, 30],
          [901, 900]
        ]
      )
    })
  )
})
