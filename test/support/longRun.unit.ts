/** The command line of long runs: options with their bounds, the report, the exit code, signals. */
import { EventEmitter } from "node:events"
import { existsSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import {
  BadOptions,
  describeViolations,
  exitCodeOf,
  type LongRun,
  type Means,
  namedSeed,
  playBriefly,
  seconds,
  text,
  whole
} from "./longRun.ts"
import { inRunFolder, untilInterrupted } from "./runFolder.ts"

const options = {
  rounds: whole("rounds of faults", 20, 1, 1_000),
  pause: seconds("how long what is stopped stays so", 12, 1, 600),
  seed: namedSeed,
  fault: text("only such faults")
}

interface Seen {
  readonly rounds: number
  readonly pause: number
  readonly seed: string
  readonly fault: string | undefined
}

const runWith = async (args: ReadonlyArray<string>, more: Partial<LongRun<typeof options, Seen>> = {}) => {
  const lines: Array<string> = []
  const errors: Array<string> = []
  const signals = new EventEmitter()
  let seen: Seen | undefined
  const code = await exitCodeOf(
    {
      script: "test:made-up",
      options,
      run: async ({ fault, pause, rounds, seed, tell }) => {
        seen = { rounds, pause, seed, fault }
        tell("it goes on")
        return seen
      },
      describe: ({ rounds }) => `${rounds} rounds`,
      failed: () => false,
      ...more
    },
    args,
    { out: (line) => lines.push(line), error: (line) => errors.push(line), signals }
  )
  return { code, errors: errors.join("\n"), lines, seen }
}

describe("a long run", () => {
  it("is given its options or what they are without", async () => {
    expect((await runWith([])).seen).toMatchObject({ rounds: 20, pause: 12, fault: undefined })
    const { code, lines, seen } = await runWith(["--rounds", "3", "--pause=1.5", "--seed", "s", "--fault", "cut"])
    expect({ code, lines }).toEqual({ code: 0, lines: ["it goes on", "3 rounds"] })
    expect(seen).toEqual({ rounds: 3, pause: 1.5, seed: "s", fault: "cut" })
  })

  it.each([
    [["--rounds", "0"], "--rounds must be 1 to 1,000"],
    [["--rounds", "1001"], "--rounds must be 1 to 1,000"],
    [["--rounds", "1.5"], "--rounds must be 1 to 1,000"],
    [["--rounds", ""], "--rounds must be 1 to 1,000"],
    [["--pause", "long"], "--pause must be 1 to 600"],
    [["--unknown", "1"], "--unknown"],
    [["more"], "more"]
  ])("is refused with %j", async (args, message) => {
    const { code, errors, lines, seen } = await runWith(args)
    expect({ code, lines, seen }).toEqual({ code: 2, lines: [], seen: undefined })
    expect(errors).toContain(message)
    expect(errors).toContain("Usage: npm run test:made-up")
  })

  it("shows its options, their bounds and what they are without", async () => {
    const { code, lines, seen } = await runWith(["--help"])
    expect({ code, seen }).toEqual({ code: 0, seen: undefined })
    expect(lines.join("\n").split("\n")).toEqual([
      "Usage: npm run test:made-up [-- options]",
      "",
      "  --rounds n     rounds of faults, 1 to 1,000; default 20",
      "  --pause n      how long what is stopped stays so, 1 to 600; default 12",
      "  --seed text    repeats the choices of an earlier run; default random",
      "  --fault text   only such faults"
    ])
  })

  it("ends with 1 where it failed, and with 2 where the run itself finds its options wrong", async () => {
    expect((await runWith([], { failed: () => true })).code).toBe(1)
    const broken = await runWith([], { run: () => Promise.reject(new Error("it broke")) })
    expect(broken).toMatchObject({ code: 1, errors: "it broke" })
    const wrong = await runWith([], { run: () => Promise.reject(new BadOptions("no such fault")) })
    expect(wrong.code).toBe(2)
    expect(wrong.errors).toContain("no such fault\n\nUsage")
  })

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143]
  ] as const)("ends with what it has started at %s", async (name, expected) => {
    const signals = new EventEmitter()
    const ended: Array<string> = []
    let folder = ""
    const run = ({ signal }: Means) =>
      inRunFolder("made-up", signal, async (made, atEnd) => {
        folder = made
        atEnd(() => ended.push("first"))
        atEnd(() => ended.push("second"))
        signals.emit(name)
        return new Promise<never>(() => {})
      })
    const terminal = { out: () => {}, error: () => {}, signals }
    const program = { script: "test:made-up", options: {}, run, describe: () => "", failed: () => false }
    expect(await exitCodeOf(program, [], terminal)).toBe(expected)
    expect(ended).toEqual(["second", "first"])
    expect(existsSync(folder)).toBe(false)
  })

  it("within a test answers its report, and fails as it does", async () => {
    expect(await playBriefly(async () => 7, String)).toBe(7)
    await expect(playBriefly(() => Promise.reject(new Error("it broke")), String)).rejects.toThrow("it broke")
  })
})

describe("an interruption", () => {
  it("that came before is one, and none leaves the work alone", async () => {
    await expect(untilInterrupted(AbortSignal.abort(), new Promise(() => {}))).rejects.toThrow("interrupted")
    expect(await untilInterrupted(new AbortController().signal, Promise.resolve(1))).toBe(1)
    expect(await untilInterrupted(undefined, Promise.resolve(2))).toBe(2)
  })
})

describe("work that goes on when its run is over", () => {
  it("cannot start anything that is left behind", async () => {
    const stopped = new AbortController()
    const ended: Array<string> = []
    const gone = Promise.withResolvers<void>()
    const late = Promise.withResolvers<unknown>()
    const run = inRunFolder("made-up", stopped.signal, async (_, atEnd) => {
      await gone.promise
      try {
        atEnd(() => ended.push("late"))
      } catch (error) {
        late.resolve(error)
      }
    })
    stopped.abort()
    await expect(run).rejects.toThrow("interrupted")
    gone.resolve()
    expect(await late.promise).toEqual(new Error("the run is over"))
    expect(ended).toEqual(["late"])
  })
})

describe("violations", () => {
  it("are counted and shown, as far as they are few", () => {
    expect(describeViolations([], "all is well")).toBe("all is well")
    expect(describeViolations(["one"], "all is well", 9)).toBe("9 VIOLATIONS, among them:\n    one")
    expect(describeViolations(Array.from({ length: 30 }, String), "all is well").split("\n")).toHaveLength(21)
  })
})
