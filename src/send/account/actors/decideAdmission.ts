/**
 * Decides a request to send as one decision of the engine: the account's rule, the senders' queues, the suppression
 * list and the new emails (docs/platform.md, 9.7). It is accepted whole or not at all.
 */
import { formatLevels } from "../../../common/formatLevels.ts"
import * as Actor from "../../../engine/Actor.ts"
import { OrganizationActor } from "../../../platform/OrganizationActor.ts"
import { maximumEmails, maximumRecipients, maximumScheduleMillis, scheduleSkewMillis } from "../../limits.ts"
import { type AdmissionAnswer, admission } from "../../rules/admission.ts"
import { warningsOf } from "../../rules/pauseWarnings.ts"
import { accountEvents, warningEvents } from "./accountEvents.ts"
import { type Mode, namesOf, type SuppressionPlace, senderKey, suppressionPlace } from "./actorKeys.ts"
import type {
  AdmitEmail,
  EmailAnswer,
  EmailFact,
  SendAccountCommand,
  SendAccountFact,
  SendAccountRejection,
  SendAccountReply,
  SendAccountState
} from "./model.ts"
import { SendEmail } from "./SendEmail.ts"
import { SendSender } from "./SendSender.ts"
import { isSuppressed, SendSuppressions } from "./SendSuppressions.ts"
import { isVerified, SenderDraft } from "./senderRules.ts"
import { suppressedMask } from "./suppressedMask.ts"

export type AccountDecision = Actor.Decision<SendAccountFact, SendAccountReply, SendAccountRejection>
type Admit = Extract<SendAccountCommand, { readonly _tag: "Admit" | "Preview" }>

/** Where recipients stand in the suppression list. */
export type Places = ReadonlyMap<string, SuppressionPlace>

export const placesOf = (
  emails: ReadonlyArray<{ readonly recipients: ReadonlyArray<string> }>,
  organization: string,
  mode: Mode
): Places => {
  const places = new Map<string, SuppressionPlace>()
  for (const { recipients } of emails)
    for (const recipient of recipients)
      if (!places.has(recipient)) places.set(recipient, suppressionPlace(organization, mode, recipient))
  return places
}

export const bucketsOf = (places: Places): ReadonlyArray<Actor.Touched> =>
  [...new Set([...places.values()].map(({ key }) => key))].map((key) => SendSuppressions.at(key))

/** The actors that a command names: the places of its recipients, and the possible names of its senders, by `from`. */
interface Named {
  readonly organization: string
  readonly mode: Mode
  readonly places: Places
  readonly names: ReadonlyMap<string, readonly [domain: string, address: string]>
}

/** The findings of `touches` about a command, kept for its decision right after it: hashing costs as much as the rule. */
const namedByCommand = new WeakMap<object, Named>()

const namedBy = (command: Admit, organization: string, mode: Mode): Named => {
  const known = namedByCommand.get(command)
  if (known?.organization === organization && known.mode === mode) return known
  const places = placesOf(command.emails, organization, mode)
  const names = new Map<string, readonly [domain: string, address: string]>()
  for (const { from } of command.emails) if (!names.has(from)) names.set(from, namesOf(from))
  const named: Named = { organization, mode, places, names }
  namedByCommand.set(command, named)
  return named
}

export const admitTouches = (command: Admit, organization: string, mode: Mode): ReadonlyArray<Actor.Touched> => {
  const { names, places } = namedBy(command, organization, mode)
  const senders = new Set([...names.values()].flat())
  return [
    OrganizationActor.at(),
    ...[...senders].map((name) => SendSender.at(senderKey(mode, name))),
    ...bucketsOf(places),
    ...command.emails.map(({ id }) => SendEmail.at(id, { fresh: true }))
  ]
}

