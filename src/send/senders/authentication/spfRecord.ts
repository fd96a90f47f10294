/** Parses SPF records as strictly as RFC 7208, 12 has them. Pure. */
import { Result } from "effect"
import { type AddressRange, parseRange } from "./AddressRange.ts"
import { quotedCharacters, recordCharacters } from "./limits.ts"

export type Qualifier = "+" | "-" | "~" | "?"

/** The mechanisms that name a domain; `null` is the domain of the record. */
export type NamingKind = "include" | "a" | "mx" | "ptr" | "exists"

export type SpfMechanism = { readonly qualifier: Qualifier; readonly text: string } & (
  | { readonly kind: "all" }
  | { readonly kind: "ip"; readonly range: AddressRange }
  | {
      readonly kind: NamingKind
      readonly domain: string | null
      /** Whether the name depends on the mail, so that nobody can look it up without one. */
      readonly hasMacro: boolean
      /** Bits of the addresses of `a` and `mx` that count. */
      readonly bits: { readonly 4: number; readonly 6: number }
    }
)

export interface SpfRecord {
  readonly mechanisms: ReadonlyArray<SpfMechanism>
  readonly redirect: { readonly domain: string; readonly hasMacro: boolean } | null
}

/** Whether a text is meant as an SPF record (RFC 7208, 4.5). */
export const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text)

/** A part of a record, as a sentence quotes it. */
export const quoted = (text: string): string =>
  `"${text.slice(0, quotedCharacters).replaceAll(/[^\x20-\x7e]/g, "?")}${text.length > quotedCharacters ? "…" : ""}"`

const macro = "%\\{[slodiphv]\\d*r?[.+,/_=-]*\\}|%%|%_|%-"
const macroString = new RegExp(`^(?:${macro}|[!-$&-~])*$`, "i")
const domainEnd = new RegExp(`(?:\\.(?=[a-z0-9-]*[a-z-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.?|${macro})$`, "i")

/** A name in lower case and without the last dot; undefined if no name server could have it. */
const nameOf = (text: string): string | undefined => {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase()
  const labels = name.split(".")
  return name.length <= 253 && labels.every(({ length }) => length > 0 && length <= 63) ? name : undefined
}

const domainOf = (text: string): { readonly domain: string; readonly hasMacro: boolean } | undefined => {
  if (!macroString.test(text) || !domainEnd.test(text)) return undefined
  if (text.includes("%")) return { domain: text, hasMacro: true }
  const domain = nameOf(text)
  return domain === undefined ? undefined : { domain, hasMacro: false }
}

const bitsOf = (text: string | undefined, most: number): number | undefined => {
  if (text === undefined) return most
  return /^(0|[1-9]\d*)$/.test(text) && Number(text) <= most ? Number(text) : undefined
}

const naming = new Set<string>(["include", "a", "mx", "ptr", "exists"] satisfies ReadonlyArray<NamingKind>)
const isNaming = (kind: string): kind is NamingKind => naming.has(kind)

const namingOf = (kind: NamingKind, rest: string) => {
  const hasBits = kind === "a" || kind === "mx"
  const [, before = "", four, six] = hasBits ? /^(.*?)(?:\/(\d+))?(?:\/\/(\d+))?$/s.exec(rest)! : ["", rest]
  const bits = { 4: bitsOf(four, 32), 6: bitsOf(six, 128) }
  if (bits[4] === undefined || bits[6] === undefined) return undefined
  const both = { 4: bits[4], 6: bits[6] }
  if (before === "")
    return kind === "include" || kind === "exists" ? undefined : { domain: null, hasMacro: false, bits: both }
  const named = before.startsWith(":") ? domainOf(before.slice(1)) : undefined
  return named === undefined ? undefined : { ...named, bits: both }
}

/** Undefined if the term is none. */
const mechanismOf = (text: string): SpfMechanism | undefined => {
  const [, sign = "", word = "", rest = ""] = /^([+~?-]?)([a-z0-9]+)(.*)$/is.exec(text) ?? []
  const kind = word.toLowerCase()
  const common = { qualifier: (sign === "" ? "+" : sign) as Qualifier, text }
  if (kind === "all") return rest === "" ? { ...common, kind } : undefined
  if (kind === "ip4" || kind === "ip6") {
    const range = rest.startsWith(":") ? parseRange(rest.slice(1)) : undefined
    return range === undefined || `ip${range.family}` !== kind ? undefined : { ...common, kind: "ip", range }
  }
  if (!isNaming(kind)) return undefined
  const named = namingOf(kind, rest)
  return named === undefined ? undefined : { ...common, kind, ...named }
}

/** The record of a text for which `isSpf` holds, or what is wrong with it. */
export const parseSpf = (text: string): Result.Result<SpfRecord, string> => {
  if (text.length > recordCharacters) return Result.fail(`it is longer than ${recordCharacters} characters`)
  const mechanisms: Array<SpfMechanism> = []
  const once = new Map<string, SpfRecord["redirect"]>()
  for (const term of text.split(/ +/).slice(1)) {
    if (term === "") continue
    const [, name, value = ""] = /^([a-z][a-z0-9_.-]*)=(.*)$/is.exec(term) ?? []
    const modifier = name?.toLowerCase()
    if (modifier === undefined) {
      const mechanism = mechanismOf(term)
      if (mechanism === undefined) return Result.fail(`its part ${quoted(term)} is not valid`)
      mechanisms.push(mechanism)
    } else if (modifier === "redirect" || modifier === "exp") {
      const domain = domainOf(value)
      if (domain === undefined) return Result.fail(`its part ${quoted(term)} names no domain`)
      if (once.has(modifier)) return Result.fail(`it has ${modifier}= twice`)
      once.set(modifier, domain)
    } else if (!macroString.test(value)) return Result.fail(`its part ${quoted(term)} is not valid`)
  }
  return Result.succeed({ mechanisms, redirect: once.get("redirect") ?? null })
}
