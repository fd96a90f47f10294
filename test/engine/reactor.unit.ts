/** Rule 11: reactors, their cursors, parking, and where their records come from; and external signals. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as SignalsMemory from "../../src/engine/memory/SignalsMemory.ts"
import { retryParked } from "../../src/engine/operator/parkedRecords.ts"
import { Cursors, CursorsUnavailable, ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import { Signals, SignalsUnavailable } from "../../src/engine/ports/Signals.ts"
import { combine, type Reactor } from "../../src/engine/Reactor.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { Counter } from "./support/actors.ts"
import { type Deployment, makeDeployment, type StartOptions, serving } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const add = (amount: number, event = false) => ({ _tag: "Add" as const, amount, event })

const amountOf = (record: LogRecord): number =>
  record._tag === "Fact" ? (record.fact as { readonly amount: number }).amount : Number.NaN

/** A reactor that writes down what it does, in the transaction. */
const recorder = (done: Array<string>, problem?: (record: LogRecord) => boolean): Reactor<never> => ({
  name: "recorder",
  handle: (records) =>
    Effect.gen(function* () {
      const transaction = yield* ReactorTransaction
      for (const record of records) {
        if (problem?.(record) === true) return yield* Effect.fail(new Error(`cannot work on ${amountOf(record)}`))
        transaction.onCommit(() => done.push(`${record.organization}:${amountOf(record)}`))
      }
    })
})

/** Lets all fibers finish what they can within a minute: each step of time gives them turns. */
const settle = Effect.repeat(TestClock.adjust("3 seconds"), { times: 19 })

const askAll = (deployment: Deployment, options: StartOptions, asks: ReadonlyArray<readonly [string, number]>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine, stop } = yield* serving(deployment, options)
      for (const [organization, amount] of asks) {
        yield* engine.ask(Counter, { organization }, add(amount))
        yield* Effect.yieldNow
      }
      yield* settle
      yield* stop
    })
  )

const cursorOf = (deployment: Deployment) => deployment.cursors.cursors.get("0/recorder")?.sequence