const problemOf = ({ emails }: Admit, now: number, read: Actor.DecideContext["read"]): string | undefined => {
  if (emails.length === 0 || emails.length > maximumEmails) return `a request has 1 to ${maximumEmails} emails`
  const ids = new Set<string>()
  const latest = now + maximumScheduleMillis + scheduleSkewMillis
  for (const { id, recipients, scheduledAt } of emails) {
    if (recipients.length === 0 || recipients.length > maximumRecipients)
      return `an email has 1 to ${maximumRecipients} recipients`
    if (scheduledAt !== undefined && !(Number.isSafeInteger(scheduledAt) && scheduledAt <= latest))
      return `an email is scheduled at most ${maximumScheduleMillis} ms ahead`
    // Only what memory shows: each request has new ids, and an idempotency key stands before a repeat.
    if (ids.has(id) || read(SendEmail, id).state !== "none") return `the id ${id} was used before`
    ids.add(id)
  }
  return undefined
}

/** Puts the accepted emails into their senders' queues, and says what became of each. */
class Placing {
  readonly others: Array<Actor.OtherFacts> = []
  readonly answers: Array<EmailAnswer> = []
  readonly facts: Array<SendAccountFact> = []
  readonly events: Array<Actor.PublicEvent> = []
  private readonly drafts = new Map<string, SenderDraft>()
  private readonly context: Actor.DecideContext
  private readonly mode: Mode
  private readonly goes: boolean

  constructor(context: Actor.DecideContext, mode: Mode, goes: boolean) {
    this.context = context
    this.mode = mode
    this.goes = goes
  }

  /** The senders that the request uses, with how many emails go immediately and how many have a time of their own. */
  takeIn(
    emails: ReadonlyArray<AdmitEmail>,
    answers: ReadonlyArray<AdmissionAnswer>,
    nameOf: (from: string) => string,
    waiting: ReadonlyArray<string>
  ): void {
    const { now } = this.context
    const isPaused = answers.some(({ state }) => state === "held")
    const isScheduled = ({ scheduledAt }: AdmitEmail) => scheduledAt !== undefined && scheduledAt > now
    const counts = new Map<string, { soon: number; scheduled: number }>()
    for (const [index, email] of emails.entries()) {
      if (answers[index]?.state === "suppressed") continue
      const name = nameOf(email.from)
      const count = counts.get(name) ?? { soon: 0, scheduled: 0 }
      if (isScheduled(email)) count.scheduled++
      else count.soon++
      counts.set(name, count)
    }
    const places = new Map<string, ReturnType<SenderDraft["accept"]>>()
    for (const [name, { scheduled, soon }] of counts) {
      const key = senderKey(this.mode, name)
      const draft = new SenderDraft(key, this.context.read(SendSender, key), now)
      this.drafts.set(name, draft)
      draft.tier({ _tag: "Check" })
      if (scheduled > 0) draft.add([{ _tag: "Scheduled", at: now, emails: scheduled }])
      if (soon === 0) continue
      if (isPaused) {
        draft.holds({ _tag: "Pause" })
        if (!waiting.includes(name)) this.facts.push({ _tag: "SenderWaits", at: now, sender: name })
      }
      places.set(name, draft.accept(soon))
    }
    const taken = new Map<string, number>()
    for (const [index, email] of emails.entries()) {
      const name = nameOf(email.from)
      const mask = suppressedMask(email.recipients, (one) => answers[index]?.suppressed.includes(one) === true)
      if (answers[index]?.state === "suppressed") this.place(email, name, "suppressed", mask)
      else if (isScheduled(email)) this.place(email, name, "scheduled", mask)
      else {
        const before = taken.get(name) ?? 0
        taken.set(name, before + 1)
        const { held, released } = places.get(name) ?? { held: [], released: 0 }
        this.place(email, name, before < released ? "queued" : "held", mask, held[before - released])
      }
    }
    for (const [name, { events, facts }] of this.drafts) {
      this.others.push(SendSender.facts(senderKey(this.mode, name), facts))
      this.events.push(...events)
    }
  }

