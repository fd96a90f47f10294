/**
 * What a benchmark is: the sides that are measured in turn, and the rows that come of their samples. A row is a figure of
 * one side, beside a peer's figure of the same round where it has one. `rounds.ts` runs it; to add one, write it in a
 * file under `rows/` and name it in `benchmarks.ts`.
 */
import type { Workbench } from "./workbench.ts"

/** What one side measured in one round, by name. All of it is shown, rows pick from it. */
export type Sample = Readonly<Record<string, number>>

/** Measures one side once, in processes of its own that it has stopped again when it is done. */
export type Measure<S extends Sample = Sample> = (round: Round) => Promise<S>

/** What a measurement may use of the round it belongs to. */
export interface Round {
  readonly workbench: Workbench
  /**
   * Runs the part that counts. Only here is the CPU of other processes watched, so start and warm-up belong outside.
   * A measurement that never calls it is watched as a whole.
   */
  readonly watched: <A>(part: () => Promise<A>) => Promise<A>
}

/** What a row must reach: of the ratio where the row has a peer, of the figure elsewhere. */
export interface Goal {
  readonly bound: "least" | "most"
  readonly value: number
}

export const atLeast = (value: number): Goal => ({ bound: "least", value })
export const atMost = (value: number): Goal => ({ bound: "most", value })

/** One line of the result. */
export interface RowOf<Samples> {
  /** Stands behind the benchmark's name. */
  readonly name: string
  readonly unit: string
  readonly figure: (samples: Samples) => number
  readonly peer?: (samples: Samples) => number
  readonly goal?: Goal
  /** How rounds become one: the middle one, or for a limit that must hold always the worst. Default: `median`. */
  readonly over?: "median" | "worst"
  /** What a reader should know; a function of all rounds where it depends on them. */
  readonly note?: string | ((rounds: ReadonlyArray<Samples>) => string | undefined)
}

interface BenchmarkOf<Sides extends Readonly<Record<string, Measure>>> {
  readonly name: string
  /** Measured one after the other in each round, in this order. */
  readonly sides: Sides
  readonly rows: ReadonlyArray<RowOf<{ readonly [Name in keyof Sides]: Awaited<ReturnType<Sides[Name]>> }>>
  /** A sentence why it cannot run here, such as a missing program; then its rows are left out. */
  readonly unavailable?: () => Promise<string | undefined>
  /** Rounds where five are too many or too few. `--rounds` stands above it. */
  readonly rounds?: number
}

/** Samples of one round, by the side's name. */
export type RoundSamples = Readonly<Record<string, Sample>>
export type RowSpecification = RowOf<RoundSamples>
export type Benchmark = Omit<BenchmarkOf<Readonly<Record<string, Measure>>>, "rows"> & {
  readonly rows: ReadonlyArray<RowSpecification>
}

/** Makes a benchmark; the rows know what each side measures. */
export const benchmark = <const Sides extends Readonly<Record<string, Measure>>>(
  definition: BenchmarkOf<Sides>
  // The runner hands each row the samples of exactly these sides.
): Benchmark => definition as unknown as Benchmark

/** The full name of a row, which filters match from its beginning. */
export const rowName = (of: Benchmark, row: RowSpecification): string => `${of.name}/${row.name}`
