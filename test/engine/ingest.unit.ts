/** Ingests over an engine in memory (docs/streams.md): each message counts once, whatever happens between two of them, and none is lost silently. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import { formatLevels } from "../../src/common/formatLevels.ts"
import * as Actor from "../../src/engine/Actor.ts"
import { partitionOf } from "../../src/engine/address.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as Ingest from "../../src/engine/Ingest.ts"
import { maximumFailedSignals, maximumQueuedSignals } from "../../src/engine/limits.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as ProgramStreamsMemory from "../../src/engine/memory/ProgramStreamsMemory.ts"
import * as Parked from "../../src/engine/Parked.ts"
import { Cursors, CursorsUnavailable } from "../../src/engine/ports/Cursors.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"
import { ProgramStreams } from "../../src/engine/ports/ProgramStreams.ts"
import {
  type Deployment,
  elapse,
  makeDeployment,
  partitionIn,
  type StartOptions,
  serving
} from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const broken = { on: new Set<number>() }

/** Keeps what it was told, in order. */
const Book = Actor.make({
  kind: "book",
  command: Schema.Int,
  fact: Schema.Int,
  state: Schema.Array(Schema.Int),
  initial: (): ReadonlyArray<number> => [],
  evolve: (pages, page: number) => [...pages, page],
  decide: (_, page) => {
    if (broken.on.has(page)) throw new Error(`cannot write ${page}`)
    if (page < 0) return Actor.rejected({ _tag: "Refused" } as const)
    return Actor.decided({ facts: [page] })
  }
})

const partitions = 3
const organizations = ["org_1", "org_2", "org_3", "org_4", "org_5", "org_6"]

const orders = (more: Partial<Ingest.IngestOptions> = {}) =>
  Ingest.jetStream({
    name: "orders",
    stream: "orders",
    subject: "orders.*",
    organization: ({ subject }) => subject.split(".")[1],
    toCommand: (message) => {
      const page = Ingest.json(message)
      return page === null ? undefined : Ingest.command(Book, "", page as number)
    },
    ...more
  })

const starting = (deployment: Deployment, ingest: Ingest.Ingest = orders(), options: StartOptions = {}) =>
  serving(deployment, { actors: [Book], ingests: [ingest], config: { partitions }, ...options })

const append = (deployment: Deployment, organization: string, page: unknown) =>
  ProgramStreamsMemory.make(deployment.streams).publish({
    subject: `orders.${organization}`,
    data: Buffer.from(typeof page === "string" ? page : JSON.stringify(page))
  })

const pages = (engine: Engine.Engine["Service"], organization: string) => engine.state(Book, { organization, key: "" })

const asked = <A, E>(engine: Engine.Engine["Service"], effect: Effect.Effect<A, E, Engine.Engine>) =>
  Effect.provideService(effect, Engine.Engine, engine)

const begun = (ingest?: Ingest.Ingest, options?: StartOptions) =>
  Effect.gen(function* () {
    broken.on.clear()
    const deployment = makeDeployment({ partitions: options?.config?.partitions ?? partitions })
    return { deployment, ...(yield* starting(deployment, ingest, options)) }
  })

const gauge = (name: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all.flatMap((one) => (one.id === name ? [(one.state as { readonly value: number }).value] : []))
  )