  private place(
    { bytes, id, pointer = "", scheduledAt }: AdmitEmail,
    sender: string,
    state: "queued" | "held" | "scheduled" | "suppressed",
    suppressed: number,
    held?: { readonly place: number; readonly heldUntil: number | null }
  ): void {
    const at = this.context.now
    const accepted: EmailFact = {
      _tag: "Accepted",
      at,
      state,
      mode: this.mode,
      sender,
      place: held?.place ?? null,
      scheduledAt: state === "scheduled" ? (scheduledAt ?? null) : null,
      pointer,
      // A node that does not know it would fold it away, and the end would say none.
      ...(bytes === undefined || this.context.level < formatLevels.contentSizes ? {} : { bytes })
    }
    const dispatched: EmailFact = { _tag: "Dispatched", at, ...(suppressed === 0 ? {} : { suppressed }) }
    this.others.push(SendEmail.facts(id, this.goes && state === "queued" ? [accepted, dispatched] : [accepted]))
    const heldUntil = held?.heldUntil ?? undefined
    this.answers.push({
      id,
      state,
      suppressed,
      ...(heldUntil === undefined ? {} : { heldUntil }),
      // A repeat of a request with words for a time is answered with the time that the first one got.
      ...(state === "scheduled" && scheduledAt !== undefined ? { scheduledAt } : {})
    })
  }
}

/** The name of the verified sender of a `from`, if there is one. It is asked several times of each email, most of which have the same sender. */
const nameOf = ({ mode, names }: Named, read: Actor.DecideContext["read"]) => {
  const found = new Map<string, string | undefined>()
  return (from: string): string | undefined => {
    if (!found.has(from))
      found.set(
        from,
        names.get(from)?.find((name) => isVerified(read(SendSender, senderKey(mode, name))))
      )
    return found.get(from)
  }
}

export const admit = (state: SendAccountState, command: Admit, context: Actor.DecideContext): AccountDecision => {
  const { now, read, self } = context
  // An account's key is its mode.
  const mode = self.key as Mode
  const message = problemOf(command, now, read)
  if (message !== undefined) return Actor.rejected({ _tag: "RequestInvalid", message })
  const named = namedBy(command, self.organization, mode)
  const { places } = named
  const senderOf = nameOf(named, read)
  const plan = read(OrganizationActor).sendPlan ?? state.plan
  const { facts, rejection, reply } = admission.decide(
    plan === state.plan ? state : { ...state, plan },
    {
      _tag: "Send",
      emails: command.emails.map(({ from, id, recipients, signals = [] }) => ({
        id,
        sender: from,
        recipients,
        signals
      })),
      isVerified: (from) => senderOf(from) !== undefined,
      isSuppressed: (recipient) => {
        const place = places.get(recipient)
        return place !== undefined && isSuppressed(read(SendSuppressions, place.key), place.entry)
      },
      upgradeUrl: command.upgradeUrl
    },
    now
  )
  if (rejection !== undefined) return Actor.rejected(rejection)
  const placing = new Placing(context, mode, command._tag === "Admit" && command.goes === true)
  const answers = reply?.emails ?? []
  placing.takeIn(command.emails, answers, (from) => senderOf(from) ?? "", state.waiting)
  return Actor.decided({
    facts: [...facts, ...placing.facts],
    others: placing.others,
    events: [...accountEvents(mode, facts), ...warningEvents(mode, warningsOf(state, facts, now)), ...placing.events],
    reply: { emails: placing.answers, account: reply?.account ?? { trustStage: state.trust.stage } }
  })
}

/** The same decision, of which nothing is kept. */
export const preview = (state: SendAccountState, command: Admit, context: Actor.DecideContext): AccountDecision => {
  const decision = admit(state, command, context)
  return decision.accepted ? Actor.rejected({ _tag: "Acceptable" }) : decision
}
