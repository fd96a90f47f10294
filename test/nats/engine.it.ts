/**
 * The engine on a real nats-server and PostgreSQL: what was answered outlives kills, and a log that has lost something is not served but named, with
 * what an operator can do.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Schedule } from "effect"
import { isRetryable } from "../../src/engine/errors.ts"
import { decodeFrame, encodeClaim, headAfter, identityOf } from "../../src/engine/frame.ts"
import { acceptLoss } from "../../src/engine/operator/acceptLoss.ts"
import { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import { Cursors } from "../../src/engine/ports/Cursors.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import * as SignalsJetStream from "../../src/nats/SignalsJetStream.ts"
import { Counter } from "../engine/support/actors.ts"
import { patienceMillis } from "../support/patience.ts"
import {
  deployment,
  keys,
  names,
  note,
  notes,
  organization,
  type ProcessOptions,
  ports,
  type Running,
  servingEngine,
  startEngine
} from "./engineSupport.ts"
import { connectTo, eventually, lostTail, maximumBytes, waitUntil } from "./jetStreamSupport.ts"

/** Claims until not even a small one is taken. */
const fillWithClaims = (options: ProcessOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const log = yield* Effect.flatMap(Journal, (journal) => journal.open(0))
      const { lastSequence } = yield* log.state
      const { bytes: last } = (yield* log.frameAt(lastSequence))!
      let head = headAfter(lastSequence, last, decodeFrame(last))
      for (const length of [8_000, 300, 1]) {
        while (true) {
          const { epoch, hash, now, number, sequence, signalSequence } = head
          const header = { epoch: epoch + 1, number: number + 1, now, previousHash: hash, signalSequence }
          const bytes = encodeClaim(header, "x".repeat(length))
          const identity = identityOf(0, header.epoch, header.number)
          const answer = yield* log.publish({ bytes, identity, expectedLast: sequence, timeoutMillis: 5_000 })
          if (answer._tag === "Full") break
          assert.strictEqual(answer._tag, "Acked")
          head = headAfter(sequence + 1, bytes, header)
        }
      }
    })
  ).pipe(Effect.provide(ports(options)))

const noteMany = (engine: Running, from: number, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => from + index),
    (index) => note(engine, `note ${index}`, keys[index % keys.length]),
    { concurrency: 64, discard: true }
  )

/** Why a partition has stopped. */
const refusal = (options: ProcessOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine } = yield* startEngine(options)
      const stopped = yield* Effect.flip(engine.ready)
      const asked = yield* Effect.flip(note(engine, "never"))
      assert.deepInclude(asked, { _tag: "PartitionStopped" })
      return stopped.reason
    })
  )

/** An operator's way out. */
const giveUp = (options: ProcessOptions, dryRun: boolean, reactors: ReadonlyArray<string> = []) =>
  Effect.provide(acceptLoss(0, { dryRun, reactors }), ports(options))

/** The log's end, its checkpoints and its cursors, as they are stored. */
const stored = (options: ProcessOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const log = yield* Effect.flatMap(Journal, (journal) => journal.open(0))
      const state = yield* log.state
      const checkpoints = yield* Effect.flatMap(Checkpoints, (store) => store.list(0))
      const cursors = yield* Effect.flatMap(Cursors, (store) => store.list(0))
      return { state, checkpoints, cursors }
    })
  ).pipe(Effect.provide(ports(options)))

const everyFrame = { config: { checkpointFrames: 1 } } as const
const noCheckpoints = { config: { checkpointFrames: 1_000_000, checkpointMillis: 3_600_000 } } as const

