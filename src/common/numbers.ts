/** Defines lists of numbers in the states of actors. */
import { Schema } from "effect"

const areFinite = (value: unknown): value is ReadonlyArray<number> => {
  if (!Array.isArray(value)) return false
  for (let index = 0; index < value.length; index++) if (!Number.isFinite(value[index])) return false
  return true
}

/**
 * Finite numbers in a list, which is its own JSON form. It is looked at as a whole: a schema of each number takes
 * twenty times as long to check a list of thousands, as a state is at every change, and `Schema.Number`, which may be
 * NaN, as long again to write it.
 */
export const Numbers: Schema.declare<ReadonlyArray<number>> = Schema.declare(areFinite, {
  expected: "a list of finite numbers",
  toCodecJson: () => undefined
})
