/**
 * Which public events a decision about sending must have: one for each change of a stage, a tier or an email, none twice, none lost. It looks at what the
 * model makes of the stored facts and at the command, and knows nothing of how events are made. Pure.
 */
import type { Decided } from "../../../src/simulation/engine/Decisions.ts"
import { goneStates, heardOf, type ModelFact, type SendModel } from "./SendModel.ts"

interface Report {
  readonly id: string
  readonly sender: string
  readonly what: string
  readonly recipient?: string
  readonly from?: string
  readonly to?: ReadonlyArray<string>
  readonly subject?: string
  readonly code?: string
  readonly kind?: string
  readonly reason?: string
}

interface TriggerCount {
  readonly trigger: string
  readonly count: number
  readonly limit: number
}

interface Event {
  readonly type: string
  readonly livemode: boolean
  readonly data: unknown
}

/** A record of a decision, read. */
export type StoredRecord = readonly [organization: string, kind: string, key: string, content: ModelFact & Event]

const iso = (at: number): string => new Date(at).toISOString()

const reportsOf = ({ command }: Decided): ReadonlyArray<Report> => {
  const { _tag, reports = [] } = (command ?? {}) as { readonly _tag?: string; readonly reports?: ReadonlyArray<Report> }
  return _tag === "Report" ? reports : []
}

const whats: Readonly<Record<string, string>> = {
  HandedOver: "handedOver",
  Delayed: "delayed",
  Failed: "failed",
  Delivered: "delivered",
  Bounced: "bounced",
  Complained: "complained"
}

/** The event of a change that reports have told: the first of them that says it counts, and that names the email's own sender. */
const eventOfEmail = (
  id: string,
  fact: ModelFact,
  sender: string,
  reports: ReadonlyArray<Report>
): Event | undefined => {
  const what = whats[fact._tag]
  const isOfAll = fact.recipient === undefined
  const report = reports.find(
    (one) =>
      one.id === id && one.sender === sender && one.what === what && (isOfAll || one.recipient === fact.recipient)
  )
  if (what === undefined || report?.subject === undefined) return undefined
  const { code = null, from, kind = null, reason = null, recipient, subject, to } = report
  const named = { messageId: id, from, subject }
  const type = `send.email.${what === "handedOver" ? "sent" : what}`
  const data = {
    handedOver: { ...named, to },
    delayed: { ...named, to, code, reason },
    failed: { ...named, to, code, kind, reason }
  }[what]
  return { type, livemode: true, data: data ?? { ...named, recipient, code, kind, reason } }
}

const eventOfFact = (
  [, kind, key, fact]: StoredRecord,
  model: SendModel,
  reports: ReadonlyArray<Report>
): Event | undefined => {
  switch (`${kind} ${fact._tag}`) {
    case "sendAccount Paused": {
      const data = { trustStage: "sending_paused", pauseReason: fact.reason, pausedAt: iso(fact.at) }
      return { type: "send.account.paused", livemode: true, data }
    }
    case "sendAccount Established":
    case "sendAccount Trusted": {
      const [trustStage, previousTrustStage] =
        fact._tag === "Trusted" ? ["trusted", "established"] : ["established", "probation"]
      const data = { trustStage, previousTrustStage, promotedAt: iso(fact.at) }
      return { type: "send.account.promoted", livemode: true, data }
    }
    case "sendSender Promoted": {
      const name = key.slice(key.indexOf("/") + 1)
      const sender = model.sender(name)
      const emailsPerDay = model.capOf({ ...sender, tier: fact.tier })
      const previousTier = fact.tier === "warming" ? "new" : "warming"
      const data = { sender: name, tier: fact.tier, previousTier, emailsPerDay, promotedAt: iso(fact.at) }
      return { type: "send.domain.promoted", livemode: true, data }
    }
    default:
      return kind === "sendEmail" ? eventOfEmail(key, fact, model.emails[key]?.sender ?? "", reports) : undefined
  }
}

/** As text with sorted fields, so that two events can be compared. */
const textOf = ({ data, livemode, type }: Event): string => {
  const fields = Object.entries(data as object).sort(([left], [right]) => (left < right ? -1 : 1))
  return JSON.stringify({ type, livemode, data: fields })
}

/** A report that must count and was not taken in. */
const lostReport = (before: SendModel, after: SendModel, reports: ReadonlyArray<Report>): string | undefined => {
  for (const { id, recipient, sender, what } of reports) {
    const email = after.emails[id]
    const was = before.emails[id]?.state ?? "none"
    if (email === undefined || email.sender !== sender) continue
    const isGoing = was === "sending" || (before.emails[id]?.heard.length ?? 0) > 0
    if (what === "handedOver" && isGoing && email.state !== "failed" && email.handedOver === 0)
      return `the hand-over of ${id} was not taken in`
    if (what === "failed" && was === "sending" && email.state !== "failed")
      return `the failure of ${id} was not taken in`
    const isOfRecipient = what === "delivered" || what === "bounced" || what === "complained"
    if (
      isOfRecipient &&
      goneStates.includes(was) &&
      recipient !== undefined &&
      !email.heard.includes(heardOf(what, recipient))
    )
      return `${id} was ${what}, which was not taken in`
  }
  return undefined
}

const warningType = "send.account.warning"

/** A warning comes before a pause: not with one, and each trigger has one at most. */
const warningProblem = (events: ReadonlyArray<Event>, records: ReadonlyArray<StoredRecord>): string | undefined => {
  const warnings = events.filter(({ type }) => type === warningType).map(({ data }) => data as TriggerCount)
  if (warnings.length === 0) return undefined
  const isPaused = records.some(([, , , { _tag }]) => _tag === "Paused")
  const isWrong = warnings.some(({ count, limit }) => count < 1 || count >= limit)
  const isTwice = new Set(warnings.map(({ trigger }) => trigger)).size < warnings.length
  return isPaused || isWrong || isTwice ? `a warning that is none: ${JSON.stringify(warnings)}` : undefined
}

/** What is wrong with the events of a stored decision; undefined for nothing. `before` and `after`: the model around it. */
export const eventsProblem = (
  before: SendModel,
  after: SendModel,
  decided: Decided,
  records: ReadonlyArray<StoredRecord>
): string | undefined => {
  const reports = reportsOf(decided)
  const events = records.flatMap(([, , , content]) => ("type" in content ? [content] : []))
  const told = events
    .filter(({ type }) => type !== warningType)
    .map(textOf)
    .sort()
  const wrongWarning = warningProblem(events, records)
  if (wrongWarning !== undefined) return wrongWarning
  const due = records.flatMap((one) => {
    const event = "type" in one[3] ? undefined : eventOfFact(one, after, reports)
    return event === undefined ? [] : [textOf(event)]
  })
  const missing = due.find((text) => !told.includes(text))
  if (missing !== undefined) return `no event tells ${missing}`
  const twice = told.find((text, index) => told[index - 1] === text)
  if (twice !== undefined) return `told twice: ${twice}`
  const extra = told.find((text) => !due.includes(text))
  if (extra !== undefined) return `an event tells what has not happened: ${extra}`
  return lostReport(before, after, reports)
}
