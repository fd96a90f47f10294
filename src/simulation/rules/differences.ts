/** Where two values differ, for people. Pure. */
import { isDeepStrictEqual } from "node:util"

const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The first place at which two values differ, and what stands there; undefined when they are equal. */
export const differenceOf = (left: unknown, right: unknown, at = ""): string | undefined => {
  if (isDeepStrictEqual(left, right)) return undefined
  if (isRecord(left) && isRecord(right))
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const found = differenceOf(left[name], right[name], at === "" ? name : `${at}.${name}`)
      if (found !== undefined) return found
    }
  return `${at === "" ? "" : `${at}: `}${show(left)} and ${show(right)}`
}
