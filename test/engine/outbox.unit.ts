/** Messages to other organizations as an embedder sees them (docs/outbox.md). */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Engine } from "../../src/engine/Engine.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import { outboxName } from "../../src/engine/outbox.ts"
import { breakingAmount, Purse, rejectedAmount, returnedAmount } from "../../src/simulation/purses.ts"
import { elapse, makeDeployment, partitionIn, type StartOptions, serving } from "./support/deployment.ts"

const purses: StartOptions = { actors: [Purse] }
const at = (organization: string, key = "a") => ({ organization, key })
const fund = (amount: number) => ({ _tag: "Fund" as const, name: "f", amount })
const send = (amount: number, ...to: ReadonlyArray<string>) => ({
  _tag: "Send" as const,
  name: "s",
  amount,
  to: to.map((organization) => ({ organization: organization as "org_1", key: "a" as const }))
})
const balances = (engine: Engine["Service"], ...organizations: ReadonlyArray<string>) =>
  Effect.forEach(organizations, (organization) => engine.state(Purse, at(organization)))

describe("a message to another organization", () => {
  it.effect("takes effect there, once its decision is stored", () =>
    Effect.gen(function* () {
      const deployment = makeDeployment()
      const { engine } = yield* serving(deployment, purses)
      yield* engine.ask(Purse, at("org_1"), fund(100))
      expect(yield* engine.ask(Purse, at("org_1"), send(5, "org_2", "org_3"))).toBe(90)
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2", "org_3")).toEqual([90, 5, 5])
      expect(partitionIn(engine).outbox.count).toBe(0)
      const frames = deployment.journal.log(0).frames.map(({ bytes }) => decodeFrame(bytes).records)
      expect(frames.at(-1)?.map(({ actor }) => `${actor.organization} ${actor.kind} ${actor.key}`)).toEqual([
        "org_2 purse a",
        "org_2 sluice.inbox 0",
        "org_3 purse a",
        "org_3 sluice.inbox 0"
      ])
    })
  )
  it.effect("may go to its own organization, be sent back, and is final when it is rejected", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving(makeDeployment(), purses)
      yield* engine.ask(Purse, at("org_1"), fund(100))
      yield* engine.ask(Purse, at("org_1"), send(5, "org_1"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_1")).toEqual([100])
      yield* engine.ask(Purse, at("org_1"), send(returnedAmount, "org_2"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2")).toEqual([100, 0])
      yield* engine.ask(Purse, at("org_1"), send(rejectedAmount, "org_2"))
      yield* engine.ask(Purse, at("org_1"), send(1, "org_2"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2")).toEqual([88, 1])
      yield* engine.ask(Purse, at("org_1"), send(breakingAmount, "org_2"))
      yield* engine.ask(Purse, at("org_1"), send(2, "org_2", "org_3"))
      yield* elapse(1)
      expect(yield* balances(engine, "org_1", "org_2", "org_3")).toEqual([67, 1, 2])
      expect(outboxName).toBe("sluice.outbox")
    })
  )
})
