/** `sluice simulate` as it is typed: how it ends, and what it prints. */
import "effect/schema/SchemaJITCompiler/enable"
import { readFileSync } from "node:fs"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Console, Effect } from "effect"
import { Command } from "effect/cli"
import { simulate, simulateKnown } from "../../src/cli/simulate.ts"
import { simulations } from "../simulation/simulations.ts"

const known = simulateKnown(simulations, { command: "npm run simulate --", standard: "engine" })

/** A clock that goes on by so much at each look at it, so that a run of minutes takes none. */
const clockOf = (stepMillis: number, clock: Clock.Clock): Clock.Clock => {
  let now = 0
  const look = () => {
    now += stepMillis
    return now
  }
  return { ...clock, currentTimeMillisUnsafe: look, currentTimeMillis: Effect.sync(look) }
}

/** Runs a command; answers what it printed as its result and as its progress. */
const running = (
  command: typeof simulate | typeof known,
  args: ReadonlyArray<string>,
  stepMillis: number,
  results: Array<string> = []
) =>
  Effect.gen(function* () {
    const progress: Array<string> = []
    const console: Console.Console = {
      ...globalThis.console,
      log: (...line) => void results.push(line.join(" ")),
      error: (...line) => void progress.push(line.join(" "))
    }
    const clock = clockOf(stepMillis, yield* Clock.Clock)
    yield* Command.runWith(command as typeof simulate, { version: "0.0.0" })(args).pipe(
      Effect.provideService(Console.Console, console),
      Effect.provideService(Clock.Clock, clock)
    )
    return { results, progress }
  }).pipe(Effect.provide(NodeServices.layer))

/** `sluice simulate`, over the rules of a file. */
const run = (args: ReadonlyArray<string>, stepMillis: number, results?: Array<string>) =>
  running(simulate, args, stepMillis, results)

/** `npm run simulate`, over Sluice's own programs. */
const runKnown = (args: ReadonlyArray<string>, stepMillis: number) => running(known, args, stepMillis)

