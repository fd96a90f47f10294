/**
 * Reads addresses as a request gives them (docs/platform.md, 9.10): `a@b` or `Name <a@b>`, checked and written in one
 * way, with the domain in punycode. Plain ones are read here; a parser of RFC 5322, which takes a hundred times as
 * long, reads all others. Pure.
 */
import { domainToASCII } from "node:url"
import emailAddresses from "email-addresses"
import { parse } from "tldts"

/** Longest part before the @, longest address (RFC 5321, 4.5.3.1), and longest address with its name. */
const maximumLocalLength = 64
const maximumAddressLength = 254
const maximumLength = 320

/** The domain whose addresses act out what becomes of an email, for test keys alone. */
const simulatorDomain = "simulator.invalid"

export interface Address {
  /** The whole, as it is kept: `a@b` or `Name <a@b>`. */
  readonly text: string
  /** In lower case, in punycode. */
  readonly domain: string
}

const atext = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
const local = `${atext}+(?:\\.${atext}+)*`
/** A word of a name: letters and signs that need no quotes, or a text in quotes. */
const letter = `${atext}|[^\\x00-\\x7f]`
const quoted = `"(?:[^"\\\\]|\\\\["\\\\])*"`
const word = `(?:(?:${letter})(?:${letter}|\\.)*|${quoted})`
/** A dot in a name needs no quotes for any reader (RFC 5322, 4.1, `obs-phrase`). */
const furtherWord = `(?:(?:${letter}|\\.)+|${quoted})`
const plainLocal = new RegExp(`^${local}$`)
const bare = new RegExp(`^(${local})@([^\\s@<>]+)$`)
const named = new RegExp(`^(${word}(?: +${furtherWord})*) *<(${local})@([^\\s@<>]+)>$`, "u")

/**
 * Characters that no address has: controls and line ends, which would end its header, halves of characters, and marks
 * that turn the direction of writing and so show another address.
 */
const unwritable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u

/** Labels of letters, digits and hyphens, 63 at most each; the last one is no number. */
const hostname = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * A domain as mail needs it, in punycode; undefined if it is none: an address in brackets, a single label, a public
 * suffix.
 */
const domainOf = (given: string): string | undefined => {
  const domain = /^[A-Za-z0-9.-]+$/.test(given) ? given.toLowerCase() : domainToASCII(given)
  // The same function refuses a punycode without a meaning.
  if (domain.includes("xn--") && domainToASCII(domain) === "") return undefined
  if (!hostname.test(domain)) return undefined
  return parse(domain, { validateHostname: false, detectIp: false }).domain === null ? undefined : domain
}

interface Parts {
  readonly name: string
  readonly local: string
  readonly domain: string
}

const plainParts = (text: string): Parts | undefined => {
  const alone = bare.exec(text)
  if (alone !== null) return { name: "", local: alone[1]!, domain: alone[2]! }
  const both = named.exec(text)
  return both === null ? undefined : { name: both[1]!, local: both[2]!, domain: both[3]! }
}

/** Asks a parser. It takes milliseconds for some texts, so it sees only those that would be refused otherwise. */
const parsedParts = (text: string): Parts | undefined => {
  // A name in quotes may have brackets, and is read before. Others are comments, which are costly when they are nested.
  if (/[()]/.test(text)) return undefined
  const found = emailAddresses({ input: text, oneResult: true, strict: true, rfc6532: true })
  // With `oneResult` it answers the one address, which its type does not say.
  const one = found as unknown as emailAddresses.ParsedMailbox | emailAddresses.ParsedGroup | null
  if (one === null || one.type !== "mailbox") return undefined
  if (!plainLocal.test(one.parts.local.tokens)) return undefined
  const name = one.name === null ? "" : `"${one.name.replaceAll(/["\\]/g, "\\$&")}"`
  return { name, local: one.local, domain: one.domain }
}

/** Reads an address; undefined if it is none. */
export const readAddress = (given: string): Address | undefined => {
  const text = given.trim()
  if (text.length > maximumLength || unwritable.test(text)) return undefined
  const parts = plainParts(text) ?? parsedParts(text)
  if (parts === undefined || parts.local.length > maximumLocalLength) return undefined
  const domain = domainOf(parts.domain)
  if (domain === undefined) return undefined
  const address = `${parts.local}@${domain}`
  if (address.length > maximumAddressLength) return undefined
  return { text: parts.name === "" ? address : `${parts.name} <${address}>`, domain }
}

/** Whether an address acts out what becomes of an email. */
export const isSimulator = ({ domain }: Address): boolean => domain === simulatorDomain
