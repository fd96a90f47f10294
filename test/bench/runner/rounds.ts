/**
 * Runs a benchmark: rounds in which its sides are measured one after the other (ours, peer, ours, peer …), so that what
 * slows the machine for a while slows both. A round during which others used the CPU is repeated a few times; the least
 * disturbed attempt is kept, and marked where none was quiet.
 */
import type { Benchmark, Measure, RoundSamples, Sample } from "./benchmark.ts"
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

const attemptRound = async (benchmark: Benchmark, label: string, means: Means): Promise<FinishedRound> => {
  const samples: Record<string, Sample> = {}
  let disturbance = quiet
  for (const [name, measure] of Object.entries(benchmark.sides)) {
    const [sample, meanwhile] = await measureSide(measure, means)
    samples[name] = sample
    disturbance = worse(disturbance, meanwhile)
    const { othersCores, stolenCores } = meanwhile
    const others = `others ${othersCores.toFixed(2)} cores, stolen ${stolenCores.toFixed(2)}`
    means.workbench.log(`${label} ${name}: ${shown(sample)} (${others})`)
  }
  return { samples, disturbance, disturbed: totalOf(disturbance) > disturbedAboveCores }
}

/** All rounds of a benchmark, in order. `watch` tells what others used; a test has its own. */
export const runRounds = async (
  benchmark: Benchmark,
  workbench: Workbench,
  rounds: number = benchmark.rounds ?? defaultRounds,
  watch: WatchOthers = watchOthers
): Promise<ReadonlyArray<FinishedRound>> => {
  const means = { workbench, watchOthers: watch }
  const finished: Array<FinishedRound> = []
  for (let round = 1; round <= rounds; round++) {
    const label = `  ${benchmark.name} ${round}/${rounds}`
    let best = await attemptRound(benchmark, label, means)
    for (let attempt = 2; best.disturbed && attempt <= maximumAttempts; attempt++) {
      workbench.log(`${label}: others used more than ${disturbedAboveCores} cores, repeated (${attempt})`)
      const again = await attemptRound(benchmark, label, means)
      if (totalOf(again.disturbance) < totalOf(best.disturbance)) best = again
    }
    if (best.disturbed) workbench.log(`${label}: kept although disturbed`)
    finished.push(best)
  }
  return finished
}