describe("rule 11, reactors", () => {
  it.effect(
    "given facts and events, then a reactor gets them once, in order, with their places, and its cursor follows",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const seen: Array<LogRecord> = []
        const reactor: Reactor<never> = {
          name: "recorder",
          handle: (records) =>
            Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) => onCommit(() => seen.push(...records)))
        }
        const { engine } = yield* serving(deployment, { reactors: [reactor] })
        yield* engine.ask(Counter, { organization: "org_1" }, add(1, true))
        yield* engine.ask(Counter, { organization: "org_2", key: "k" }, add(2))
        yield* settle
        expect(seen).toMatchObject([
          { _tag: "Fact", sequence: 2, index: 0, organization: "org_1", kind: "counter", key: "", fact: { amount: 1 } },
          { _tag: "Event", sequence: 2, index: 1, organization: "org_1", event: { type: "counter.added" } },
          { _tag: "Fact", sequence: 3, index: 0, organization: "org_2", key: "k", fact: { amount: 2 } }
        ])
        expect(cursorOf(deployment)).toBe(3)
      })
  )

  it.effect("given records read from the log after a restart, then they are the same as from memory", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const live: Array<LogRecord> = []
      const late: Array<LogRecord> = []
      const into = (list: Array<LogRecord>): Reactor<never> => ({
        name: "recorder",
        handle: (records) =>
          Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) => onCommit(() => list.push(...records)))
      })
      const first = yield* serving(deployment, { reactors: [into(live)] })
      for (let n = 1; n <= 5; n++) yield* first.engine.ask(Counter, { organization: `org_${n}` }, add(n, n % 2 === 0))
      yield* settle
      yield* first.stop
      yield* serving({ ...deployment, cursors: CursorsMemory.makeStore() }, { reactors: [into(late)] })
      yield* settle
      expect(live.length).toBe(7)
      expect(late).toEqual(live)
    })
  )

  it.effect("given a feed in memory that is too small, then the reactor reads on in the log", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const done: Array<string> = []
      const asks = Array.from({ length: 300 }, (_, n) => [`org_${n % 3}`, n] as const)
      const slow = recorder(done)
      const reactor: Reactor<never> = {
        ...slow,
        handle: (records) => Effect.andThen(Effect.sleep("1 second"), slow.handle(records))
      }
      yield* askAll(deployment, { reactors: [reactor], config: { feedFrames: 4 } }, asks)
      expect(done).toEqual(asks.map(([organization, n]) => `${organization}:${n}`))
    })
  )

  it.effect("given a restart between batches, then nothing is done twice or left out", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const done: Array<string> = []
      const options = { reactors: [recorder(done)] }
      yield* askAll(deployment, options, [
        ["a", 1],
        ["b", 2]
      ])
      yield* askAll(deployment, options, [["a", 3]])
      yield* askAll(deployment, options, [["b", 4]])
      expect(done).toEqual(["a:1", "b:2", "a:3", "b:4"])
    })
  )

  it.effect("given a store that is away for a while, then the batch is done once when it is back", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const done: Array<string> = []
      const port = CursorsMemory.make(deployment.cursors)
      let failures = 3
      const flaky: Cursors["Service"] = {
        ...port,
        transact: (move, effects) =>
          failures-- > 0 ? Effect.fail(new CursorsUnavailable({ message: "away" })) : port.transact(move, effects)
      }
      const cursorsLayer = Layer.succeed(Cursors, flaky)
      yield* askAll(deployment, { reactors: [recorder(done)], cursorsLayer }, [
        ["a", 1],
        ["b", 2]
      ])
      expect(done).toEqual(["a:1", "b:2"])
    })
  )

  it.effect("given a commit whose answer was lost, then its effects are not done again", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const done: Array<string> = []
      const port = CursorsMemory.make(deployment.cursors)
      let lose = true
      const flaky: Cursors["Service"] = {
        ...port,
        transact: (move, effects) =>
          Effect.flatMap(port.transact(move, effects), (value) => {
            if (!lose) return Effect.succeed(value)
            lose = false
            return Effect.fail(new CursorsUnavailable({ message: "answer lost" }))
          })
      }
      yield* askAll(deployment, { reactors: [recorder(done)], cursorsLayer: Layer.succeed(Cursors, flaky) }, [["a", 1]])
      expect(done).toEqual(["a:1"])
    })
  )

  it.effect("given a second owner that moved the cursor, then the first's transaction rolls back", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const done: Array<string> = []
      const slow = recorder(done)
      let waits = true
      const zombie: Reactor<never> = {
        ...slow,
        handle: (records) =>
          Effect.andThen(
            Effect.suspend(() => (waits ? Effect.sleep("10 seconds") : Effect.void)),
            slow.handle(records)
          )
      }
      const first = yield* serving(deployment, { reactors: [zombie] })
      yield* first.engine.ask(Counter, { organization: "a" }, add(1))
      yield* TestClock.adjust(0)
      yield* serving(deployment, { reactors: [slow] })
      yield* TestClock.adjust("1 second")
      expect(done).toEqual(["a:1"])
      waits = false
      yield* settle
      expect(done).toEqual(["a:1"])
    })
  )

  it.effect(
    "given a record that cannot be processed, then it and its organization's later ones are parked, and no others",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const done: Array<string> = []
        let broken = true
        const reactor = recorder(done, (record) => broken && amountOf(record) === 13)
        yield* askAll(deployment, { reactors: [reactor] }, [
          ["a", 1],
          ["b", 13],
          ["a", 2],
          ["b", 3],
          ["c", 4]
        ])
        expect(done).toEqual(["a:1", "a:2", "c:4"])
        const parked = deployment.cursors.parked
        expect(parked.map(({ organization }) => organization)).toEqual(["b", "b"])
        expect(parked[0]?.error).toContain("cannot work on 13")
        expect(parked[1]?.error).toContain("behind")

        // A restart does not forget it.
        yield* askAll(deployment, { reactors: [reactor] }, [
          ["b", 5],
          ["a", 6]
        ])
        expect(done).toEqual(["a:1", "a:2", "c:4", "a:6"])

        broken = false
        const { engine } = yield* serving(deployment, { reactors: [reactor] })
        expect(yield* retryParked(engine, 0, "recorder", "b")).toEqual({ retried: 3, left: 0 })
        yield* engine.ask(Counter, { organization: "b" }, add(7))
        yield* settle
        expect(done).toEqual(["a:1", "a:2", "c:4", "a:6", "b:13", "b:3", "b:5", "b:7"])
      })
  )

  it.effect("given several parts as one reactor, then they share a cursor and a transaction", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const done: Array<string> = []
      let broken = true
      const reactor = combine("recorder", [
        { handle: recorder(done).handle },
        { wants: (record) => record._tag === "Event", handle: () => (broken ? Effect.fail("no") : Effect.void) }
      ])
      const { engine } = yield* serving(deployment, { reactors: [reactor] })
      yield* engine.ask(Counter, { organization: "a" }, add(1, true))
      yield* TestClock.adjust("100 millis")
      expect(done).toEqual([])
      broken = false
      yield* settle
      expect(done.length).toBe(2)
    })
  )
})

