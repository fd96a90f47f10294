/**
 * Defines a benchmark: the sides that are measured in turn, and the rows of their samples. A row is a figure of
 * one side, beside a peer's figure of the same round where it has one. `rounds.ts` runs it; to add one, write it in a
 * file under `rows/` and name it in `benchmarks.ts`.
 */
import type { Workbench } from "./workbench.ts"

/** What one side measured in one round, by name. All of it is shown, rows pick from it. */
export type Sample = Readonly<Record<string, number>>

/** Measures one side once, in processes of its own that it has stopped again when it is done. */
export type Measure<S extends Sample = Sample> = (round: Round) => Promise<S>

/** A side that stays up while the others have their turns. */
export interface Standing<S extends Sample = Sample> {
  /** Measures one short turn. */
  readonly measure: Measure<S>
  readonly stop: () => Promise<void>
}

/** Starts a side and warms it up, outside of what is watched. */
export type Stand<S extends Sample = Sample> = (workbench: Workbench) => Promise<Standing<S>>

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

interface Described<Samples> {
  readonly name: string
  readonly rows: ReadonlyArray<RowOf<Samples>>
  /** A sentence why it cannot run here, such as a missing program; then its rows are left out. */
  readonly unavailable?: () => Promise<string | undefined>
  /** Rounds where five are too many or too few. `--rounds` stands above it. */
  readonly rounds?: number
}

/** Samples of one round, by the side's name. */
export type RoundSamples = Readonly<Record<string, Sample>>
export type RowSpecification = RowOf<RoundSamples>
export type Sides = Readonly<Record<string, Measure>>

export interface Benchmark extends Described<RoundSamples> {
  /** Measured one after the other in each round, in this order. */
  readonly sides: Sides
  /** In place of `sides`: all of them are up for a whole round, in which each is measured so many times. */
  readonly inTurns?: { readonly stands: Readonly<Record<string, Stand>>; readonly turns: number }
}

/** Makes a benchmark whose sides are measured one after the other; the rows know what each side measures. */
export const benchmark = <const Measures extends Sides>({
  sides,
  ...described
}: Described<{ readonly [Name in keyof Measures]: Awaited<ReturnType<Measures[Name]>> }> & {
  readonly sides: Measures
  // The runner hands each row the samples of exactly these sides.
}): Benchmark => ({ ...described, sides }) as unknown as Benchmark

/**
 * Makes a benchmark whose sides are up together and have short turns, first the one, then the other. For what takes seconds to warm up, on a machine whose speed changes within
 * them: turns a few seconds apart are comparable, and there are enough of them to say how sure the ratio is. A row's rounds are then turns.
 */
export const benchmarkInTurns = <const Stands extends Readonly<Record<string, Stand>>>({
  stands,
  turns,
  ...described
}: Described<{
  readonly [Name in keyof Stands]: Awaited<ReturnType<Awaited<ReturnType<Stands[Name]>>["measure"]>>
}> & {
  readonly stands: Stands
  readonly turns: number
}): Benchmark => ({ ...described, sides: {}, inTurns: { stands, turns } }) as unknown as Benchmark

/** The full name of a row, which filters match from its beginning. */
export const rowName = (of: Benchmark, row: RowSpecification): string => `${of.name}/${row.name}`
