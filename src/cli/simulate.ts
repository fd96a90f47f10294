/**
 * `sluice simulate [--file rules.ts] [--of engine|send|webhooks|followers|owners] [--seeds 500] [--seed N] [--replay file.json] [--minutes 10]`: plays seeded scenarios against the
 * real engine, rules or dispatcher with simulated time, stores and faults. Needs no server. A failure is shrunk and shown with the command that
 * repeats it.
 */
import { readFile } from "node:fs/promises"
import { Clock, Console, Effect, Option } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { Marks } from "../simulation/index.ts"
import { describeReach } from "../simulation/rules/reach.ts"
import { type OwnRules, ownRulesOf } from "./ownRules.ts"
import { type Simulated, type SimulationName, simulations } from "./simulations.ts"

/**
 * Scenarios between two progress lines, where the command can be interrupted. Of the engine's the first of these is
 * played twice.
 */
const chunk = 50

const failed = (message: string) => new CliError.UserError({ cause: new Error(message), userMessage: message })

const replay = Effect.fnUntraced(function* (file: string, known: ReadonlyArray<Simulated>, of: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => failed(`${file} cannot be read`)
  })
  for (const simulated of known) {
    const played = yield* Effect.sync(() => simulated.replay(text))
    if (played === undefined) continue
    yield* Console.log(played.trace.join("\n"))
    if (played.finding === undefined) return yield* Console.log("nothing found")
    yield* Console.log(played.finding)
    return yield* failed(`the scenario fails. Repeat it with: sluice simulate --replay ${file}`)
  }
  return yield* failed(`${file} holds no scenario of ${of}`)
})

interface Campaign {
  readonly simulated: Simulated
  /** What the command that repeats a finding has before its seed. */
  readonly options: string
  readonly first: number
  readonly seeds: number
  readonly minutes: number | undefined
}

const run = Effect.fnUntraced(function* ({ first, minutes, options, seeds, simulated }: Campaign) {
  const { requiredMarks } = simulated
  const begunAt = yield* Clock.currentTimeMillis
  const endsAt = minutes === undefined ? Number.POSITIVE_INFINITY : begunAt + minutes * 60_000
  const marks = new Marks()
  const unreached = () => requiredMarks.filter((mark) => !marks.counts.has(mark))
  let played = 0
  while (played < seeds) {
    const now = yield* Clock.currentTimeMillis
    if (now >= endsAt) break
    const report = simulated.play(first + played, Math.min(chunk, seeds - played))
    played += report.played
    marks.add(report.marks)
    const seconds = ((yield* Clock.currentTimeMillis) - begunAt) / 1000
    const rate = (played / Math.max(seconds, 0.001)).toFixed(0)
    const ofAll = seeds === Number.POSITIVE_INFINITY ? "" : ` of ${seeds}`
    const ofMarks =
      requiredMarks.length === 0
        ? ""
        : `, ${requiredMarks.length - unreached().length} of ${requiredMarks.length} marks`
    yield* Console.error(`${played}${ofAll} scenarios, ${rate} a second${ofMarks}`)
    const { finding } = report
    if (finding !== undefined) {
      yield* Console.log(finding.text)
      const repeat = `sluice simulate${options} --seed ${finding.seed} --seeds 1`
      return yield* failed(`seed ${finding.seed} fails. Repeat it with: ${repeat}`)
    }
    yield* Effect.yieldNow
  }
  yield* Console.log(`${played} scenarios, nothing found`)
  const missing = unreached()
  if (missing.length > 0) yield* Console.log(`not reached: ${missing.join("; ")}`)
  return marks
})

/** Plays what a file exports, one after the other, and says what was reached of each. */
const runOwn = Effect.fnUntraced(function* (rules: ReadonlyArray<OwnRules>, given: Omit<Campaign, "simulated">) {
  for (const simulated of rules) {
    yield* Console.log(`${simulated.name}:`)
    const marks = yield* run({ ...given, simulated })
    yield* Console.log(describeReach(simulated.reachOf(marks)).join("\n"))
  }
})

export const simulate = Command.make(
  "simulate",
  {
    file: Flag.String("file").pipe(
      Flag.withDescription("Play the simulations of own rules that this file exports"),
      Flag.optional
    ),
    of: Flag.Literals("of", Object.keys(simulations) as ReadonlyArray<SimulationName>).pipe(
      Flag.withDescription(
        "What is played: the engine (unless told otherwise), accounts that send, webhook deliveries, followers of actors, or several owners"
      ),
      Flag.withDefault("engine" as SimulationName)
    ),
    seeds: Flag.Int("seeds").pipe(
      Flag.withDescription("Scenarios to play; 500 unless --minutes is given"),
      Flag.optional
    ),
    seed: Flag.Int("seed").pipe(Flag.withDescription("The first seed; drawn when left out"), Flag.optional),
    replay: Flag.String("replay").pipe(
      Flag.withDescription("Play a saved scenario instead, of any of them"),
      Flag.optional
    ),
    minutes: Flag.Int("minutes").pipe(Flag.withDescription("End after so many minutes"), Flag.optional)
  },
  (flags) =>
    Effect.gen(function* () {
      const file = Option.getOrUndefined(flags.file)
      const own = file === undefined ? undefined : yield* Effect.mapError(ownRulesOf(file), failed)
      if (Option.isSome(flags.replay))
        return yield* replay(
          flags.replay.value,
          own ?? Object.values(simulations),
          file ?? Object.keys(simulations).join(", ")
        )
      const minutes = Option.getOrUndefined(flags.minutes)
      const seeds = Option.getOrElse(flags.seeds, () => (minutes === undefined ? 500 : Number.POSITIVE_INFINITY))
      // Without a given seed, the run tries new ones.
      const drawn = (yield* Clock.currentTimeMillis) % 1_000_000_000
      if (seeds < 1 || Option.getOrElse(flags.seed, () => 0) < 0)
        return yield* failed("--seeds is at least 1, --seed at least 0")
      if (minutes !== undefined && minutes < 1) return yield* failed("--minutes is at least 1")
      const first = Option.getOrElse(flags.seed, () => drawn)
      if (own !== undefined) return yield* runOwn(own, { options: ` --file ${file}`, first, seeds, minutes })
      const options = flags.of === "engine" ? "" : ` --of ${flags.of}`
      yield* run({ simulated: simulations[flags.of], options, first, seeds, minutes })
    })
).pipe(
  Command.withDescription("Prove the engine and the products' rules: seeded scenarios with simulated time and faults")
)
