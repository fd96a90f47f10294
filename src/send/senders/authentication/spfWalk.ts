/**
 * Walks through an SPF record and those that it includes, and counts the look-ups as RFC 7208, 4.6.4 does. Pure: it says
 * what must still be asked, and is called again with the answers. It asks for the text of the record itself, and at
 * most ten more questions.
 */
import { Result } from "effect"
import type { AddressRange } from "./AddressRange.ts"
import { type DnsAnswers, type DnsQuestion, questionKey } from "./dnsAnswers.ts"
import { spfLookups, spfMailHosts, spfVoidLookups } from "./limits.ts"
import { isSpf, parseSpf, type Qualifier, type SpfMechanism, type SpfRecord } from "./spfRecord.ts"

/** A reason why receivers do not use a record, or should not. */
export type SpfFault =
  | { readonly _tag: "Missing"; readonly name: string }
  | { readonly _tag: "Several"; readonly name: string }
  | { readonly _tag: "Syntax"; readonly name: string; readonly problem: string }
  | { readonly _tag: "TooManyLookups" }
  | { readonly _tag: "TooManyVoids" }
  | { readonly _tag: "TooManyMailHosts"; readonly name: string }
  | { readonly _tag: "Everybody"; readonly name: string; readonly term: string }

/** A part of a record that lets mail pass. */
export type SpfAllowed =
  | { readonly kind: "include"; readonly domain: string }
  | { readonly kind: "ip"; readonly range: AddressRange }

export interface SpfWalk {
  /** Look-ups that a receiver needs at most. */
  readonly lookups: number
  readonly voids: number
  readonly needs: ReadonlyArray<DnsQuestion>
  /** A name for which no name server answered. */
  readonly unanswered: string | undefined
  readonly fault: SpfFault | undefined
  readonly allowed: ReadonlyArray<SpfAllowed>
  /** Whether it allows addresses that a walk does not see: those of mail hosts, or of names that depend on the mail. */
  readonly isUnclear: boolean
  /** The qualifier of the `all` that ends the record or the one that it redirects to. */
  readonly ending: Qualifier | undefined
  readonly text: string | undefined
}

interface Walking {
  readonly answers: DnsAnswers
  readonly asked: Set<string>
  readonly needs: Array<DnsQuestion>
  readonly allowed: Array<SpfAllowed>
  lookups: number
  voids: number
  unanswered: string | undefined
  fault: SpfFault | undefined
  isUnclear: boolean
  /** A text is unanswered, and its look-ups come before those behind it. */
  isStopped: boolean
}

const fail = (walk: Walking, fault: SpfFault): void => {
  walk.fault ??= fault
  walk.isStopped = true
}

/** The answer; undefined, and noted, if there is none yet. */
const ask = (walk: Walking, question: DnsQuestion): ReadonlyArray<string> | undefined => {
  const answer = walk.answers(question)
  if (answer === undefined) {
    const key = questionKey(question)
    if (!walk.asked.has(key)) walk.needs.push(question)
    walk.asked.add(key)
    return undefined
  }
  if (answer._tag === "Unknown") {
    walk.unanswered ??= question.name
    return undefined
  }
  return answer._tag === "Found" ? answer.value : []
}

/** Counts a look-up; false if it is one too many. */
const count = (walk: Walking): boolean => {
  walk.lookups += 1
  if (walk.lookups <= spfLookups) return true
  fail(walk, { _tag: "TooManyLookups" })
  return false
}

const countVoid = (walk: Walking): void => {
  walk.voids += 1
  if (walk.voids > spfVoidLookups) fail(walk, { _tag: "TooManyVoids" })
}

