/** Messages to partitions that are away or in another process, and between programs of different versions (docs/outbox.md). */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import { partitionOf } from "../../src/engine/address.ts"
import { maximumMessageBytes } from "../../src/engine/limits.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { listParked, showParkedRecords } from "../../src/engine/operator/parkedRecords.ts"
import { outboxName } from "../../src/engine/outbox.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import { Remote } from "../../src/engine/ports/Remote.ts"
import { deliver } from "../../src/engine/shell/remote/deliverMessages.ts"
import { breakingAmount, Purse, rejectedAmount } from "../simulation/bank/transfers.ts"
import { shown } from "./example/transfers.ts"
import { Counter } from "./support/actors.ts"
import { elapse, makeDeployment, partitionIn, type StartOptions, serving, start } from "./support/deployment.ts"
import { at, balances, cursorOf, fund, funded, measured, metricOf, purses, send } from "./support/purses.ts"

/** Two partitions, of which a process runs some. */
const owning = (...owned: ReadonlyArray<number>): StartOptions => ({
  ...purses,
  config: { partitions: 2 },
  placementLayer: Layer.succeed(
    Placement,
    Placement.of({
      place: (_, serve) =>
        Effect.forEach(owned, (id) => Effect.forkScoped(serve(id), { startImmediately: true }), { discard: true }),
      owns: () => Effect.succeed(true)
    })
  )
})
const here = partitionOf("org_1", 2)
const there = partitionOf("org_2", 2)

describe("a message to a partition that is away", () => {
  const away = Effect.gen(function* () {
    const deployment = makeDeployment({ partitions: 2 })
    const running = yield* funded(deployment, owning(here))
    yield* running.engine.ask(Purse, at("org_1"), send(5, "org_2", "org_2"))
    yield* elapse(3)
    return { deployment, ...running }
  })

  it.effect("is in another one", () => Effect.sync(() => expect(here).not.toBe(there)))

  it.effect("waits in the log, and is seen waiting", () =>
    Effect.gen(function* () {
      const { deployment, engine, stop } = yield* away
      expect(partitionIn(engine, here).outbox.count).toBe(2)
      expect((yield* metricOf("sluice_outbox_backlog")).map(({ value }) => value)).toContain(2)
      expect(cursorOf(deployment, here)).toBeLessThan(3)
      yield* stop
      const { engine: whole } = yield* serving(deployment, owning(here, there))
      yield* elapse(2)
      expect(yield* balances(whole, "org_1", "org_2")).toEqual([90, 10])
      expect(partitionIn(whole, here).outbox.count).toBe(0)
    }).pipe(measured)
  )

  it.effect("is parked when it waits for long, so that the log can be purged, and is sent by itself", () =>
    Effect.gen(function* () {
      const { deployment, engine, stop } = yield* away
      yield* elapse(70)
      expect(partitionIn(engine, here).outbox.count).toBe(0)
      expect(cursorOf(deployment, here)).toBe(partitionIn(engine, here).core.head.sequence)
      yield* engine.ask(Purse, at("org_1"), send(1, "org_2"))
      yield* elapse(2)
      expect(yield* listParked(engine, outboxName, { limit: 5 })).toMatchObject({ records: 3 })
      yield* stop
      const { engine: whole } = yield* serving(deployment, owning(here, there))
      yield* elapse(25)
      expect(yield* balances(whole, "org_1", "org_2")).toEqual([89, 11])
      expect(yield* listParked(whole, outboxName, { limit: 5 })).toMatchObject({ records: 0 })
    })
  )
})

const Newer = Actor.make({
  ...Purse.options,
  version: 2,
  upcastFact: { 1: (fact) => fact },
  upcastState: { 1: (state) => state }
})

