/** Compares an answer with the one that a document shows: ids, times and secrets are those of another day. */

/** Words that differ from run to run, each with its stand-in. */
const stands: ReadonlyArray<readonly [pattern: RegExp, stand: string]> = [
  [/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/, "a time"],
  [/^evt_[0-9a-f-]{36}$/, "an event's id"],
  [/^(?:whsec|whpk)_[\w+/=-]+$/, "a secret"],
  [/^https?:\/\/(?:localhost|127\.0\.0\.1):\d+(?:\/.*)?$/, "an address of this machine"]
]
const id = /^([a-z]{2,4})_\w{16,}$/

const stand = (value: string): string => {
  const named = id.exec(value)
  if (named !== null) return `an id of ${named[1]}`
  const found = stands.find(([pattern]) => pattern.test(value))
  return found === undefined ? value.replaceAll(/Retry after \d+ s/g, "Retry after … s") : found[1]
}

/** A number that is a time in milliseconds, and no count. */
const isTime = (value: number): boolean => value > 1_500_000_000_000

/** The value with stand-ins; fields that vary keep their type alone. */
export const settled = (value: unknown, varying: ReadonlyArray<string>): unknown => {
  if (Array.isArray(value)) return value.map((one) => settled(one, varying))
  if (typeof value === "string") return stand(value)
  if (typeof value === "number") return isTime(value) ? "a time" : value
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, varying.includes(name) ? "varies" : settled(field, varying)])
  )
}

/** A text with stand-ins for times and links. */
export const settledText = (value: string): string =>
  value
    .trim()
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, "a time")
    .replaceAll(/\bcl_\w+/g, "a link")