/** The record at a name; undefined if there is none to walk through. */
const recordAt = (walk: Walking, name: string): SpfRecord | undefined => {
  const question = { type: "texts", name } as const
  const texts = ask(walk, question)
  if (texts === undefined) {
    walk.isStopped ||= walk.answers(question) === undefined
    return undefined
  }
  const [text, ...others] = texts.filter(isSpf)
  if (text === undefined) fail(walk, { _tag: "Missing", name })
  else if (others.length > 0) fail(walk, { _tag: "Several", name })
  else {
    const parsed = parseSpf(text)
    if (Result.isSuccess(parsed)) return parsed.success
    fail(walk, { _tag: "Syntax", name, problem: parsed.failure })
  }
  return undefined
}

/** A host with the bits of it that count. */
const rangeOf = (address: string, bits: { readonly 4: number; readonly 6: number }): AddressRange => {
  const family = address.includes(":") ? 6 : 4
  return { family, address, bits: bits[family] }
}

type Naming = Extract<SpfMechanism, { readonly domain: string | null }>

const lookUp = (walk: Walking, { bits, domain, hasMacro, kind, qualifier }: Naming, own: string, allows: boolean) => {
  if (!count(walk)) return
  const isAllowing = allows && qualifier === "+"
  const name = domain ?? own
  if (kind === "include") {
    if (hasMacro) walk.isUnclear ||= isAllowing
    else {
      if (isAllowing) walk.allowed.push({ kind: "include", domain: name })
      visit(walk, name, isAllowing)
    }
    return
  }
  if (kind !== "a") walk.isUnclear ||= isAllowing
  // The name of `ptr` is that of the address, which a mail alone has.
  if (kind === "ptr") return
  if (hasMacro) {
    walk.isUnclear ||= isAllowing
    return
  }
  const values = ask(walk, { type: kind === "mx" ? "mailHosts" : "addresses", name })
  if (values === undefined) return
  if (values.length === 0) countVoid(walk)
  if (kind === "mx" && values.length > spfMailHosts) fail(walk, { _tag: "TooManyMailHosts", name })
  if (kind !== "a" || !isAllowing) return
  for (const address of values) walk.allowed.push({ kind: "ip", range: rangeOf(address, bits) })
}

/** Walks through the record at a name. Recursion has an end because each step counts. */
const visit = (walk: Walking, name: string, allows: boolean): Qualifier | undefined => {
  const record = recordAt(walk, name)
  for (const mechanism of record?.mechanisms ?? []) {
    if (walk.isStopped) return undefined
    const isAllowing = allows && mechanism.qualifier === "+"
    if (mechanism.kind === "all") {
      if (isAllowing) fail(walk, { _tag: "Everybody", name, term: mechanism.text })
      return mechanism.qualifier
    }
    if (mechanism.kind !== "ip") lookUp(walk, mechanism, name, allows)
    else if (isAllowing) {
      if (mechanism.range.bits === 0) fail(walk, { _tag: "Everybody", name, term: mechanism.text })
      walk.allowed.push({ kind: "ip", range: mechanism.range })
    }
  }
  const redirect = record?.redirect ?? null
  if (walk.isStopped || redirect === null || !count(walk)) return undefined
  if (!redirect.hasMacro) return visit(walk, redirect.domain, allows)
  walk.isUnclear ||= allows
  return undefined
}

/** Walks through the record of a name as far as the answers go. */
export const walkSpf = (name: string, answers: DnsAnswers): SpfWalk => {
  const walk: Walking = {
    answers,
    asked: new Set(),
    needs: [],
    allowed: [],
    lookups: 0,
    voids: 0,
    unanswered: undefined,
    fault: undefined,
    isUnclear: false,
    isStopped: false
  }
  const ending = visit(walk, name, true)
  const { allowed, fault, isUnclear, lookups, needs, unanswered, voids } = walk
  const answer = answers({ type: "texts", name })
  const text = answer?._tag === "Found" ? answer.value.find(isSpf) : undefined
  // A fault that stands already needs no more answers.
  return { lookups, voids, needs: fault ? [] : needs, unanswered, fault, allowed, isUnclear, ending, text }
}