describe("the engine on real servers", { timeout: patienceMillis }, () => {
  it.live("what was answered is there after a restart, from checkpoint and log", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const first = yield* servingEngine({ ...options, engine: everyFrame })
      yield* noteMany(first.engine, 0, 500)
      yield* first.stop
      const second = yield* servingEngine({ ...options, engine: noCheckpoints })
      assert.deepStrictEqual((yield* notes(second.engine)).sort(), names(0, 500).sort())
      yield* noteMany(second.engine, 500, 100)
      yield* second.stop
      const third = yield* servingEngine(options)
      assert.deepStrictEqual((yield* notes(third.engine)).sort(), names(0, 600).sort())
      const { checkpoints, state } = yield* stored(options)
      assert.isAtLeast(checkpoints.length, 1)
      // What the older checkpoint covers was purged.
      assert.isAbove(state.firstSequence, 1)
    })
  )

  it.live("a log cut short below a checkpoint is not served; giving up what is lost lets it go on", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const first = yield* servingEngine({ ...options, engine: noCheckpoints })
      for (let index = 0; index < 20; index++) yield* note(first.engine, `note ${index}`)
      // At its end it takes a checkpoint of its last frame.
      yield* first.stop
      const before = yield* stored(options)
      yield* server.kill
      lostTail(server, "log-0", 700)
      yield* server.start
      const { state } = yield* eventually(stored(options))
      assert.isBelow(state.lastSequence, before.state.lastSequence)

      const reason = yield* refusal(options)
      assert.include(reason, `the newest checkpoint has seen frame ${before.state.lastSequence}`)
      assert.include(reason, `but the log ends at ${state.lastSequence}`)
      assert.include(reason, "a file of the log was cut short")
      assert.include(reason, "sluice recover --partition 0 --accept-loss")
      assert.deepStrictEqual((yield* stored(options)).state, state)

      const planned = yield* giveUp(options, true)
      assert.isFalse(planned.fits)
      assert.deepStrictEqual((yield* stored(options)).checkpoints, before.checkpoints)
      const done = yield* giveUp(options, false)
      assert.deepStrictEqual(done.lines, planned.lines)
      const after = yield* servingEngine(options)
      const kept = yield* notes(after.engine)
      assert.deepStrictEqual(kept, names(0, kept.length))
      assert.isBelow(kept.length, 20)
      yield* note(after.engine, "goes on")
    })
  )

  it.live("a log cut short below a cursor is not served", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const reactor = { name: "sql", handle: () => Effect.void }
      const engineOptions = { ...noCheckpoints, reactors: [reactor] }
      const first = yield* servingEngine({ ...options, engine: engineOptions })
      for (let index = 0; index < 20; index++) yield* note(first.engine, `note ${index}`)
      const last = (yield* stored(options)).state.lastSequence
      yield* waitUntil(
        Effect.map(
          stored(options),
          ({ cursors }) => cursors.find(({ reactor }) => reactor === "sql")?.sequence === last
        )
      )
      yield* first.stop
      // Only the cursor has seen the end.
      yield* Effect.provide(
        Effect.flatMap(Checkpoints, (store) => store.discardAbove(0, 0)),
        ports(options)
      )
      yield* server.kill
      lostTail(server, "log-0", 700)
      yield* server.start
      const reason = yield* refusal({ ...options, engine: engineOptions })
      assert.match(
        reason,
        new RegExp(`the cursor of (?:sql|sluice.outbox) has seen frame ${last}, but the log ends at \\d+`)
      )
      const report = yield* giveUp(options, false, ["sql"])
      assert.isTrue(report.lines.some((line) => line.startsWith(`Moved: the cursor of sql from frame ${last}`)))
      const after = yield* servingEngine({ ...options, engine: engineOptions })
      yield* note(after.engine, "goes on")
    })
  )

  it.live("a log that was purged by hand beyond its checkpoint is not served", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const first = yield* servingEngine({ ...options, engine: noCheckpoints })
      for (let index = 0; index < 10; index++) yield* note(first.engine, `note ${index}`)
      yield* first.stop
      const checkpoint = (yield* stored(options)).checkpoints[0]!
      const second = yield* servingEngine({ ...options, engine: noCheckpoints })
      for (let index = 10; index < 20; index++) yield* note(second.engine, `note ${index}`)
      yield* second.stop
      yield* Effect.provide(
        Effect.flatMap(Checkpoints, (store) => store.discardAbove(0, checkpoint.sequence)),
        ports(options)
      )
      const { client } = yield* connectTo(server.url)
      yield* Effect.promise(() =>
        client.request("$JS.API.STREAM.PURGE.log-0", JSON.stringify({ seq: checkpoint.sequence + 5 }), {
          timeout: patienceMillis
        })
      )
      const reason = yield* refusal(options)
      assert.include(reason, `the newest checkpoint stands at frame ${checkpoint.sequence}`)
      assert.include(reason, `the log begins at ${checkpoint.sequence + 5}`)
      assert.include(reason, "purged by hand")
    })
  )

  it.live("a stream that was deleted and made anew is not served, empty or written to", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const first = yield* servingEngine({ ...options, engine: noCheckpoints })
      for (let index = 0; index < 5; index++) yield* note(first.engine, `note ${index}`)
      yield* first.stop
      const before = yield* stored(options)
      const { client } = yield* connectTo(server.url)
      yield* Effect.promise(() => client.request("$JS.API.STREAM.DELETE.log-0", "", { timeout: patienceMillis }))
      assert.match(yield* refusal(options), /this NATS has no stream log-0, of which the database has seen frames/)
      const log = yield* Effect.provide(
        Effect.flatMap(Journal, (journal) => journal.open(0)),
        ports(options)
      ).pipe(Effect.scoped, Effect.result)
      assert.strictEqual(log._tag, "Success")
      for (let sequence = 0; sequence < before.state.lastSequence; sequence++) {
        yield* Effect.promise(() => client.request("log.0", `foreign ${sequence}`, { timeout: patienceMillis }))
      }
      assert.match(yield* refusal(options), /has seen another frame \d+ than the log now holds/)
    })
  )

  it.live(
    "a log that a slow reactor keeps full refuses decisions, and serves again when the reactor has caught up",
    () =>
      Effect.gen(function* () {
        const { options } = yield* deployment
        const small = { ...options, maximumBytes: 1024 * 1024 }
        const gate = yield* Deferred.make<void>()
        const reactor = { name: "slow", handle: () => Deferred.await(gate) }
        const { engine, stop } = yield* servingEngine({ ...small, engine: { reactors: [reactor] } })
        const text = "x".repeat(5_000)
        const ask = (index: number) =>
          Effect.as(
            engine.ask(
              Counter,
              { organization: `org_${Math.floor(index / 100)}`, key: keys[index % keys.length]! },
              { _tag: "Note", text: `${index} ${text}` }
            ),
            index
          )
        const answered: Array<number> = []
        let refused: unknown
        while (refused === undefined) {
          const result = yield* Effect.result(ask(answered.length))
          if (result._tag === "Success") answered.push(result.success)
          else refused = result.failure
        }
        assert.deepInclude(refused, { _tag: "PartitionUnavailable", retryable: true })
        assert.match(String(refused), /full/)
        assert.isAbove(answered.length, 100)
        assert.isAtMost((yield* stored(small)).state.bytes, 1024 * 1024)
        yield* Deferred.succeed(gate, undefined)
        yield* Effect.retry(ask(answered.length), { while: isRetryable, schedule: Schedule.spaced("50 millis") })
        yield* stop
        const again = yield* servingEngine({ ...small, engine: { reactors: [reactor] } })
        for (const index of [...answered, answered.length]) {
          const { notes: found } = yield* again.engine.state(Counter, {
            organization: `org_${Math.floor(index / 100)}`,
            key: keys[index % keys.length]!
          })
          assert.strictEqual(found.filter((one) => one.startsWith(`${index} `)).length, 1, `note ${index}`)
        }
      })
  )

  it.live("a log that is full at a start is claimed when its reactor has made room", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const gate = yield* Deferred.make<void>()
      const reactor = { name: "slow", handle: () => Deferred.await(gate) }
      const small = { ...options, maximumBytes: 1024 * 1024, engine: { reactors: [reactor] } }
      const first = yield* servingEngine(small)
      let answered = 0
      for (const length of [5_000, 300, 1]) {
        const ask = Effect.suspend(() =>
          first.engine.ask(
            Counter,
            { organization: `org_${Math.floor(answered / 100)}`, key: keys[answered % keys.length]! },
            { _tag: "Note", text: "x".repeat(length) }
          )
        )
        while ((yield* Effect.result(ask))._tag === "Success") answered++
      }
      yield* first.stop
      // Facts leave the log's reserve alone; owners that claimed it again and again do not.
      yield* fillWithClaims(small)
      const again = yield* startEngine(small)
      const isFull = Effect.map(
        again.engine.status,
        ([only]) => only?.status._tag === "Starting" && only.status.reason.includes("full")
      )
      yield* waitUntil(isFull)
      const target = { organization: "org_0", key: keys[0]! }
      const refused = yield* Effect.flip(again.engine.ask(Counter, target, { _tag: "Get" }))
      assert.deepInclude(refused, { _tag: "PartitionUnavailable", retryable: true })
      assert.match(String(refused), /full/)

      yield* Deferred.succeed(gate, undefined)
      yield* again.engine.ready
      yield* again.engine.ask(Counter, target, { _tag: "Note", text: "after" })
      let found = 0
      for (let at = 0; at <= answered; at += 100) {
        for (const key of keys) {
          const state = yield* again.engine.state(Counter, { organization: `org_${at / 100}`, key })
          found += state.notes.length
        }
      }
      assert.strictEqual(found, answered + 1)
    })
  )

  it.live("[platform 8.4] a second process takes the partition over; the first answers nothing unstored", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const first = yield* servingEngine(options)
      yield* noteMany(first.engine, 0, 50)
      const second = yield* servingEngine(options)
      yield* noteMany(second.engine, 50, 50)
      const moved = yield* Effect.exit(note(first.engine, "from the first"))
      yield* second.stop
      yield* first.stop
      const third = yield* servingEngine(options)
      const found = yield* notes(third.engine)
      assert.strictEqual(new Set(found).size, found.length)
      for (const text of names(0, 100)) assert.include(found, text)
      assert.strictEqual(found.includes("from the first"), Exit.isSuccess(moved))
    })
  )

  it.live("a signal counts once, also across a restart", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const engineOptions = {
        signals: {
          bounce: (signal: { readonly data: Uint8Array }) => ({
            actor: Counter,
            key: keys[0]!,
            command: { _tag: "Note" as const, text: Buffer.from(signal.data).toString() }
          })
        }
      }
      const { client } = yield* connectTo(server.url)
      const signals = yield* SignalsJetStream.make(client, { partitions: 1, maximumBytes })
      const publish = (from: number, count: number) =>
        Effect.forEach(names(from, count), (text) =>
          signals.publish({ organization, kind: "bounce", data: Buffer.from(text), id: text })
        )
      const first = yield* servingEngine({ ...options, engine: engineOptions })
      yield* publish(0, 40)
      yield* waitUntil(Effect.map(notes(first.engine), (found) => found.length === 40))
      yield* publish(0, 40)
      yield* first.stop
      yield* publish(40, 20)
      const second = yield* servingEngine({ ...options, engine: engineOptions })
      yield* waitUntil(Effect.map(notes(second.engine), (found) => found.length >= 60))
      assert.deepStrictEqual(yield* notes(second.engine), names(0, 60))
    })
  )

  it.live("an ask goes to the process that has the partition", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const half = (rest: number) =>
        Layer.succeed(
          Placement,
          Placement.of({
            place: (partitions, serve) =>
              Effect.forEach(
                Array.from({ length: partitions }, (_, partition) => partition).filter((one) => one % 2 === rest),
                (partition) => Effect.forkScoped(serve(partition)),
                { discard: true }
              ),
            owns: (partition) => Effect.succeed(partition % 2 === rest)
          })
        )
      const [even, odd] = yield* Effect.all(
        [0, 1].map((rest) => servingEngine({ ...options, partitions: 4, placement: half(rest) })),
        { concurrency: 2 }
      )
      for (const { engine } of [even!, odd!]) {
        yield* waitUntil(Effect.map(engine.status, (placed) => placed.length === 2))
        yield* engine.ready
      }
      const organizations = Array.from({ length: 20 }, (_, index) => `org_${index}`)
      for (const one of organizations) {
        for (const { engine } of [even!, odd!]) {
          yield* engine.ask(Counter, { organization: one }, { _tag: "Add", amount: 1 })
        }
        const rejected = yield* Effect.flip(
          even!.engine.ask(Counter, { organization: one }, { _tag: "AddUpTo", amount: 5, maximum: 3 })
        )
        assert.deepStrictEqual(rejected, { over: 2 })
        assert.strictEqual(yield* odd!.engine.ask(Counter, { organization: one }, { _tag: "Get" }), 2)
      }
    })
  )
})
