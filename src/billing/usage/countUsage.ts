/**
 * Counts usage from the records of the log (docs/platform.md, 11.8): how much each product was used in each hour. Work
 * that is a fact anyway (a look-up, a speech, an accepted email) is counted from that fact alone, so nothing is counted
 * twice. Pure: the projection adds it up in PostgreSQL, and a recount of the whole log finds the same.
 */
import type { LogRecord } from "../../engine/records.ts"
import { testEventsKind } from "../../events/index.ts"
import type { CountedProduct } from "../../platform/CallCounts.ts"
import { type EmailFact, keptContentMillis, SendAccount, type SendAccountFact, SendEmail } from "../../send/index.ts"
import {
  CallCountsActor,
  type CountedFact,
  type CountedType,
  hourOf,
  type ReportedFact,
  UsageReportsActor
} from "./model.ts"

/** A use of a product in an hour. */
export interface UsageCount {
  readonly organization: string
  /** The start of the hour, Unix milliseconds. */
  readonly hour: number
  readonly product: CountedProduct
  readonly usageType: CountedType
  readonly quantity: number
}

/** The events that are calls, by their types. */
const callEvents: Readonly<Record<string, CountedProduct>> = {
  "telco.lookup.completed": "telco",
  "telco.lookups.completed": "telco",
  "telco.search.completed": "telco",
  "talk.speech.completed": "talk"
}

const kinds: ReadonlySet<string> = new Set([
  CallCountsActor.kind,
  UsageReportsActor.kind,
  SendAccount.kind,
  SendEmail.kind
])

/** Whether a record may tell of usage. An operator's test events do not: nobody called. */
export const tellsOfUsage = (record: LogRecord): boolean =>
  record._tag === "Fact"
    ? kinds.has(record.kind)
    : record.kind !== testEventsKind && Object.hasOwn(callEvents, record.event.type)

/** A request to send that took emails is one call. Test keys' emails are not sent, and so are none. */
const ofSending = (fact: SendAccountFact, mode: string): ReadonlyArray<readonly [CountedType, number]> => {
  if (fact._tag !== "Accepted") return []
  return mode === "live" && fact.emails > 0
    ? [
        ["apiCalls", 1],
        ["emails", fact.emails]
      ]
    : [["apiCalls", 1]]
}

/**
 * The changes of contents, each with its hour: an email's takes room from its acceptance until seven days after its
 * end.
 */
const ofEmail = (fact: EmailFact): ReadonlyArray<readonly [hour: number, bytes: number]> => {
  if (!("bytes" in fact) || fact.bytes === undefined) return []
  const gone = [hourOf(fact.at + keptContentMillis), -fact.bytes] as const
  if (fact._tag !== "Accepted") return [gone]
  const kept = [hourOf(fact.at), fact.bytes] as const
  // It went to suppressed recipients alone, so that its acceptance is its end.
  return fact.state === "suppressed" ? [kept, gone] : [kept]
}

/** Counts the usage of a record. The actors' own schemas have decoded its fact before. */
export const usedIn = (record: LogRecord): ReadonlyArray<UsageCount> => {
  if (!tellsOfUsage(record)) return []
  const { organization } = record
  const hour = hourOf(record.now)
  if (record._tag === "Event") {
    const product = callEvents[record.event.type]!
    return [{ organization, hour, product, usageType: "apiCalls", quantity: 1 }]
  }
  if (record.kind === CallCountsActor.kind)
    return (record.fact as CountedFact).calls.map(([product, quantity]) => ({
      organization,
      hour: (record.fact as CountedFact).hour,
      product,
      usageType: "apiCalls",
      quantity
    }))
  if (record.kind === UsageReportsActor.kind) {
    const { product, quantity, usageType } = record.fact as ReportedFact
    return [{ organization, hour, product, usageType, quantity }]
  }
  if (record.kind === SendEmail.kind)
    return ofEmail(record.fact as EmailFact).map(([at, quantity]) => ({
      organization,
      hour: at,
      product: "send",
      usageType: "contents",
      quantity
    }))
  return ofSending(record.fact as SendAccountFact, record.key).map(([usageType, quantity]) => ({
    organization,
    hour,
    product: "send",
    usageType,
    quantity
  }))
}

/** Adds uses up, one for each organization, hour, product and type. */
export const summed = (uses: Iterable<UsageCount>): ReadonlyArray<UsageCount> => {
  const sums = new Map<string, UsageCount>()
  for (const one of uses) {
    const name = `${one.organization}\n${one.hour}\n${one.product}\n${one.usageType}`
    const before = sums.get(name)
    sums.set(name, before === undefined ? one : { ...one, quantity: before.quantity + one.quantity })
  }
  return [...sums.values()]
}