describe("an ingest", () => {
  it.effect("has each message decided once, in the order of its organization, across restarts and take-overs", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions })
      let { engine, stop } = yield* starting(deployment)
      let page = 0
      const publish = Effect.forEach(organizations, (organization) => append(deployment, organization, ++page))
      for (let round = 0; round < 8; round++) {
        yield* publish
        yield* elapse(0.5, 100)
        yield* publish
        // A graceful end, or a second process that takes the partitions from one that has just read more.
        if (round % 2 === 0) {
          yield* stop
          ;({ engine, stop } = yield* starting(deployment))
        } else {
          const before = stop
          ;({ engine, stop } = yield* starting(deployment))
          yield* before
        }
      }
      yield* elapse(5)
      for (const [at, organization] of organizations.entries()) {
        const expected = Array.from({ length: 16 }, (_, round) => round * organizations.length + at + 1)
        assert.deepStrictEqual(yield* pages(engine, organization), expected)
      }
    })
  )

  it.effect("decides a message once whose frame's answer was lost, and one whose frame was not stored", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions: 1 })
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* starting(deployment, orders(), {
        journalLayer: faulty.layer,
        config: { partitions: 1 }
      })
      yield* elapse(1)
      for (const fault of ["ack lost after commit", "request lost", "none", "request late"] as const) {
        faulty.publishes.push(fault)
        yield* append(deployment, "org_1", faulty.attempts.length)
        yield* append(deployment, "org_1", faulty.attempts.length)
        yield* elapse(2)
        faulty.deliverLate()
      }
      yield* elapse(15)
      const found = yield* pages(engine, "org_1")
      const published = deployment.streams.streams.get("orders")!.messages.map((one) => Ingest.json(one) as number)
      assert.deepStrictEqual(found, published)
    })
  )

  it.effect("skips a message that means nothing, and parks one that cannot be read, of no organization too", () =>
    Effect.gen(function* () {
      const { deployment, engine, stop } = yield* begun()
      yield* append(deployment, "org_1", null)
      yield* append(deployment, "org_1", "many")
      yield* append(deployment, "org_1", 1)
      yield* append(deployment, "a".repeat(300), 2)
      yield* append(deployment, "org_1", "1.5")
      yield* elapse(8)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1])
      const list = yield* asked(engine, Parked.list("sluice.ingest.orders", { limit: 10 }))
      assert.strictEqual(list.records, 3)
      const nobody = list.organizations.find(({ organization }) => organization.startsWith("-"))!.organization
      const errors = yield* Effect.forEach(["org_1", nobody], (organization) =>
        asked(engine, Parked.show("sluice.ingest.orders", organization, 10))
      )
      assert.match(errors[0]![0]!.error, /SyntaxError/)
      assert.match(errors[0]![1]!.error, /toCommand made no command of book/)
      assert.match(errors[1]![0]!.error, /cannot name an organization/)
      yield* stop
      // A repaired program decides them.
      const repaired = orders({
        organization: () => "org_2",
        toCommand: ({ sequence }) => Ingest.command(Book, "", sequence)
      })
      const again = (yield* starting(deployment, repaired)).engine
      const retry = (organization: string) => asked(again, Parked.retry("sluice.ingest.orders", organization))
      assert.deepStrictEqual(yield* retry("org_1"), { retried: 2, left: 0 })
      assert.deepStrictEqual(yield* retry(nobody), { retried: 1, left: 0 })
      assert.deepStrictEqual(yield* pages(again, "org_2"), [2, 5, 4])
    })
  )

  it.effect("parks a message on which its actor fails, and goes on; a rejection is a decision", () =>
    Effect.gen(function* () {
      const { deployment, engine } = yield* begun()
      broken.on.add(2)
      for (const page of [1, 2, -3, 4]) yield* append(deployment, "org_1", page)
      yield* elapse(2)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1, 4])
      const parked = yield* asked(engine, Parked.show("sluice.ingest.orders", "org_1", 10))
      assert.deepStrictEqual(
        parked.map(({ error }) => error),
        ["CommandFailed: the rule of book failed on this command: Error: cannot write 2"]
      )
      broken.on.clear()
      assert.isTrue((yield* asked(engine, Parked.retry("sluice.ingest.orders", "org_1"))).left === 0)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1, 4, 2])
    })
  )

  it.effect("waits behind a message that cannot be parked now", () =>
    Effect.gen(function* () {
      const real = CursorsMemory.make(CursorsMemory.makeStore())
      const store = { isAway: true }
      const away = Effect.fail(new CursorsUnavailable({ message: "away" }))
      const flaky = Cursors.of({
        ...real,
        unpark: (records, effects) => Effect.suspend(() => (store.isAway ? away : real.unpark(records, effects)))
      })
      const { deployment, engine } = yield* begun(undefined, { cursorsLayer: Layer.succeed(Cursors, flaky) })
      yield* append(deployment, "org_1", "many")
      yield* append(deployment, "org_1", 2)
      yield* elapse(3)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [])
      const states = yield* asked(engine, Ingest.status)
      assert.deepInclude(states[partitionOf("org_1", partitions)], { state: "away", ingest: "orders" })
      store.isAway = false
      yield* elapse(10)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [2])
    })
  )

  it.effect("begins where it is told the first time, and from its own place ever after", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions })
      yield* TestClock.setTime(1_000_000)
      yield* append(deployment, "org_1", 1)
      yield* append(deployment, "org_1", 2)
      yield* TestClock.setTime(2_000_000)
      yield* append(deployment, "org_1", 3)
      const found = Effect.fnUntraced(function* (name: string, from: Ingest.IngestStart) {
        const on = { ...makeDeployment({ partitions }), streams: deployment.streams }
        const first = yield* starting(on, orders({ name, from }))
        yield* elapse(1)
        const before = yield* pages(first.engine, "org_1")
        yield* first.stop
        yield* append(deployment, "org_1", 9)
        const second = yield* starting(on, orders({ name, from }))
        yield* elapse(1)
        const after = yield* pages(second.engine, "org_1")
        yield* second.stop
        return [before, after.slice(before.length)]
      })
      assert.deepStrictEqual(yield* found("all", "beginning"), [[1, 2, 3], [9]])
      assert.deepStrictEqual(yield* found("new", "new"), [[], [9]])
      assert.deepStrictEqual(yield* found("second", { sequence: 2 }), [[2, 3, 9, 9], [9]])
      assert.deepStrictEqual(yield* found("late", { timeMillis: 1_500_000 }), [[3, 9, 9, 9], [9]])
    })
  )

  it.effect("stops where its stream has dropped what it has not read, and goes on when an operator says so", () =>
    Effect.gen(function* () {
      const { deployment, engine, stop } = yield* begun()
      yield* append(deployment, "org_1", 1)
      yield* elapse(6)
      yield* stop
      for (const page of [2, 3, 4]) yield* append(deployment, "org_1", page)
      ProgramStreamsMemory.purge(deployment.streams, "orders", 4)
      const again = (yield* starting(deployment)).engine
      yield* elapse(2)
      const [state] = yield* asked(again, Ingest.status)
      assert.deepInclude(state, { state: "stopped", place: 1 })
      assert.include(state!.reason, "the stream orders begins at 4, and 1 was processed")
      assert.deepStrictEqual(yield* pages(again, "org_1"), [1])
      assert.include(yield* gauge("sluice_ingest_stopped"), 1)
      const resume = (ingest: string) => asked(again, Ingest.resume({ ingest, from: "beginning" }))
      assert.strictEqual((yield* Effect.flip(resume("clicks"))).message, "no ingest is named clicks")
      for (const from of [{ sequence: 7.5 }, { sequence: Number.NaN }, { sequence: 0 }, { timeMillis: 9e15 }]) {
        const refused = yield* Effect.flip(asked(again, Ingest.resume({ ingest: "orders", from })))
        assert.include(refused.message, "from must be")
      }
      assert.deepStrictEqual(
        yield* asked(again, Ingest.resume({ ingest: "orders", from: { sequence: 99 } })),
        [0, 1, 2]
      )
      yield* elapse(1)
      const [beyond] = yield* asked(again, Ingest.status)
      assert.deepStrictEqual(
        [beyond!.state, beyond!.reason],
        ["stopped", "its stream ends at 4, before the sequence 99"]
      )
      assert.deepStrictEqual(yield* resume("orders"), [0, 1, 2])
      yield* elapse(1)
      assert.deepStrictEqual(yield* pages(again, "org_1"), [1, 4])
      assert.notInclude(yield* gauge("sluice_ingest_stopped"), 1)
      assert.deepStrictEqual(yield* resume("orders"), [])
      assert.deepStrictEqual(
        yield* pages(engine, "org_1").pipe(
          Effect.option,
          Effect.map(({ _tag }) => _tag)
        ),
        "None"
      )
    })
  )

  it.effect("parks every message on which its actor fails, however many come and however slowly they are parked", () =>
    Effect.gen(function* () {
      const real = CursorsMemory.make(CursorsMemory.makeStore())
      const slow = Cursors.of({
        ...real,
        unpark: (records, effects) => Effect.andThen(Effect.sleep(2), real.unpark(records, effects))
      })
      const { deployment, engine } = yield* begun(undefined, {
        cursorsLayer: Layer.succeed(Cursors, slow),
        config: { partitions: 1 }
      })
      // More than may wait to be parked, and as many as are kept of each organization.
      const count = organizations.length * 900
      assert.isAbove(count, maximumFailedSignals)
      for (let page = 1; page <= count; page++) {
        broken.on.add(page)
        yield* append(deployment, organizations[page % organizations.length]!, page)
      }
      yield* elapse(60)
      const { records } = yield* asked(engine, Parked.list("sluice.ingest.orders", { limit: 10 }))
      assert.strictEqual(records, count)
    })
  )

  it.effect("stops where its stream was made anew, and does not take its messages for old ones", () =>
    Effect.gen(function* () {
      const { deployment, stop } = yield* begun()
      for (const page of [1, 2, 3]) yield* append(deployment, "org_1", page)
      yield* elapse(1)
      yield* stop
      const anew = { ...deployment, streams: makeDeployment().streams }
      yield* append(anew, "org_1", 10)
      const { engine } = yield* starting(anew)
      yield* elapse(1)
      const state = (yield* asked(engine, Ingest.status))[partitionOf("org_1", partitions)]
      assert.include(state?.reason, "it was made anew or has lost its end")
      yield* asked(engine, Ingest.resume({ ingest: "orders", from: { sequence: 1 } }))
      yield* elapse(1)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1, 2, 3, 10])
    })
  )

  it.effect("stores its place where it decides nothing, so that others' messages may be dropped meanwhile", () =>
    Effect.gen(function* () {
      const { deployment, engine, stop } = yield* begun()
      for (let page = 1; page <= 5; page++) yield* append(deployment, "org_1", page)
      yield* elapse(7)
      const places = [0, 1, 2].map((id) => partitionIn(engine, id).core.head.ingests?.orders)
      assert.deepStrictEqual(places, [5, 5, 5])
      // Once it is stored, a partition without work writes no more frames for it.
      const quiet = [0, 1, 2].map((id) => partitionIn(engine, id).core.head.sequence)
      yield* elapse(20)
      assert.deepStrictEqual(
        [0, 1, 2].map((id) => partitionIn(engine, id).core.head.sequence),
        quiet
      )
      yield* stop
      ProgramStreamsMemory.purge(deployment.streams, "orders", 6)
      const again = (yield* starting(deployment)).engine
      yield* append(deployment, "org_2", 6)
      yield* elapse(1)
      assert.isTrue((yield* asked(again, Ingest.status)).every(({ state }) => state === "following"))
      assert.deepStrictEqual(yield* pages(again, "org_2"), [6])
    })
  )

  it.effect("reads ahead by a bounded number of messages while the log stores nothing", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions: 1 })
      const faulty = makeFaultyLog(deployment.journal)
      const { engine } = yield* starting(deployment, orders(), {
        journalLayer: faulty.layer,
        config: { partitions: 1 }
      })
      yield* elapse(1)
      faulty.disconnected = true
      const count = 4 * maximumQueuedSignals
      for (let page = 1; page <= count; page++) yield* append(deployment, "org_1", page)
      yield* elapse(1)
      const { signals } = partitionIn(engine).core.probe.counts
      const behind = Math.max(...(yield* gauge("sluice_ingest_behind")))
      // Before a failure is said, because the engine could not stop.
      faulty.disconnected = false
      yield* elapse(20)
      assert.isAtMost(signals, maximumQueuedSignals)
      assert.isAtLeast(behind, 1)
      assert.lengthOf(yield* pages(engine, "org_1"), count)
    })
  )

  it.effect("reads again in its next life what it had read and not stored", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions: 1 })
      const faulty = makeFaultyLog(deployment.journal)
      const config = { partitions: 1 }
      const { engine } = yield* starting(deployment, orders(), { journalLayer: faulty.layer, config })
      yield* append(deployment, "org_1", 1)
      yield* elapse(1)
      faulty.disconnected = true
      for (let page = 2; page <= 400; page++) yield* append(deployment, "org_1", page)
      yield* elapse(1)
      // Another process, which has no ingest, takes the partition for a moment.
      const { stop } = yield* serving(deployment, { actors: [Book], config })
      yield* stop
      faulty.disconnected = false
      yield* elapse(40)
      assert.deepStrictEqual(
        yield* pages(engine, "org_1"),
        Array.from({ length: 400 }, (_, index) => index + 1)
      )
    })
  )

  it.effect("writes no place while an older program may own the partition next", () =>
    Effect.gen(function* () {
      const inForce = { level: formatLevels.ingestPlaces - 1 }
      const placementLayer = Layer.effect(
        Placement,
        Effect.map(Effect.service(Placement), (placement) => Placement.of({ ...placement, level: () => inForce.level }))
      ).pipe(Layer.provide(layerLocal))
      const { deployment, engine } = yield* begun(undefined, { placementLayer })
      yield* append(deployment, "org_1", 1)
      yield* elapse(5)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [])
      const versions = () =>
        [0, 1, 2].flatMap((id) =>
          deployment.journal
            .log(id)
            .frames.map(({ bytes }) => (JSON.parse(Buffer.from(bytes).toString()) as { readonly v: number }).v)
        )
      assert.notInclude(versions(), 3)
      inForce.level = formatLevels.ingestPlaces
      yield* elapse(3)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1])
      assert.include(versions(), 3)
    })
  )

  it.effect("reads the subjects of its partition alone where the stream has them apart", () =>
    Effect.gen(function* () {
      const ingest = orders({
        subject: (partition, all) => `orders.${partition}_${all}.*`,
        organization: ({ subject }) => subject.split(".")[2]
      })
      const { deployment, engine } = yield* begun(ingest)
      const own = (organization: string) => `${partitionOf(organization, partitions)}_${partitions}.${organization}`
      yield* append(deployment, own("org_1"), 1)
      yield* append(deployment, own("org_2"), 2)
      yield* elapse(1)
      assert.deepStrictEqual([yield* pages(engine, "org_1"), yield* pages(engine, "org_2")], [[1], [2]])
      const wrong = (partitionOf("org_1", partitions) + 1) % partitions
      yield* append(deployment, `${wrong}_${partitions}.org_1`, 3)
      yield* elapse(1)
      const states = yield* asked(engine, Ingest.status)
      assert.deepStrictEqual(
        states.map(({ state }) => state === "stopped"),
        [0, 1, 2].map((id) => id === wrong)
      )
      assert.include(states[wrong]!.reason, "the stream's own transform")
    })
  )

  it.effect("stops, and not its partition, when its own functions are wrong", () =>
    Effect.gen(function* () {
      const subject = () => {
        throw new Error("no subjects")
      }
      const { engine } = yield* begun(orders({ subject }))
      yield* elapse(1)
      const [state] = yield* asked(engine, Ingest.status)
      assert.deepInclude(state, { state: "stopped", reason: "its subjects cannot be named: Error: no subjects" })
      yield* engine.ask(Book, { organization: "org_1" }, 1)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1])
    })
  )

  it.effect("keeps the place of an ingest that the program leaves out, and takes it up again there", () =>
    Effect.gen(function* () {
      const { deployment, stop } = yield* begun()
      yield* append(deployment, "org_1", 1)
      yield* elapse(1)
      yield* stop
      const without = yield* serving(deployment, { actors: [Book], config: { partitions } })
      yield* without.engine.ask(Book, { organization: "org_1" }, 2)
      yield* without.stop
      yield* append(deployment, "org_1", 3)
      const { engine } = yield* starting(deployment)
      yield* elapse(1)
      assert.deepStrictEqual(yield* pages(engine, "org_1"), [1, 2, 3])
      const last = [0, 1, 2].map((id) => decodeFrame(deployment.journal.log(id).frames.at(-1)!.bytes).ingests)
      assert.isTrue(last.every((places) => places?.orders !== undefined))
    })
  )

  it.effect("is refused without streams, in words", () =>
    Effect.gen(function* () {
      const layer = Engine.layerMemory({ actors: [Book], ingests: [orders()] })
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.include(refused.message, "provide ProgramStreams")
    })
  )

  it.effect("works with the engine in memory", () =>
    Effect.gen(function* () {
      const layer = Engine.layerMemory({ actors: [Book], ingests: [orders()] }).pipe(
        Layer.provideMerge(ProgramStreamsMemory.layerMemory({ orders: ["orders.>"] }))
      )
      const program = Effect.gen(function* () {
        const streams = yield* Effect.service(ProgramStreams)
        const engine = yield* Effect.service(Engine.Engine)
        yield* streams.publish({ subject: "orders.org_1", data: Buffer.from("7") })
        yield* elapse(1)
        return yield* pages(engine, "org_1")
      })
      assert.deepStrictEqual(yield* Effect.provide(program, layer), [7])
    })
  )
})
