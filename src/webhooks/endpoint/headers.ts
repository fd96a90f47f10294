/**
 * Checks headers that an endpoint's owner adds to its deliveries (docs/platform.md, 6.10): allowed names and values,
 * and how a change is merged into them. Any value may be a secret, so only names are in the log and in answers; the
 * headers themselves are one sealed text beside the signing secret. Pure.
 */
import { EndpointInvalid } from "./model.ts"

/** Headers of one endpoint. */
export const maximumHeaders = 20

/** The longest name and the longest value, in characters, and names and values of an endpoint together, in bytes. */
export const maximumHeaderNameLength = 128
export const maximumHeaderValueLength = 1_000
export const maximumHeadersBytes = 4_096

/** Names as their owner wrote them, with their values. See {@link Webhooks}. */
export type CustomHeaders = Readonly<Record<string, string>>

/** Changes of headers: a value sets one, null removes it. */
export type HeaderChanges = Readonly<Record<string, string | null>>

/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * Characters that a header carries unchanged: one byte each in ISO 8859-1, without controls and without blanks at the
 * ends.
 */
const carried = /^[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa1-\xff])?$/

/** Names that every delivery sends itself, and those that the connection needs for itself. In lower case. */
const reservedNames: ReadonlySet<string> = new Set([
  "host",
  "user-agent",
  "connection",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "keep-alive",
  // No header can have this name in a JavaScript object of a receiver.
  "__proto__"
])

/** Headers about the body, for a hop, or of signatures and events. In lower case. */
const reservedBeginnings = ["content-", "proxy-", "webhook-", "x-platformwebhook-"] as const

const isReserved = (lower: string): boolean =>
  reservedNames.has(lower) || reservedBeginnings.some((beginning) => lower.startsWith(beginning))

const invalid = (message: string) => new EndpointInvalid({ field: "headers", message })

/** A name as a message may quote it. */
const quoted = (name: string): string => JSON.stringify(name.slice(0, maximumHeaderNameLength))

/** The fault in the names of an endpoint's headers; undefined without one. */
export const headerNamesProblem = (names: ReadonlyArray<string>): EndpointInvalid | undefined => {
  if (names.length > maximumHeaders)
    return invalid(`headers has ${names.length} headers, an endpoint has at most ${maximumHeaders}`)
  const seen = new Set<string>()
  for (const name of names) {
    if (name.length > maximumHeaderNameLength)
      return invalid(`the header name ${quoted(name)}… is longer than ${maximumHeaderNameLength} characters`)
    if (!token.test(name)) return invalid(`${quoted(name)} is no name of an HTTP header`)
    const lower = name.toLowerCase()
    if (isReserved(lower)) return invalid(`the header ${quoted(name)} is reserved: deliveries set it themselves`)
    if (seen.has(lower)) return invalid(`the header ${quoted(name)} is given twice; upper and lower case are the same`)
    seen.add(lower)
  }
  return undefined
}

/** The fault of an endpoint's headers; undefined without one. The message names a header, but no value. */
export const headersProblem = (headers: CustomHeaders): EndpointInvalid | undefined => {
  const entries = Object.entries(headers)
  const problem = headerNamesProblem(entries.map(([name]) => name))
  if (problem !== undefined) return problem
  let bytes = 0
  for (const [name, value] of entries) {
    if (value.length > maximumHeaderValueLength)
      return invalid(`the value of the header ${quoted(name)} is longer than ${maximumHeaderValueLength} characters`)
    if (!carried.test(value))
      return invalid(
        `the value of the header ${quoted(name)} must be printable characters of ISO 8859-1, at least one, without blanks at its ends`
      )
    bytes += name.length + value.length
  }
  return bytes > maximumHeadersBytes
    ? invalid(`headers has ${bytes} bytes of names and values, at most ${maximumHeadersBytes} are allowed`)
    : undefined
}

/** The fault of a change; undefined without one. `headersProblem` checks the resulting headers. */
export const headerChangesProblem = (changes: HeaderChanges): EndpointInvalid | undefined => {
  const seen = new Set<string>()
  for (const name of Object.keys(changes)) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) return invalid(`the header ${quoted(name)} is given twice; upper and lower case are the same`)
    seen.add(lower)
  }
  return undefined
}

/** The headers after a change. A header is the same one in any case of letters, and is written as it was given last. */
export const mergedHeaders = (before: CustomHeaders, changes: HeaderChanges): CustomHeaders => {
  const changed = new Set(Object.keys(changes).map((name) => name.toLowerCase()))
  const kept = Object.entries(before).filter(([name]) => !changed.has(name.toLowerCase()))
  const set = Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null)
  return Object.fromEntries([...kept, ...set])
}

/** Whether two endpoints with these headers send the same. */
export const areSameHeaders = (one: CustomHeaders, other: CustomHeaders): boolean => {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

/** The text that is sealed. */
export const encodeHeaders = (headers: CustomHeaders): string => JSON.stringify(headers)

/** Reads a text of `encodeHeaders`. */
export const decodeHeaders = (text: string): CustomHeaders => JSON.parse(text) as CustomHeaders
