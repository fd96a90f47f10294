/**
 * Runs a benchmark: rounds in which its sides are measured one after the other (ours, peer, ours, peer …), so that what
 * slows the machine for a while slows both. A round waits, not for ever, until others are quiet; one during which they
 * used the CPU is repeated a few times, and the least disturbed attempt is kept, marked where none was quiet. Where sides
 * are up together, each of their turns is such a round.
 */
import type { Benchmark, Measure, RoundSamples, Sample, Sides, Standing } from "./benchmark.ts"
import { type Disturbance, quiet, type WatchOthers, watchOthers } from "./cpu.ts"
import type { Workbench } from "./workbench.ts"

/** Rounds of a benchmark that names no other number. */
export const defaultRounds = 5
/** CPU of others, in cores, above which a round counts as disturbed. */
export const disturbedAboveCores = 0.1
/** Attempts at one round. */
export const maximumAttempts = 4

export interface FinishedRound {
  readonly samples: RoundSamples
  /** The side that suffered most. */
  readonly disturbance: Disturbance
  readonly disturbed: boolean
}

const totalOf = (disturbance: Disturbance): number => disturbance.othersCores + disturbance.stolenCores
const worse = (a: Disturbance, b: Disturbance): Disturbance => (totalOf(a) >= totalOf(b) ? a : b)

interface Means {
  readonly workbench: Workbench
  readonly watchOthers: WatchOthers
  readonly pause: (millis: number) => Promise<void>
}

/** Others are looked at for this long before a round, and it begins when they were quiet. */
const lookMillis = 500
/** Longest wait for others to be quiet; then the round begins all the same, and may be repeated. */
const longestWaitMillis = 60_000

const untilQuiet = async ({ pause, watchOthers }: Means): Promise<void> => {
  for (let waited = 0; waited < longestWaitMillis; waited += lookMillis) {
    const [, disturbance] = await watchOthers(() => pause(lookMillis))
    if (totalOf(disturbance) <= disturbedAboveCores) return
  }
}

const measureSide = async (
  measure: Measure,
  { watchOthers, workbench }: Means
): Promise<readonly [sample: Sample, disturbance: Disturbance]> => {
  let worst: Disturbance | undefined
  const watched = async <A>(part: () => Promise<A>): Promise<A> => {
    const [result, disturbance] = await watchOthers(part)
    worst = worst === undefined ? disturbance : worse(worst, disturbance)
    return result
  }
  const [sample, whole] = await watchOthers(() => measure({ workbench, watched }))
  return [sample, worst ?? whole]
}

const shown = (sample: Sample): string =>
  Object.entries(sample)
    .map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
    .join(", ")

const attemptRound = async (sides: Sides, label: string, means: Means): Promise<FinishedRound> => {
  const samples: Record<string, Sample> = {}
  let disturbance = quiet
  await untilQuiet(means)
  for (const [name, measure] of Object.entries(sides)) {
    const [sample, meanwhile] = await measureSide(measure, means)
    samples[name] = sample
    disturbance = worse(disturbance, meanwhile)
    const { othersCores, stolenCores } = meanwhile
    const others = `others ${othersCores.toFixed(2)} cores, stolen ${stolenCores.toFixed(2)}`
    means.workbench.log(`${label} ${name}: ${shown(sample)} (${others})`)
  }
  return { samples, disturbance, disturbed: totalOf(disturbance) > disturbedAboveCores }
}

/**
 * One round, attempted until it is quiet. A busy machine also makes attempts fail, by timeouts for one, so those are
 * repeated like disturbed ones; the round fails when all of them do.
 */
const quietestAttempt = async (sides: Sides, label: string, means: Means): Promise<FinishedRound> => {
  const { log } = means.workbench
  let best: FinishedRound | undefined
  let failure: unknown
  for (let attempt = 1; attempt <= maximumAttempts; attempt++) {
    if (attempt > 1) log(`${label}: repeated (${attempt})`)
    try {
      const round = await attemptRound(sides, label, means)
      if (best === undefined || totalOf(round.disturbance) < totalOf(best.disturbance)) best = round
      if (!round.disturbed) break
      log(`${label}: others used more than ${disturbedAboveCores} cores`)
    } catch (error) {
      failure = error
      log(`${label}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (best === undefined) throw failure
  if (best.disturbed) log(`${label}: kept although disturbed`)
  return best
}

/** Of sides that are up together, each measured in turn; who begins changes. */
const roundInTurns = async (
  { stands, turns }: NonNullable<Benchmark["inTurns"]>,
  label: string,
  means: Means
): Promise<ReadonlyArray<FinishedRound>> => {
  const standing: Array<readonly [name: string, side: Standing]> = []
  try {
    for (const [name, stand] of Object.entries(stands)) standing.push([name, await stand(means.workbench)])
    const measures = standing.map(([name, { measure }]) => [name, measure] as const)
    const finished: Array<FinishedRound> = []
    for (let turn = 1; turn <= turns; turn++) {
      const sides = Object.fromEntries(turn % 2 === 1 ? measures : measures.toReversed())
      finished.push(await quietestAttempt(sides, `${label} turn ${turn}/${turns}`, means))
    }
    return finished
  } finally {
    for (const [, { stop }] of standing) await stop()
  }
}

/** What a test replaces. */
export interface Surroundings {
  /** Tells what others used. */
  readonly watchOthers: WatchOthers
  readonly pause: (millis: number) => Promise<void>
}

const machine: Surroundings = {
  watchOthers,
  pause: (millis) => new Promise((resolve) => setTimeout(resolve, millis))
}

/** All rounds of a benchmark, in order; of one in turns, all turns of all rounds. */
export const runRounds = async (
  benchmark: Benchmark,
  workbench: Workbench,
  rounds: number = benchmark.rounds ?? defaultRounds,
  surroundings: Surroundings = machine
): Promise<ReadonlyArray<FinishedRound>> => {
  const means = { workbench, ...surroundings }
  const finished: Array<FinishedRound> = []
  for (let round = 1; round <= rounds; round++) {
    const label = `  ${benchmark.name} ${round}/${rounds}`
    if (benchmark.inTurns !== undefined) finished.push(...(await roundInTurns(benchmark.inTurns, label, means)))
    else finished.push(await quietestAttempt(benchmark.sides, label, means))
  }
  return finished
}
