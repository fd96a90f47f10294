/**
 * Plays seeds until they have reached every mark: so many at least, and so many at most. A change of the program moves the seeds
 * that reach rare marks, and a fixed number of seeds would have to be large enough for the worst of them.
 */
import { expect } from "@effect/vitest"
import { campaign, describeFailure, generate, type Marks, play, type Workload } from "../../src/simulation/index.ts"

/** Seeds of a piece. */
const piece = 10

/** Plays so many seeds from the first one on. `failure` tells people what was found. */
type PlaySeeds = (
  first: number,
  seeds: number
) => { readonly marks: Pick<Marks, "counts">; readonly failure: string | undefined }

export interface Seeds {
  /** Seeds that have reached marks that few reach, played first. A change of the program moves such marks to others, which cost time until they are named here. */
  readonly rare?: ReadonlyArray<number>
  readonly first: number
  readonly least: number
  readonly most: number
  readonly required: ReadonlyArray<string>
}

/** Fails where a seed fails, or where a mark is left that no seed has reached. With `SLUICE_TEST_SEEDS=all` it plays the most. */
export const playUntilReached = ({ first, least, most, rare = [], required }: Seeds, playSeeds: PlaySeeds): void => {
  const wanted = process.env.SLUICE_TEST_SEEDS === "all" ? most : least
  const missing = new Set(required)
  const playOn = (seed: number, seeds: number) => {
    const { failure, marks } = playSeeds(seed, seeds)
    if (failure !== undefined) expect.fail(failure)
    for (const mark of marks.counts.keys()) missing.delete(mark)
  }
  for (const seed of rare) playOn(seed, 1)
  let played = 0
  while (played < most && (played < wanted || missing.size > 0)) {
    const seeds = Math.min(piece, played < wanted ? wanted - played : most - played)
    playOn(first + played, seeds)
    played += seeds
  }
  expect([...missing]).toEqual([])
}

/** Seeds of a workload of the engine; each piece of several plays its first one twice and compares. */
export const onEngine =
  (workload: Workload, steps?: number): PlaySeeds =>
  (seed, seeds) => {
    if (seeds === 1) {
      const outcome = play(generate(workload, seed, steps), workload)
      if (outcome.violation === undefined) return { marks: outcome.marks, failure: undefined }
    }
    const { failure, marks } = campaign(workload, { seed, seeds, ...(steps === undefined ? {} : { steps }) })
    return { marks, failure: failure && describeFailure(failure) }
  }

/** Seeds of a simulation that plays one scenario at a time. */
export const oneByOne =
  <Scenario>(
    generate: (seed: number) => Scenario,
    play: (scenario: Scenario) => { readonly marks: Pick<Marks, "counts">; readonly violation: unknown },
    describe: (scenario: Scenario) => string
  ): PlaySeeds =>
  (first, seeds) => {
    const counts = new Map<string, number>()
    for (let seed = first; seed < first + seeds; seed++) {
      const { marks, violation } = play(generate(seed))
      if (violation !== undefined) return { marks: { counts }, failure: describe(generate(seed)) }
      for (const mark of marks.counts.keys()) counts.set(mark, 1)
    }
    return { marks: { counts }, failure: undefined }
  }