describe("external signals", () => {
  const signals = {
    added: ({ data, organization }: { readonly data: Uint8Array; readonly organization: string }) => {
      const amount = Number(Buffer.from(data).toString())
      if (Number.isNaN(amount)) throw new Error("no number")
      return { actor: Counter, key: "", command: amount < 0 ? { _tag: "BreakEvolve" } : add(amount), organization }
    },
    ignored: () => undefined
  }
  const publish = (deployment: Deployment, organization: string, kind: string, data: string, id?: string) =>
    SignalsMemory.make(deployment.signals).publish({ organization, kind, data: Buffer.from(data), id })

  it.effect("given signals, then each counts once, across restarts and lost acks", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const first = yield* serving(deployment, { signals, journalLayer: faulty.layer })
      faulty.publishes.push("none", "ack lost after commit", "request lost")
      for (let n = 1; n <= 20; n++) {
        yield* publish(deployment, `org_${n % 2}`, "added", "1", `id-${n}`)
        yield* TestClock.adjust("10 millis")
      }
      yield* settle
      yield* first.stop
      for (let n = 15; n <= 30; n++) yield* publish(deployment, `org_${n % 2}`, "added", "1", `id-${n}`)
      const second = yield* serving(deployment, { signals })
      yield* settle
      expect(yield* second.engine.state(Counter, { organization: "org_0" })).toMatchObject({ total: 15 })
      expect(yield* second.engine.state(Counter, { organization: "org_1" })).toMatchObject({ total: 15 })
    })
  )

  it.effect("given a store of signals that is away for minutes, then operators are told, and nothing is missed", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const deployment = makeDeployment()
      const store = SignalsMemory.make(deployment.signals)
      let isAway = true
      const away = Stream.suspend(() => Stream.fail(new SignalsUnavailable({ message: "the stream is gone" })))
      const signalsLayer = Layer.succeed(
        Signals,
        Signals.of({
          ...store,
          subscribe: (partition, after) => Stream.suspend(() => (isAway ? away : store.subscribe(partition, after)))
        })
      )
      const { engine } = yield* serving(deployment, { signals, signalsLayer })
      yield* publish(deployment, "org_1", "added", "7")
      yield* TestClock.adjust("150 seconds")
      expect(lines).toEqual(Array(3).fill(expect.stringMatching(/^partition 0 gets no signals .*the stream is gone/)))
      isAway = false
      yield* TestClock.adjust("1 second")
      expect(yield* engine.state(Counter, { organization: "org_1" })).toMatchObject({ total: 7 })
      expect(lines.length).toBe(3)
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])))
  })

  it.effect(
    "given signals that mean nothing, cannot be read, or break their actor, then the ones behind them are processed",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine } = yield* serving(deployment, { signals })
        for (const [kind, data] of [
          ["unknown", "1"],
          ["ignored", "1"],
          ["added", "nonsense"],
          ["added", "-1"],
          ["added", "5"]
        ] as const)
          yield* publish(deployment, "org_1", kind, data)
        yield* settle
        yield* engine.ready
        expect(yield* engine.state(Counter, { organization: "org_1" })).toMatchObject({ total: 5 })
      })
  )

  it.effect("given a full log, then signals wait and are processed once when there is room", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* serving(deployment, { signals, journalLayer: faulty.layer })
      faulty.publishes.push({ _tag: "answer", answer: { _tag: "Full" } }, { _tag: "answer", answer: { _tag: "Full" } })
      yield* publish(deployment, "org_1", "added", "3")
      yield* settle
      expect(yield* engine.state(Counter, { organization: "org_1" })).toMatchObject({ total: 3 })
    })
  )

  it.effect("given very many signals, then they are held back in their store, and all are processed", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const faulty = makeFaultyLog(deployment.journal)
      faulty.publishes.push("none", { _tag: "slow", waitMillis: 500 })
      const { engine } = yield* serving(deployment, { signals, journalLayer: faulty.layer })
      const all = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 2_000 }), () => publish(deployment, "org_1", "added", "1"), {
          discard: true
        })
      )
      yield* Fiber.join(all)
      yield* settle
      expect(yield* engine.ask(Counter, { organization: "org_1" }, { _tag: "Get" })).toBe(2_000)
    })
  )
})