describe("sluice simulate", () => {
  it.effect("goes on until its minutes are over, and then says what it has played", () =>
    Effect.gen(function* () {
      const { progress, results } = yield* runKnown(["--of", "webhooks", "--minutes", "1", "--seed", "0"], 15_000)
      // Begun at 15 s; looked at before and after each piece: at 30 s, 45 s, 60 s and 75 s, when the minute is over.
      expect(progress.length).toBe(2)
      expect(progress.at(-1)).toMatch(/^40 scenarios, \d+ a second, \d+ of \d+ marks$/)
      expect(results[0]).toBe("40 scenarios, nothing found")
    })
  )

  it.effect("plays no more than its seeds, however much time is left", () =>
    Effect.gen(function* () {
      const { progress, results } = yield* runKnown(["--minutes", "600", "--seeds", "3", "--seed", "7"], 1)
      expect(progress.length).toBe(1)
      expect(progress[0]).toMatch(/^3 of 3 scenarios, /)
      expect(results[0]).toBe("3 scenarios, nothing found")
    })
  )

  it.effect.each(["send", "webhooks"])("plays %s, and tells what so few seeds have not reached", (of) =>
    Effect.gen(function* () {
      const { progress, results } = yield* runKnown(["--of", of, "--seeds", "2", "--seed", "0"], 1)
      expect(progress[0]).toMatch(/^2 of 2 scenarios, /)
      expect(results[0]).toBe("2 scenarios, nothing found")
      expect(results[1]).toMatch(of === "send" ? /^not reached: send, / : /^not reached: send: /)
    })
  )

  it.effect.each([
    "corpus/idle-owner-whose-successor-died-timer.json",
    "send/admitted-with-the-end-of-probation.json",
    "webhooks/rate-of-a-deleted-endpoint.json"
  ])("plays the saved scenario %s, whichever it is of", (name) =>
    Effect.gen(function* () {
      const { results } = yield* runKnown(["--replay", new URL(`../simulation/${name}`, import.meta.url).pathname], 1)
      expect(results[0]!.split("\n").length).toBeGreaterThan(20)
      expect(results[1]).toBe("nothing found")
    })
  )

  it.effect("says so where a file holds no scenario", () =>
    Effect.gen(function* () {
      const file = new URL("../../package.json", import.meta.url).pathname
      const error = yield* Effect.flip(runKnown(["--replay", file], 1))
      expect(String(error)).toContain("holds no scenario of engine, send, webhooks")
    })
  )

  const transfers = new URL("../simulation/example/transfers.ts", import.meta.url).pathname

  it.effect("plays the rules of a file, and says what it has reached of them", () =>
    Effect.gen(function* () {
      const { progress, results } = yield* run(["--file", transfers, "--seeds", "6", "--seed", "3"], 1)
      expect(progress[0]).toMatch(/^6 of 6 scenarios, \d+ a second$/)
      expect(results.slice(0, 2)).toEqual(["transfers:", "6 scenarios, nothing found"])
      expect(results[2]).toMatch(
        /account Open: \d+ accepted, \d+ rejected\n {2}account Transfer: \d+ accepted, \d+ rejected/
      )
      expect(results[2]).toMatch(/\d+ starts, \d+ actors read again, \d+ jumps in time/)
      expect(results[2]).not.toContain("WARNING")
    })
  )

  it("plays the program that the guide shows", () => {
    const guide = readFileSync(new URL("../../docs/simulation.md", import.meta.url), "utf8")
    const [, shown] = /```ts\n\/\/ transfers\.ts\n([\s\S]*?)```/.exec(guide)!
    const program = readFileSync(transfers, "utf8")
    expect(shown).toBe(
      program
        .replace("../../../src/index.ts", "sluice")
        .replace("../../../src/simulation/index.ts", "sluice/simulation")
    )
  })

  it.effect("warns of what it has not reached", () =>
    Effect.gen(function* () {
      const file = new URL("../simulation/example/neverPaid.ts", import.meta.url).pathname
      const { results } = yield* run(["--file", file, "--seeds", "5", "--seed", "3"], 1)
      expect(results[2]).toContain("WARNING: account never accepted Transfer")
    })
  )

  it.effect("repeats a finding in rules of a file from its seed, and from its scenario", () =>
    Effect.gen(function* () {
      const file = new URL("../simulation/example/forgotten.ts", import.meta.url).pathname
      const error = yield* Effect.flip(run(["--file", file, "--seeds", "50", "--seed", "3"], 1))
      const [, seed] = /seed (\d+) fails. Repeat it with: sluice simulate --file \S+ --seed \1 --seeds 1/.exec(
        String(error)
      )!
      const again = yield* Effect.flip(run(["--file", file, "--seeds", "1", "--seed", seed!], 1))
      expect(String(again)).toBe(String(error))
    })
  )

  it.effect("prints what it has found at once, and again when it is small", () =>
    Effect.gen(function* () {
      const file = new URL("../simulation/example/forgotten.ts", import.meta.url).pathname
      const results: Array<string> = []
      yield* Effect.flip(run(["--file", file, "--seeds", "50", "--seed", "3"], 1, results))
      const [, first = "", small = ""] = results
      expect(first).toMatch(/^seed \d+: .*\n {2}.*\nfound with \d+ steps and \d+ faults, and not made small yet$/)
      expect(small.trim().split("\n")[0]).toBe(first.split("\n")[0])
      expect(small).toContain("shrunk from")
    })
  )

  it.effect.each([
    ["that is not there", "./noSuchRules.ts", "cannot be loaded"],
    ["without simulations", "../../src/common/backoff.ts", "exports no simulation"]
  ])("says so when a file is one %s", ([_name, name, sentence]) =>
    Effect.gen(function* () {
      const file = new URL(name!, import.meta.url).pathname
      const error = yield* Effect.flip(run(["--file", file], 1))
      expect(String(error)).toContain(sentence)
    })
  )
})