describe("a message and programs of different versions", () => {
  it.effect("waits for a program that knows its version", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment({ partitions: 2 })
      const newer = yield* serving(deployment, { ...owning(here), actors: [Newer] })
      yield* newer.engine.ask(Newer, at("org_1"), fund(100))
      yield* newer.engine.ask(Newer, at("org_1"), send(5, "org_2"))
      yield* elapse(1)
      // The receiver's process still runs the program before.
      const older = yield* serving(deployment, owning(there))
      const message = { organization: "org_2", kind: "purse", key: "a", version: 2, command: null }
      const letters = [{ origin: [1, 3, 1] as const, message }]
      const [answer] = yield* deliver(partitionIn(older.engine, there).context, here, "org_2", letters)
      expect(answer).toMatchObject({ _tag: "PartitionUnavailable", reason: expect.stringContaining("of version 2") })
    })
  )

  it.effect("whose command its receiver cannot read is parked", () =>
    Effect.gen(function* () {
      const Other = Actor.make({ ...Purse.options, command: Schema.Struct({ other: Schema.String }) as never })
      const deployment = makeDeployment({ partitions: 2 })
      const before = yield* funded(deployment, owning(here))
      yield* before.engine.ask(Purse, at("org_1"), send(5, "org_2"))
      yield* elapse(1)
      yield* before.stop
      const { engine } = yield* start(deployment, { ...owning(here, there), actors: [Other] })
      yield* elapse(3)
      const [first] = yield* showParkedRecords(engine, outboxName, "org_2", 5)
      expect(first!.error).toContain("not a command for purse")
    })
  )
})

/** Sends whatever it is told to. */
const senderOf = (...messages: ReadonlyArray<Actor.Message>) =>
  Actor.make<null, null, null>({
    kind: "sender",
    command: Schema.Null,
    fact: Schema.Null,
    state: Schema.Null,
    initial: () => null,
    decide: () => Actor.decided({ messages }),
    evolve: (state) => state
  })

const Echo = Actor.makeStateless<null>({ kind: "echo", command: Schema.Null, decide: () => Actor.decided({}) })
const note = (text: string) => ({ _tag: "Note" as const, text })
const toCounter = (organization: string, key: string, text: string) =>
  Actor.message(Counter, organization, key, note(text))

describe("a message that cannot be sent is a fault of its rule, which fails alone", () => {
  it.effect.each([
    ["an unknown actor", [Actor.message(Purse, "org_2", "a", fund(1))], "purse, which is not an actor of this engine"],
    ["an actor without a state", [Actor.message(Echo, "org_2", "", null)], "echo, which has no state"],
    ["no organization", [toCounter("org 2", "", "x")], '"org 2", which cannot name an organization'],
    ["a key that is none", [toCounter("org_2", "\0", "x")], "the key of an actor has a zero byte in it"],
    [
      "a command that its schema refuses",
      [Actor.message(Counter, "org_2", "", { _tag: "Shout" } as never)],
      "SchemaError"
    ],
    ["one too large", [toCounter("org_2", "", "x".repeat(maximumMessageBytes))], "at most 65536 are allowed"],
    ["too many", Array.from({ length: 1_025 }, () => toCounter("org_2", "", "x")), "it sends 1025 messages"],
    ["no list", "messages" as never, "facts, others, events and messages are arrays"]
  ] as ReadonlyArray<readonly [string, ReadonlyArray<Actor.Message>, string]>)("%s", ([, messages, reason]) =>
    Effect.gen(function* () {
      const Sender = { ...senderOf(), options: { ...senderOf().options, decide: () => Actor.decided({ messages }) } }
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment, { actors: [Sender as Actor.AnyActor, Counter, Echo] })
      const failed = yield* Effect.flip(engine.ask(Sender as Actor.AnyActor, at("org_1"), null))
      expect(failed).toMatchObject({ _tag: "CommandFailed", reason: expect.stringContaining(reason) })
      expect(deployment.journal.log(0).frames).toHaveLength(1)
    })
  )

  it.effect("counts to the size of its decision", () =>
    Effect.gen(function* () {
      const Sender = senderOf(...Array.from({ length: 9 }, () => toCounter("org_2", "", "x".repeat(60_000))))
      const { engine } = yield* serving(makeDeployment(), { actors: [Sender, Counter] })
      expect(yield* Effect.flip(engine.ask(Sender, at("org_1"), null))).toMatchObject({ _tag: "DecisionTooLarge" })
    })
  )
})

