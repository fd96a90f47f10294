/**
 * Defines the order of an endpoint's deliveries (docs/platform.md, 7.10). An event belongs to a line by a value in its
 * data, and the deliveries of a line go one after the other. Pure.
 */
import { hash } from "node:crypto"
import { Schema } from "effect"

/** The key that puts all events of the endpoint's organization into one line. */
export const wholeOrganization = "organization"

/** The longest key of an ordering, in characters, and the most names in it. */
export const maximumOrderingKeyLength = 128
export const maximumOrderingNames = 8

/** Values up to this length are the line's name as they are; longer ones are hashed. */
const maximumPlainLine = 64

/** The order of an endpoint's deliveries: a path in the data of its events, or `organization`. */
export const Ordering = Schema.Struct({ key: Schema.String })
export interface Ordering extends Schema.Schema.Type<typeof Ordering> {}

const validKey = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/

/** The fault of an ordering, in words; undefined without one. */
export const orderingFault = ({ key }: Ordering): string | undefined =>
  key.length <= maximumOrderingKeyLength && validKey.test(key) && key.split(".").length <= maximumOrderingNames
    ? undefined
    : `ordering.key must be "${wholeOrganization}" or a path in the data of events: 1 to ${maximumOrderingNames} names of letters, digits, _ and -, joined by dots, at most ${maximumOrderingKeyLength} characters`

const valueAt = (data: unknown, names: ReadonlyArray<string>): unknown =>
  names.reduce<unknown>(
    (value, name) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? (value as { readonly [name: string]: unknown })[name]
        : undefined,
    data
  )

/**
 * The line of an event at an endpoint: the value at its path as JSON, hashed where it is long. Undefined for an event
 * without order: the endpoint has none, or the value is missing or is no text, number or boolean.
 */
export const lineOf = (ordering: Ordering | null | undefined, data: unknown): string | undefined => {
  if (ordering === null || ordering === undefined) return undefined
  if (ordering.key === wholeOrganization) return wholeOrganization
  const value = valueAt(data, ordering.key.split("."))
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined
  const text = JSON.stringify(value)
  return text.length <= maximumPlainLine ? text : `#${hash("sha256", text, "hex").slice(0, 40)}`
}
