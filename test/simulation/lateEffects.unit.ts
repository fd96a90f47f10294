/** Effects of work that began before the machine went down or was healed, and end afterwards. */
import { describe, expect, it } from "@effect/vitest"
import { type Fault, type Outcome, play, type Scenario, type Step } from "../../src/simulation/index.ts"
import { bank } from "./bank/bank.ts"

const deposit = (id: string): Step => ({
  _tag: "Command",
  organization: "org_1",
  actor: "account",
  key: "a",
  command: { _tag: "Deposit", id, amount: 1 },
  to: "newest"
})

/** One process whose messages take up to 20 ms, with a checkpoint and a purge after each frame. */
const scenario = (faults: ReadonlyArray<Fault>, steps: ReadonlyArray<Step>): Scenario => ({
  seed: 1,
  workload: "bank",
  topology: {
    replicas: 1,
    partitions: 1,
    disorder: 0,
    sliceOperations: 2048,
    dragMicros: 0,
    latencyMicros: 20_000,
    logBytes: 64 * 1024 * 1024,
    oldFrames: 0,
    mailboxCapacity: 8_192,
    maximumActors: 1_000,
    maximumLaneActors: 1_000,
    checkpointFrames: 1,
    checkpointMillis: 60_000,
    idleMillis: 300_000,
    feedFrames: 64
  },
  faults,
  steps
})

/** Plays it with a pause of 0, 1, 2… milliseconds before its last steps, so that these come between all that happens meanwhile. */
const atEachMillisecond = (
  faults: ReadonlyArray<Fault>,
  last: ReadonlyArray<Step>,
  first: ReadonlyArray<Step> = [deposit("k1"), deposit("k2"), deposit("k3")].flatMap((step) => [
    step,
    { _tag: "Advance", millis: 150 }
  ])
): ReadonlyArray<Outcome> =>
  Array.from({ length: 120 }, (_, millis) =>
    play(scenario(faults, [...first, deposit("k4"), { _tag: "Advance", millis }, ...last]), bank, { isTraced: true })
  )

const violations = (outcomes: ReadonlyArray<Outcome>) => outcomes.flatMap(({ violation }) => violation ?? [])

describe("a machine that goes down", () => {
  it("given a request under way to its log, then the request is lost with it, a purge too", () => {
    const outcomes = atEachMillisecond(
      [],
      [
        { _tag: "LoseTail", frames: 2 },
        { _tag: "Advance", millis: 50 }
      ]
    )
    expect(violations(outcomes)).toEqual([])
    const lost = outcomes.filter(({ marks }) =>
      marks.counts.has("fault, log: a request under way was lost with the machine")
    )
    expect(lost.length).toBeGreaterThan(0)
  })
})

describe("healing", () => {
  const faults = [
    ["transact", "crash after the commit", "after a reactor's commit"],
    ["save", "crash before", "before a checkpoint was written"],
    ["save", "crash after", "after a checkpoint was written"],
    ["publish", "crash after the commit", "after a commit, before the ack"]
  ] as const

  it.each(
    faults
  )("given a fault that was taken before (%s: %s) and kills the process after it, then another one starts", (operation, kind, where) => {
    const outcomes = Array.from({ length: 4 }, (_, nth) => atEachMillisecond([{ operation, nth, kind }], [], [])).flat()
    expect(violations(outcomes)).toEqual([])
    const killedAfter = outcomes.filter(({ trace }) => {
      const healed = trace.findIndex((line) => line.endsWith(" healed"))
      return trace.findIndex((line) => line.endsWith(`p1 is killed ${where}`)) > healed
    })
    expect(killedAfter.length).toBeGreaterThan(0)
    for (const { trace } of killedAfter) expect(trace.some((line) => line.endsWith(" p2 starts"))).toBe(true)
  })
})
