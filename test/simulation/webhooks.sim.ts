/**
 * Webhook deliveries under seeds: the real dispatcher, endpoint rules and matching over stores and receivers that fail. Every fault
 * is reached, the same seed gives the same run, and with one promise broken a checker complains.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { DispatcherPorts } from "../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import type { EndpointCommand } from "../../src/webhooks/endpoint/model.ts"
import { oneByOne, playUntilReached } from "./playUntilReached.ts"
import {
  describe as describeScenario,
  fromJson,
  generate,
  play,
  requiredMarks,
  type Scenario
} from "./webhooks/index.ts"

/** Scenarios that once failed, made small. */
const corpus = new URL("webhooks/", import.meta.url)

/** Seeds after which a broken promise counts as not noticed. */
const patience = 60

describe("webhook deliveries", () => {
  it("keep their promises under seeds that reach every fault", () => {
    const seeds = { rare: [616, 990, 411, 431, 214], first: 0, least: 20, most: 120, required: requiredMarks }
    playUntilReached(seeds, oneByOne(generate, play, describeScenario))
  })

  it.each(readdirSync(corpus).filter((name) => name.endsWith(".json")))("keep them in %s", (name) => {
    const scenario = fromJson(readFileSync(new URL(name, corpus), "utf8"))
    if (play(scenario).violation !== undefined) expect.fail(describeScenario(scenario))
  })

  it("go the same way each time", () => {
    for (const seed of [1, 8, 23]) {
      const [first, second] = [1, 2].map(() => play(generate(seed), { isTraced: true }))
      expect(first!.trace.length).toBeGreaterThan(100)
      expect(second!.trace).toEqual(first!.trace)
      expect(second!.fingerprint).toBe(first!.fingerprint)
    }
  })
})

type Change = (ports: DispatcherPorts) => DispatcherPorts

const ofStore =
  (change: (store: DispatcherPorts["store"]) => Partial<DispatcherPorts["store"]>): Change =>
  (ports) => ({ ...ports, store: { ...ports.store, ...change(ports.store) } })

/** The endpoint's actor gets another command instead of the ones left out. */
const without = (left: EndpointCommand["_tag"]): Change => {
  return (ports) => ({
    ...ports,
    actors: {
      ...ports.actors,
      tell: (address, command) => ports.actors.tell(address, command._tag === left ? { _tag: "Get" } : command)
    }
  })
}

/** Each breaks one promise behind the dispatcher's back. */
const broken: Readonly<Record<string, Change>> = {
  "a delivery is given up after its first failure": ofStore((store) => ({
    record: (outcomes, now) =>
      store.record(
        outcomes.map((outcome) =>
          outcome.result._tag === "Again" ? { ...outcome, result: { _tag: "Settled", status: "failed" } } : outcome
        ),
        now
      )
  })),
  "what waits in the store is not found": ofStore(() => ({ due: () => Effect.succeed([]) })),
  "retries come before their time": ofStore((store) => ({
    take: (partition, claims, options) => store.take(partition, claims, { ...options, now: options.now + 60_000 })
  })),
  "the endpoint does not hear of failures": without("RecordFailure"),
  "the endpoint does not hear of successes": without("RecordSuccess"),
  "the store shows every endpoint as active": ofStore((store) => ({
    endpoints: (known) =>
      Effect.map(store.endpoints(known), (all) =>
        all.map((folded) =>
          folded.endpoint === null
            ? folded
            : { ...folded, endpoint: { ...folded.endpoint, isActive: true, paused: null } }
        )
      )
  })),
  "the deliveries of a deleted endpoint stay": ofStore(() => ({ cancel: () => Effect.succeed(0) })),
  "another secret signs": (ports) => ({
    ...ports,
    secrets: {
      ...ports.secrets,
      open: (ids) =>
        Effect.map(
          ports.secrets.open(ids),
          (secrets) => new Map([...secrets].map(([id, secret]) => [id, `${secret}!`]))
        )
    }
  })
}

const isNoticed = (change: Change, scenarioOf: (seed: number) => Scenario = generate): boolean => {
  for (let seed = 0; seed < patience; seed++)
    if (play(scenarioOf(seed), { ports: change }).violation !== undefined) return true
  return false
}

describe("with a promise broken", () => {
  it.each(Object.entries(broken))("%s: it is noticed", (_name, change) => {
    expect(isNoticed(change)).toBe(true)
  })

  it("all endpoints share one connection: it is noticed", () => {
    const narrow = (seed: number): Scenario => {
      const scenario = generate(seed)
      return { ...scenario, topology: { ...scenario.topology, capacity: 1 } }
    }
    expect(isNoticed((ports) => ports, narrow)).toBe(true)
  })
})
