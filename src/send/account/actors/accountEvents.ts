/**
 * Makes the public events of an account's decisions (docs/platform.md, 5.2). Events of accounts and senders follow from
 * the facts beside them; those of emails repeat the report, because no state has an email's content. Pure.
 */
import type { PublicEvent } from "../../../engine/Actor.ts"
import { publicEvent } from "../../../events/index.ts"
import { maximumReasonLength } from "../../limits.ts"
import { emailStateTable } from "../../rules/emailStates.ts"
import type { TriggerCount } from "../../rules/pause.ts"
import { type Mode, partsOfSender } from "./actorKeys.ts"
import type { EmailReport, SendAccountFact, SenderFact } from "./model.ts"

const isLive = (mode: Mode): boolean => mode === "live"
const iso = (at: number): string => new Date(at).toISOString()

const accountEvent = (mode: Mode, fact: SendAccountFact): PublicEvent | undefined => {
  switch (fact._tag) {
    case "Paused": {
      const data = { trustStage: "sending_paused", pauseReason: fact.reason, pausedAt: iso(fact.at) } as const
      return publicEvent("send.account.paused", data, isLive(mode))
    }
    case "Established": {
      const data = { trustStage: "established", previousTrustStage: "probation", promotedAt: iso(fact.at) } as const
      return publicEvent("send.account.promoted", data, isLive(mode))
    }
    case "Trusted": {
      const data = { trustStage: "trusted", previousTrustStage: "established", promotedAt: iso(fact.at) } as const
      return publicEvent("send.account.promoted", data, isLive(mode))
    }
    default:
      return undefined
  }
}

/** The events of an account's decision for its organization. */
export const accountEvents = (mode: Mode, facts: ReadonlyArray<SendAccountFact>): ReadonlyArray<PublicEvent> => {
  const events: Array<PublicEvent> = []
  for (const fact of facts) {
    const event = accountEvent(mode, fact)
    if (event !== undefined) events.push(event)
  }
  return events
}

export const warningType = "send.account.warning"

/** Warnings of an account before it is paused. */
export const warningEvents = (mode: Mode, warnings: ReadonlyArray<TriggerCount>): ReadonlyArray<PublicEvent> =>
  warnings.map(({ count, limit, trigger }) => publicEvent(warningType, { trigger, count, limit }, isLive(mode)))

/** A sender's promotion, with its daily cap after it. */
export const promotionEvent = (
  key: string,
  { at, tier }: Extract<SenderFact, { readonly _tag: "Promoted" }>,
  emailsPerDay: number
): ReadonlyArray<PublicEvent> => {
  const [mode, sender] = partsOfSender(key)
  // Nothing leads to the lowest tier.
  if (tier === "new") return []
  const previousTier = tier === "warming" ? "new" : "warming"
  const data = { sender, tier, previousTier, emailsPerDay, promotedAt: iso(at) } as const
  return [publicEvent("send.domain.promoted", data, isLive(mode))]
}

/**
 * The events of reports: those of the states that they lead to, and one of a delay, which leaves the email as it is.
 */
const types = {
  handedOver: emailStateTable.sent.event,
  delayed: "send.email.delayed",
  failed: emailStateTable.failed.event,
  delivered: emailStateTable.delivered.event,
  bounced: emailStateTable.bounced.event,
  complained: emailStateTable.complained.event
} as const

/** The event of a report that counts; undefined where the report does not say enough for one. */
export const emailEvent = (mode: Mode, report: EmailReport): PublicEvent | undefined => {
  const { code = null, from, id: messageId, kind = null, recipient, subject, to, what } = report
  if (from === undefined || subject === undefined) return undefined
  const reason = report.reason?.slice(0, maximumReasonLength).toWellFormed() ?? null
  const isOfLive = isLive(mode)
  switch (what) {
    case "handedOver":
      return to && publicEvent(types[what], { messageId, from, to, subject }, isOfLive)
    case "delayed":
      return to && publicEvent(types[what], { messageId, from, to, subject, code, reason }, isOfLive)
    case "failed":
      if (to === undefined || kind === null) return undefined
      return publicEvent(types[what], { messageId, from, to, subject, code, kind, reason }, isOfLive)
    default:
      if (recipient === undefined) return undefined
      return publicEvent(types[what], { messageId, recipient, from, subject, code, kind, reason }, isOfLive)
  }
}