describe("a message to a partition in another process", () => {
  /** Two processes, each with a partition; `edit` changes the answers on their way. */
  const apart = (edit: (answer: string) => string) =>
    Effect.gen(function* () {
      const remote = RemoteMemory.make(RemoteMemory.makeStore())
      const remoteLayer = Layer.succeed(
        Remote,
        Remote.of({
          ...remote,
          serve: (partition, handle, of) =>
            remote.serve(
              partition,
              (payload, more) =>
                Effect.map(handle(payload, more), (answer) => {
                  const text = Buffer.from(answer).toString()
                  // An owner's word on its epoch alone is left as it is.
                  return text.includes("delivered") ? Buffer.from(edit(text)) : answer
                }),
              of
            )
        })
      )
      const deployment = makeDeployment({ partitions: 2 })
      const far = yield* serving(deployment, { ...owning(there), remoteLayer })
      const near = yield* funded(deployment, { ...owning(here), remoteLayer })
      return { far: far.engine, near: near.engine }
    })

  it.effect("is taken in there, and a rejection is final", () =>
    Effect.gen(function* () {
      const { far, near } = yield* apart((answer) => answer)
      yield* near.ask(Purse, at("org_1"), send(5, "org_2", "org_2"))
      yield* near.ask(Purse, at("org_1"), send(rejectedAmount, "org_2"))
      yield* near.ask(Purse, at("org_1"), send(breakingAmount, "org_2"))
      yield* elapse(2)
      expect(yield* balances(far, "org_2")).toEqual([10])
      const [first] = yield* showParkedRecords(near, outboxName, "org_2", 5)
      expect(first!.error).toContain("this amount breaks the rule")
    })
  )

  it.effect("given an answer that is lost, then it is sent again and taken in once", () =>
    Effect.gen(function* () {
      let answers = 0
      const { far, near } = yield* apart((answer) => (answers++ < 3 ? "lost" : answer))
      yield* near.ask(Purse, at("org_1"), send(5, "org_2"))
      // Each time for as long as it may take an owner to say that an outcome is not known.
      yield* elapse(45)
      expect(answers).toBe(4)
      expect(yield* balances(far, "org_2")).toEqual([5])
      expect(partitionIn(near, here).outbox.count).toBe(0)
    })
  )

  it.effect("given an owner that knows no messages, then it waits", () =>
    Effect.gen(function* () {
      const error = { _tag: "CommandInvalid", kind: "?", reason: "it is not among the engine's actors" }
      const { far, near } = yield* apart(() => JSON.stringify({ epoch: 1, error }))
      yield* near.ask(Purse, at("org_1"), send(5, "org_2"))
      yield* elapse(5)
      expect(partitionIn(near, here).outbox.count).toBe(1)
      expect(far.partitions).toBe(2)
    })
  )
})

describe("the example of the document", () => {
  it.live("does what it says", () =>
    Effect.gen(function* () {
      expect(yield* shown).toEqual([70, 130])
    })
  )

  it("is the program that runs here", () => {
    const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8")
    const [, documented] = /```ts\n\/\/ transfers\.ts\n([\s\S]*?)```/.exec(read("../../docs/outbox.md"))!
    const run = /pay\.pipe\(.*$/m
    const program = read("example/transfers.ts").replace('"../../../src/index.ts"', '"sluice"')
    expect(documented!.slice(0, documented!.lastIndexOf("console.log"))).toBe(
      program.slice(0, program.lastIndexOf("export const shown"))
    )
    expect(documented).toContain(run.exec(program)![0])
  })
})
