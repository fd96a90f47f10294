/** Finds numbers in a state that show the sum of fractions: 0.1 + 0.2 is 0.30000000000000004, and not 0.3. Pure. */

/** A number that is nearly a short decimal one, and its place in a state. */
export interface FloatSum {
  /** The names of fields; entries of lists are all one. */
  readonly path: string
  readonly value: number
  /** The short number beside it. */
  readonly near: number
}

/** Digits in which a sum of a few fractions is still right. */
const rightDigits = 12

/** Decimals of amounts that people use: cents, and parts of them. */
const maximumDecimals = 4

const decimalsOf = (value: number): number => String(value).split(".")[1]?.length ?? 0

/** The short number that a sum of fractions has missed; undefined if the number is none. */
export const missedBy = (value: number): number | undefined => {
  if (!Number.isFinite(value) || Number.isInteger(value)) return undefined
  const near = Number(value.toPrecision(rightDigits))
  const isExponential = String(near).includes("e")
  return near === value || isExponential || decimalsOf(near) > maximumDecimals ? undefined : near
}

/** The first of them in a state's JSON form. */
export const floatSumIn = (value: unknown, path = ""): FloatSum | undefined => {
  if (typeof value === "number") {
    const near = missedBy(value)
    return near === undefined ? undefined : { path, value, near }
  }
  if (typeof value !== "object" || value === null) return undefined
  const isList = Array.isArray(value)
  for (const [name, part] of Object.entries(value)) {
    const found = floatSumIn(part, isList ? path : path === "" ? name : `${path}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}
