/** Judges SPF records in one sentence each (docs/platform.md, 9.13). Pure. */
import { isInside } from "./AddressRange.ts"
import type { AuthenticationVerdict, VerdictStatus } from "./authenticationVerdict.ts"
import type { DnsAnswers } from "./dnsAnswers.ts"
import { spfLookups, spfMailHosts, spfVoidLookups } from "./limits.ts"
import { advisedSpf, type RelaySpf, relayTerms, withRelay } from "./relaySpf.ts"
import { quoted } from "./spfRecord.ts"
import { type SpfFault, type SpfWalk, walkSpf } from "./spfWalk.ts"

export interface SpfSubject {
  readonly name: string
  /** The terms of the relay; undefined if nobody has said them. */
  readonly relay: RelaySpf | undefined
  /** The owner of the record: a domain that mail is from, or the domain of return paths, which the operator has. */
  readonly owner: "domain" | "operator"
  /** The domain whose SPF record receivers look at for mail of this domain. */
  readonly returnPath: string
}

type Coverage = "whole" | "unclear" | "none"

/** Whether a record allows every term of the relay. */
const coverageOf = ({ allowed, isUnclear }: SpfWalk, relay: RelaySpf, own: string): Coverage => {
  const isWhole = relay.every((term) =>
    term.kind === "include"
      ? term.domain === own || allowed.some((one) => one.kind === "include" && one.domain === term.domain)
      : allowed.some((one) => one.kind === "ip" && isInside(term.range, one.range))
  )
  if (isWhole) return "whole"
  return isUnclear ? "unclear" : "none"
}

const sentenceOf = (fault: Exclude<SpfFault, { readonly _tag: "Missing" }>): string => {
  switch (fault._tag) {
    case "Several":
      return `${fault.name} has several SPF records, so receivers use none: keep one, with the parts of all.`
    case "Syntax":
      return `The SPF record of ${fault.name} is not valid, because ${fault.problem}: correct it.`
    case "TooManyLookups":
      return `The SPF record needs more than ${spfLookups} look-ups, so receivers do not use it: remove parts such as include, a and mx.`
    case "TooManyVoids":
      return `The SPF record looks for more than ${spfVoidLookups} names that do not exist, so receivers do not use it: remove those parts.`
    case "TooManyMailHosts":
      return `The SPF record allows the mail hosts of ${fault.name}, of which there are more than ${spfMailHosts}: name their addresses instead.`
    case "Everybody":
      return `The part ${quoted(fault.term)} of the SPF record of ${fault.name} lets every server send for it: end the record in ~all instead.`
  }
}

interface Judgement {
  readonly status: VerdictStatus
  readonly message: string
  readonly advised?: string
}

/** The verdict where there is no record, or an included one is not there. */
const missing = ({ name, owner, relay, returnPath }: SpfSubject, at: string): Judgement => {
  if (at !== name)
    return {
      status: "invalid",
      message: `The SPF record refers to ${at}, which has no SPF record: remove that part, or correct its name.`
    }
  const advised = advisedSpf(relay)
  // Receivers look at the return path's record.
  if (owner === "domain" && returnPath !== name)
    return {
      status: "advice",
      message: `${name} has no SPF record; mail of this platform passes with that of ${returnPath}, but other mail needs one: set the advised record.`,
      advised
    }
  return { status: "missing", message: `${name} has no SPF record: set ${quoted(advised)} as a TXT record.`, advised }
}

/** The verdict of a record that receivers can use. */
const judgeUsable = (walk: SpfWalk, { name, owner, relay, returnPath }: SpfSubject): Judgement => {
  const isUsed = owner === "operator" || returnPath === name
  const coverage = relay === undefined || !isUsed ? "whole" : coverageOf(walk, relay, name)
  if (relay !== undefined && coverage !== "whole") {
    const advised = withRelay(walk.text ?? "", relay)
    const terms = relayTerms(relay)
    return coverage === "none"
      ? {
          status: "missing",
          message: `The SPF record of ${name} does not name the relay of this platform: add ${quoted(terms)}.`,
          advised
        }
      : {
          status: "advice",
          message: `The SPF record of ${name} does not name the relay of this platform, and may allow it in another way: add ${quoted(terms)} to be sure.`,
          advised
        }
  }
  if (walk.ending !== "-" && walk.ending !== "~")
    return {
      status: "advice",
      message: `The SPF record of ${name} refuses no server: end it in ~all.`
    }
  return { status: "pass", message: `The SPF record of ${name} is as it should be, with ${walk.lookups} look-ups.` }
}

/** Judges the record of a name as far as the answers go; the walk says what must still be asked. */
export const spfVerdict = (
  subject: SpfSubject,
  answers: DnsAnswers
): { readonly walk: SpfWalk; readonly verdict: AuthenticationVerdict } => {
  const { name, owner } = subject
  const walk = walkSpf(name, answers)
  const { fault, needs, unanswered } = walk
  const judge = (): Judgement => {
    if (fault?._tag === "Missing") return missing(subject, fault.name)
    if (fault !== undefined) return { status: "invalid", message: sentenceOf(fault) }
    const silent = unanswered ?? needs[0]?.name
    if (silent !== undefined)
      return { status: "unknown", message: `No name server answered for ${silent}: the SPF record was not checked.` }
    return judgeUsable(walk, subject)
  }
  const { advised = null, message, status } = judge()
  const isOperators = owner === "operator" && status !== "pass" && status !== "unknown"
  return {
    walk,
    verdict: {
      record: "SPF",
      name,
      status,
      message: isOperators ? `${message} The operator of this platform does so.` : message,
      advised
    }
  }
}
