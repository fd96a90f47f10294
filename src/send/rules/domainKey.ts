/** Makes the key of a recipient's domain for the caps: written in one way, and of a bounded length. Pure. */
import { createHash } from "node:crypto"
import { domainToASCII } from "node:url"

/** Longest domain that a state keeps as it is. Most are shorter; a longer one is kept as a digest. */
const maximumPlainLength = 32

/**
 * The domain of an address, `a@b` or `Name <a@b>`: after the last @, lower-cased, in punycode.
 *
 * @example
 * ```ts
 * import { domainOf } from "sluice/send"
 *
 * console.log(domainOf("Ann <ann@Bücher.test>")) // xn--bcher-kva.test
 * ```
 */
export const domainOf = (address: string): string => {
  const bare = address.trim().replace(/>$/, "")
  const domain = bare.slice(bare.lastIndexOf("@") + 1).toLowerCase()
  // Nearly every domain; the way through punycode takes ten times as long.
  if (/^[a-z0-9][a-z0-9.-]*$/.test(domain) && !domain.includes("xn--")) return domain
  return domainToASCII(domain) || domain
}

/**
 * The name under which a state keeps a domain: itself, or 128 bits of its SHA-256 behind a character that no domain
 * has.
 *
 * @example
 * ```ts
 * import { domainKey } from "sluice/send"
 *
 * console.log(domainKey("one.test")) // one.test
 * ```
 */
export const domainKey = (domain: string): string =>
  domain.length <= maximumPlainLength
    ? domain
    : `#${createHash("sha256").update(domain).digest("base64url").slice(0, 22)}`
