/**
 * `sluice simulate [--seeds 500] [--seed N] [--replay file.json] [--minutes 10]`: plays seeded scenarios against the real engine with simulated
 * time, stores and faults. Needs no server. A failure is shrunk and shown with the command that repeats it.
 */
import { readFile } from "node:fs/promises"
import { Clock, Console, Effect, Option } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import {
  bank,
  type CampaignReport,
  campaign,
  describeFailure,
  explain,
  type Failure,
  fromJson,
  Marks,
  play,
  requiredMarks
} from "../simulation/index.ts"

/**
 * Scenarios between two progress lines, where the command can be interrupted. A campaign plays its first scenario, and
 * every fiftieth after it, twice.
 */
const chunk = 50

const failed = (message: string) => new CliError.UserError({ cause: new Error(message), userMessage: message })

const show = Effect.fnUntraced(function* (failure: Failure, repeat: string) {
  yield* Console.log(describeFailure(failure))
  return yield* failed(`seed ${failure.seed} fails. Repeat it with: ${repeat}`)
})

const replay = Effect.fnUntraced(function* (file: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => failed(`${file} cannot be read`)
  })
  const scenario = yield* Effect.try({
    try: () => fromJson(text),
    catch: () => failed(`${file} holds no scenario`)
  })
  if (scenario.workload !== bank.name) {
    return yield* failed(`${file} is of the workload "${scenario.workload}"; play it where that one is defined`)
  }
  const { trace, violation } = yield* Effect.sync(() => play(scenario, bank, { isTraced: true }))
  yield* Console.log(trace.join("\n"))
  if (violation === undefined) return yield* Console.log("nothing found")
  const failure = explain(bank, scenario)
  if (failure !== undefined) yield* show(failure, `sluice simulate --replay ${file}`)
})

const unreached = (marks: Marks) => requiredMarks.filter((mark) => !marks.counts.has(mark))

const run = Effect.fnUntraced(function* (first: number, seeds: number, minutes: number | undefined) {
  const begunAt = yield* Clock.currentTimeMillis
  const endsAt = minutes === undefined ? Number.POSITIVE_INFINITY : begunAt + minutes * 60_000
  const marks = new Marks()
  let played = 0
  while (played < seeds) {
    const now = yield* Clock.currentTimeMillis
    if (now >= endsAt) break
    const report: CampaignReport = campaign(bank, { seed: first + played, seeds: Math.min(chunk, seeds - played) })
    played += report.played
    marks.add(report.marks)
    const seconds = ((yield* Clock.currentTimeMillis) - begunAt) / 1000
    const rate = (played / Math.max(seconds, 0.001)).toFixed(0)
    const of = seeds === Number.POSITIVE_INFINITY ? "" : ` of ${seeds}`
    yield* Console.error(
      `${played}${of} scenarios, ${rate} a second, ${requiredMarks.length - unreached(marks).length} of ${requiredMarks.length} marks`
    )
    const { failure } = report
    if (failure !== undefined) yield* show(failure, `sluice simulate --seed ${failure.seed} --seeds 1`)
    yield* Effect.yieldNow
  }
  const missing = unreached(marks)
  yield* Console.log(`${played} scenarios, nothing found`)
  if (missing.length > 0) yield* Console.log(`not reached: ${missing.join("; ")}`)
})

export const simulate = Command.make(
  "simulate",
  {
    seeds: Flag.Int("seeds").pipe(
      Flag.withDescription("Scenarios to play; 500 unless --minutes is given"),
      Flag.optional
    ),
    seed: Flag.Int("seed").pipe(Flag.withDescription("The first seed; drawn when left out"), Flag.optional),
    replay: Flag.String("replay").pipe(Flag.withDescription("Play a saved scenario instead"), Flag.optional),
    minutes: Flag.Int("minutes").pipe(Flag.withDescription("End after so many minutes"), Flag.optional)
  },
  (flags) =>
    Effect.gen(function* () {
      if (Option.isSome(flags.replay)) return yield* replay(flags.replay.value)
      const minutes = Option.getOrUndefined(flags.minutes)
      const seeds = Option.getOrElse(flags.seeds, () => (minutes === undefined ? 500 : Number.POSITIVE_INFINITY))
      // Without a given seed, the run tries new ones.
      const drawn = (yield* Clock.currentTimeMillis) % 1_000_000_000
      if (seeds < 1 || Option.getOrElse(flags.seed, () => 0) < 0)
        return yield* failed("--seeds is at least 1, --seed at least 0")
      if (minutes !== undefined && minutes < 1) return yield* failed("--minutes is at least 1")
      yield* run(
        Option.getOrElse(flags.seed, () => drawn),
        seeds,
        minutes
      )
    })
).pipe(Command.withDescription("Prove the engine: seeded scenarios with simulated time and faults"))
