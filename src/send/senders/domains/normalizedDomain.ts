/** Normalizes the names of domains that owners give: lower case, punycode. Pure. */
import { domainToASCII } from "node:url"

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Longest name that still has room for the names of its records below it. */
const maximumLength = 200

/** The name as it is kept; undefined if it is no domain that could send. */
export const normalizedDomain = (given: string): string | undefined => {
  // A host that a URL may have and a domain may not becomes something else there.
  if (given.length > maximumLength || /[\s%@:/\\[\]?#]/.test(given)) return undefined
  const name = domainToASCII(given.endsWith(".") ? given.slice(0, -1) : given)
  const labels = name.split(".")
  if (name.length > maximumLength || labels.length < 2 || !labels.every((one) => label.test(one))) return undefined
  // The last one is a top-level domain; a number makes it an address.
  return /^\d+$/.test(labels.at(-1)!) ? undefined : name
}
