/**
 * `sluice simulate --file rules.ts [--seeds 500] [--seed N] [--minutes 10] [--replay finding.json]`: plays seeded scenarios of an embedder's own rules
 * in the real engine, with simulated time, stores and faults (docs/simulation.md). Needs no server. A failure is shrunk and shown with the
 * command that repeats it. The repository's `npm run simulate` is the same command over Sluice's own programs.
 */
import { readFile } from "node:fs/promises"
import { Clock, Console, Effect, Option } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { Marks } from "../simulation/index.ts"
import { describeReach } from "../simulation/rules/reach.ts"
import { type OwnRules, ownRulesOf } from "./ownRules.ts"
import type { PlayableSimulation } from "./PlayableSimulation.ts"

/**
 * Scenarios between two progress lines, where the command can be interrupted. Of the engine's the first of these is
 * played twice.
 */
const chunk = 20

const failed = (message: string) => new CliError.UserError({ cause: new Error(message), userMessage: message })

const replay = Effect.fnUntraced(function* (
  file: string,
  known: ReadonlyArray<PlayableSimulation>,
  of: string,
  command: string
) {
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
    return yield* failed(`the scenario fails. Repeat it with: ${command} --replay ${file}`)
  }
  return yield* failed(`${file} holds no scenario of ${of}`)
})

interface Campaign {
  readonly simulated: PlayableSimulation
  /** The command that repeats a finding, without its seed. */
  readonly command: string
  readonly first: number
  readonly seeds: number
  readonly minutes: number | undefined
}

const run = Effect.fnUntraced(function* ({ command, first, minutes, seeds, simulated }: Campaign) {
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
      if (finding.small !== undefined) {
        yield* Effect.yieldNow
        yield* Console.log(`\n${finding.small()}`)
      }
      const repeat = `${command} --seed ${finding.seed} --seeds 1`
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

interface SimulateFlags {
  readonly seeds: Option.Option<number>
  readonly seed: Option.Option<number>
  readonly minutes: Option.Option<number>
}

const campaignOf = Effect.fnUntraced(function* ({ minutes: forMinutes, seed, seeds: count }: SimulateFlags) {
  const minutes = Option.getOrUndefined(forMinutes)
  const seeds = Option.getOrElse(count, () => (minutes === undefined ? 500 : Number.POSITIVE_INFINITY))
  // Without a given seed, the run tries new ones.
  const drawn = (yield* Clock.currentTimeMillis) % 1_000_000_000
  if (seeds < 1 || Option.getOrElse(seed, () => 0) < 0) return yield* failed("--seeds is at least 1, --seed at least 0")
  if (minutes !== undefined && minutes < 1) return yield* failed("--minutes is at least 1")
  return { first: Option.getOrElse(seed, () => drawn), seeds, minutes }
})

const campaignFlags = {
  seeds: Flag.Int("seeds").pipe(
    Flag.withDescription("Scenarios to play; 500 unless --minutes is given"),
    Flag.optional
  ),
  seed: Flag.Int("seed").pipe(Flag.withDescription("The first seed; drawn when left out"), Flag.optional),
  minutes: Flag.Int("minutes").pipe(Flag.withDescription("End after this many minutes"), Flag.optional)
}

export const simulate = Command.make(
  "simulate",
  {
    ...campaignFlags,
    file: Flag.String("file").pipe(Flag.withDescription("The file that exports simulations of your own rules")),
    replay: Flag.String("replay").pipe(Flag.withDescription("Play a saved scenario instead"), Flag.optional)
  },
  (flags) =>
    Effect.gen(function* () {
      const own = yield* Effect.mapError(ownRulesOf(flags.file), failed)
      const options = ` --file ${flags.file}`
      if (Option.isSome(flags.replay))
        return yield* replay(flags.replay.value, own, flags.file, `sluice simulate${options}`)
      yield* runOwn(own, { ...(yield* campaignOf(flags)), command: `sluice simulate${options}` })
    })
).pipe(Command.withDescription("Prove your own rules: seeded scenarios with simulated time and faults"))

/** The same command over simulations that are known by name, for the repository's own programs. */
export const simulateKnown = <Name extends string>(
  known: Readonly<Record<Name, PlayableSimulation>>,
  { command, standard }: { readonly command: string; readonly standard: NoInfer<Name> }
) =>
  Command.make(
    "simulate",
    {
      ...campaignFlags,
      of: Flag.Literals("of", Object.keys(known) as Array<Name>).pipe(
        Flag.withDescription(`The simulation to play; ${standard} unless it is given`),
        Flag.withDefault(standard as Name)
      ),
      replay: Flag.String("replay").pipe(
        Flag.withDescription("Play a saved scenario of any of them instead"),
        Flag.optional
      )
    },
    (flags) =>
      Effect.gen(function* () {
        if (Option.isSome(flags.replay))
          return yield* replay(
            flags.replay.value,
            Object.values<PlayableSimulation>(known),
            Object.keys(known).join(", "),
            command
          )
        const of = flags.of === standard ? "" : ` --of ${flags.of}`
        yield* run({ ...(yield* campaignOf(flags)), simulated: known[flags.of], command: `${command}${of}` })
      })
  )
