/**
 * Finds a state that grows without a bound by its trend, long before it is too large for the engine. Pure.
 */

/** The size of a state in characters of JSON, after a number of decisions. */
export interface SizeAt {
  readonly decisions: number
  readonly size: number
}

/** Least growth that counts, in characters for each decision: a number that gets longer stays below. */
const leastGrowth = 1

/** The part of its earlier growth that a state without a bound keeps. */
const keptGrowth = 0.8

/** The part of the commands that must have been decided: a rule that has taken few has not shown its bound. */
const decidedPart = 0.9

/**
 * The growth for each decision, if the sizes show no sign of a bound; undefined if they do. `commands` were asked between
 * two sizes.
 */
export const growthOf = (sizes: ReadonlyArray<SizeAt>, commands: number): number | undefined => {
  const growths = sizes.slice(1).map(({ decisions, size }, index) => {
    const before = sizes[index]!
    const between = decisions - before.decisions
    return between < decidedPart * commands ? 0 : (size - before.size) / between
  })
  const [first, last] = [growths[0], growths.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return growths.every((growth) => growth >= leastGrowth) && last >= keptGrowth * first ? last : undefined
}
