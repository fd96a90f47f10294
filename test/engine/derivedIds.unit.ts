/** Rule 8: no id is given twice, whatever it names: ids that decisions ask for, ids of events, of one frame and of many, before and after a restart. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/engine/Actor.ts"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import type { Reactor } from "../../src/engine/Reactor.ts"
import { Counter } from "./support/actors.ts"
import { makeDeployment, serving } from "./support/deployment.ts"
import { Burst } from "./support/loads.ts"

const settle = Effect.repeat(TestClock.adjust("3 seconds"), { times: 5 })

/** Collects the ids of events. */
const eventIds = (ids: Array<string>): Reactor<never> => ({
  name: "ids",
  handle: (records) =>
    Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) =>
      onCommit(() => {
        for (const record of records) if (record._tag === "Event") ids.push(record.id)
      })
    )
})

/** Gives ids; its state is changed in place. */
const Stamp = Actor.make<"stamp" | "break", "stamped" | "broken", { count: number }, string>({
  kind: "stamp",
  command: Schema.Literals(["stamp", "break"]),
  fact: Schema.Literals(["stamped", "broken"]),
  state: Schema.Struct({ count: Schema.mutableKey(Schema.Number) }),
  reply: Schema.String,
  initial: () => ({ count: 0 }),
  copy: (state) => ({ ...state }),
  decide: (_, command, context) =>
    Actor.decided({ facts: [command === "stamp" ? ("stamped" as const) : ("broken" as const)], reply: context.id(0) }),
  evolve: (state, fact) => {
    if (fact === "broken") throw new Error("this fact cannot be applied")
    state.count++
    return state
  }
})

describe("ids", () => {
  it.effect("given many decisions in few frames, then those they ask for and those of events are all different", () =>
    Effect.gen(function* () {
      const ofEvents: Array<string> = []
      const deployment = makeDeployment()
      const { engine, stop } = yield* serving(deployment, { actors: [Burst], reactors: [eventIds(ofEvents)] })
      const asks = (round: number) =>
        Effect.all(
          Array.from({ length: 40 }, (_, n) =>
            engine.ask(Burst, { organization: `org_${n}` }, { facts: 1 + (n % 3), events: 2 + round, ids: 10 })
          ),
          { concurrency: "unbounded" }
        )
      const asked = [...(yield* asks(0)), ...(yield* asks(1)), ...(yield* asks(2))].flat()
      yield* settle
      yield* stop
      // Many decisions shared a frame: that is where ids come near each other.
      expect(deployment.journal.log(0).frames.length).toBeLessThan(20)
      expect(asked.length).toBe(1_200)
      expect(ofEvents.length).toBe(40 * (2 + 3 + 4))
      expect(new Set([...asked, ...ofEvents]).size).toBe(asked.length + ofEvents.length)
    })
  )

  it.effect("given an engine that starts again, then its ids are others than before", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const ids: Array<string> = []
      for (let life = 0; life < 4; life++) {
        const { engine, stop } = yield* serving(deployment, { actors: [Burst] })
        ids.push(...(yield* engine.ask(Burst, { organization: "org_1" }, { facts: 1, ids: 5 })))
        yield* stop
      }
      expect(new Set(ids).size).toBe(20)
    })
  )

  it.effect(
    "given a decision that is made again because another one of its drain broke, then what it answers is what is stored",
    () =>
      Effect.gen(function* () {
        const deployment = makeDeployment()
        const { engine, stop } = yield* serving(deployment)
        const identify = (organization: string) => engine.ask(Counter, { organization }, { _tag: "Identify" })
        const asking = yield* Effect.forkChild(
          Effect.all(
            [
              identify("a"),
              Effect.result(engine.ask(Counter, { organization: "b" }, { _tag: "BreakEvolve" })),
              identify("c")
            ],
            { concurrency: "unbounded" }
          )
        )
        yield* TestClock.adjust("10 seconds")
        const [first, broken, second] = yield* Fiber.join(asking)
        expect(broken._tag).toBe("Failure")
        expect(first).not.toBe(second)
        yield* stop
        const stored = deployment.journal.log(0).frames.map(({ bytes }) => Buffer.from(bytes).toString("utf8"))
        for (const id of [first, second]) expect(stored.filter((text) => text.includes(String(id)))).toHaveLength(1)
      }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("given a drain that is decided many times over, then its ids do not run out", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), { actors: [Stamp] })
      const organizations = Array.from({ length: 12 }, (_, n) => ({ organization: `org_${n}` }))
      // All in one drain: each organization breaks it once, behind what it stamps.
      const of = (organization: { readonly organization: string }) => [
        ...Array.from({ length: 40 }, () => Effect.result(engine.ask(Stamp, organization, "stamp"))),
        Effect.result(engine.ask(Stamp, organization, "break"))
      ]
      const results = yield* Effect.all(organizations.flatMap(of), { concurrency: "unbounded" })
      const stamps = results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
      expect(new Set(stamps).size).toBe(12 * 40)
      expect(results.length - stamps.length).toBe(12)
    }).pipe(Effect.provide(Logger.layer([])))
  )
})
