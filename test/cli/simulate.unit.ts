/** `sluice simulate` as it is typed: how it ends, and what it prints. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Console, Effect } from "effect"
import { Command } from "effect/cli"
import { simulate } from "../../src/cli/simulate.ts"

/** A clock that goes on by so much at each look at it, so that a run of minutes takes none. */
const clockOf = (stepMillis: number, clock: Clock.Clock): Clock.Clock => {
  let now = 0
  const look = () => {
    now += stepMillis
    return now
  }
  return { ...clock, currentTimeMillisUnsafe: look, currentTimeMillis: Effect.sync(look) }
}

/** Runs the command; answers what it printed as its result and as its progress. */
const run = (args: ReadonlyArray<string>, stepMillis: number) =>
  Effect.gen(function* () {
    const results: Array<string> = []
    const progress: Array<string> = []
    const console: Console.Console = {
      ...globalThis.console,
      log: (...line) => void results.push(line.join(" ")),
      error: (...line) => void progress.push(line.join(" "))
    }
    const clock = clockOf(stepMillis, yield* Clock.Clock)
    yield* Command.runWith(simulate, { version: "0.0.0" })(args).pipe(
      Effect.provideService(Console.Console, console),
      Effect.provideService(Clock.Clock, clock)
    )
    return { results, progress }
  }).pipe(Effect.provide(NodeServices.layer))

describe("sluice simulate", () => {
  it.effect("goes on until its minutes are over, and then says what it has played", () =>
    Effect.gen(function* () {
      const { progress, results } = yield* run(["--minutes", "1", "--seed", "0"], 15_000)
      // Begun at 15 s; looked at before and after each piece: at 30 s, 45 s, 60 s and 75 s, when the minute is over.
      expect(progress.length).toBe(2)
      expect(progress.at(-1)).toMatch(/^100 scenarios, \d+ a second, \d+ of \d+ marks$/)
      expect(results[0]).toBe("100 scenarios, nothing found")
    })
  )

  it.effect("plays no more than its seeds, however much time is left", () =>
    Effect.gen(function* () {
      const { progress, results } = yield* run(["--minutes", "600", "--seeds", "3", "--seed", "7"], 1)
      expect(progress.length).toBe(1)
      expect(progress[0]).toMatch(/^3 of 3 scenarios, /)
      expect(results[0]).toBe("3 scenarios, nothing found")
    })
  )

  it.effect.each(["send", "webhooks"])("plays %s, and tells what so few seeds have not reached", (of) =>
    Effect.gen(function* () {
      const { progress, results } = yield* run(["--of", of, "--seeds", "2", "--seed", "0"], 1)
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
      const { results } = yield* run(["--replay", new URL(`../simulation/${name}`, import.meta.url).pathname], 1)
      expect(results[0]!.split("\n").length).toBeGreaterThan(20)
      expect(results[1]).toBe("nothing found")
    })
  )

  it.effect("says so where a file holds no scenario", () =>
    Effect.gen(function* () {
      const file = new URL("../../package.json", import.meta.url).pathname
      const error = yield* Effect.flip(run(["--replay", file], 1))
      expect(String(error)).toContain("holds no scenario of engine, send, webhooks")
    })
  )
})
