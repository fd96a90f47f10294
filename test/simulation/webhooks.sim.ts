/**
 * Webhook deliveries under a fixed set of seeds: the real dispatcher, endpoint rules and matching over stores and receivers that fail. Every fault
 * is reached, the same seed gives the same run, and with one promise broken a checker complains.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  describe as describeScenario,
  generate,
  operations,
  play,
  type Sabotage,
  type Scenario
} from "../../src/simulation/webhooks/index.ts"

/** The fixed set: seeds from 0. */
const seeds = 120

/** Scenarios that once failed, made small. */
const corpus = new URL("webhooks/", import.meta.url)

/** Seeds after which a sabotage counts as not noticed. */
const patience = 60

/** What else a campaign must have reached. */
const others = [
  "crash",
  "restart",
  "retry",
  "replay",
  "clock stopped",
  "a well endpoint among others",
  "a well endpoint among others, tested"
]

describe("webhook deliveries", () => {
  it(`keep their promises under ${seeds} seeds, which reach every fault`, () => {
    const reached = new Set<string>()
    for (let seed = 0; seed < seeds; seed++) {
      const { marks, violation } = play(generate(seed))
      if (violation !== undefined) expect.fail(describeScenario(generate(seed)))
      for (const mark of marks.counts.keys()) reached.add(mark)
    }
    const faults = Object.entries(operations).flatMap(([operation, kinds]) =>
      kinds.map((kind) => `${operation}: ${kind}`)
    )
    expect([...faults, ...others].filter((mark) => !reached.has(mark))).toEqual([])
  })

  it.each(readdirSync(corpus))("keep them in %s", (name) => {
    const scenario = JSON.parse(readFileSync(new URL(name, corpus), "utf8")) as Scenario
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

/** Each breaks one promise behind the dispatcher's back. */
const sabotages: Readonly<Record<string, Sabotage>> = {
  "a delivery is given up after its first failure": {
    store: (store) => ({
      ...store,
      record: (outcomes, now) =>
        store.record(
          outcomes.map((outcome) =>
            outcome.result._tag === "Again" ? { ...outcome, result: { _tag: "Settled", status: "failed" } } : outcome
          ),
          now
        )
    })
  },
  "what waits in the store is not found": { store: (store) => ({ ...store, due: () => Effect.succeed([]) }) },
  "retries come before their time": {
    store: (store) => ({
      ...store,
      take: (partition, claims, options) => store.take(partition, claims, { ...options, now: options.now + 60_000 })
    })
  },
  "the endpoint does not hear of failures": { hears: ({ _tag }) => _tag !== "RecordFailure" },
  "the endpoint does not hear of successes": { hears: ({ _tag }) => _tag !== "RecordSuccess" },
  "the store shows every endpoint as active": {
    store: (store) => ({
      ...store,
      endpoints: (known) =>
        Effect.map(store.endpoints(known), (all) =>
          all.map((folded) =>
            folded.endpoint === null
              ? folded
              : { ...folded, endpoint: { ...folded.endpoint, isActive: true, paused: null } }
          )
        )
    })
  },
  "the deliveries of a deleted endpoint stay": { store: (store) => ({ ...store, cancel: () => Effect.succeed(0) }) },
  "all endpoints share one connection": { capacity: { main: 1, slow: 1 } },
  "another secret signs": { secret: (secret) => `${secret}!` }
}

describe("with a promise broken", () => {
  it.each(Object.entries(sabotages))("%s: it is noticed", (_name, sabotage) => {
    for (let seed = 0; seed < patience; seed++) if (play(generate(seed), { sabotage }).violation !== undefined) return
    expect.fail(`not noticed in ${patience} seeds`)
  })
})
