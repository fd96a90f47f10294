/** Reads by which terms of SPF records the relay is allowed to send (docs/handoff.md, 2.3). Pure. */
import { Result } from "effect"
import { type AddressRange, parseRange, rangeTerm } from "./AddressRange.ts"
import { isSpf, parseSpf } from "./spfRecord.ts"

/** The relay's own record, by its domain, or a range of its addresses. */
export type RelayTerm =
  | { readonly kind: "include"; readonly domain: string }
  | { readonly kind: "ip"; readonly range: AddressRange }

export type RelaySpf = ReadonlyArray<RelayTerm>

/** Most terms: a domain's record has room for as many look-ups. */
const maximumTerms = 10

/**
 * `include:spf.relay.example`, `ip4:203.0.113.0/24` or `203.0.113.7`, several separated by blanks or commas; undefined
 * if one is something else.
 */
export const parseRelaySpf = (text: string): RelaySpf | undefined => {
  const given = text.split(/[\s,]+/).filter((term) => term !== "")
  if (given.length === 0 || given.length > maximumTerms) return undefined
  const terms = given.map((term): RelayTerm | undefined => {
    const range = parseRange(term)
    if (range !== undefined) return { kind: "ip", range }
    const record = `v=spf1 ${term}`
    const parsed = isSpf(record) ? parseSpf(record) : undefined
    const mechanism = parsed !== undefined && Result.isSuccess(parsed) ? parsed.success.mechanisms[0] : undefined
    if (mechanism === undefined || mechanism.qualifier !== "+") return undefined
    if (mechanism.kind === "ip") return { kind: "ip", range: mechanism.range }
    if (mechanism.kind !== "include" || mechanism.hasMacro || mechanism.domain === null) return undefined
    return { kind: "include", domain: mechanism.domain }
  })
  return terms.every((term) => term !== undefined) ? terms : undefined
}

/** The terms as a record has them. */
export const relayTerms = (relay: RelaySpf): string =>
  relay.map((term) => (term.kind === "include" ? `include:${term.domain}` : rangeTerm(term.range))).join(" ")

/** The record to set where there is none. Without a known relay it names the hosts that take the domain's mail. */
export const advisedSpf = (relay: RelaySpf | undefined): string =>
  `v=spf1 ${relay === undefined ? "mx" : relayTerms(relay)} ~all`

/** A record with the relay's terms before its own. */
export const withRelay = (text: string, relay: RelaySpf): string =>
  `v=spf1 ${relayTerms(relay)}${text.slice("v=spf1".length).trimEnd()}`
