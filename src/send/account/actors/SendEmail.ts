/**
 * Defines an email as an actor: its progress, and the reports about it. It is small, made fresh by the decision that
 * accepts it, and out of memory as soon as a checkpoint has it. It wakes at its scheduled time, and when it was kept
 * long enough.
 */
import { hash } from "node:crypto"
import * as Actor from "../../../engine/Actor.ts"
import { keptEmailMillis, maximumHeard, maximumScheduleMillis, scheduleSkewMillis } from "../../limits.ts"
import { pageOf } from "../../rules/hold.ts"
import { bareAddress, pageKey, senderKey } from "./actorKeys.ts"
import { EmailCommand, EmailFact, EmailRejection, EmailState } from "./model.ts"
import { SendAccount } from "./SendAccount.ts"
import { pageOfState, SendCancelledPlaces } from "./SendCancelledPlaces.ts"
import { SendSender } from "./SendSender.ts"
import { SenderDraft } from "./senderRules.ts"

type Decision = Actor.Decision<EmailFact, EmailState, EmailRejection>

/**
 * The history of an email, as bits of `marks`: handed over, bounced for good, complained about, delayed. `early`: a recipient's report came while the email
 * was `sending`, which overtook that of the hand-over, or the relay refused it.
 */
export const marks = { handedOver: 1, bounced: 2, complained: 4, delayed: 8, early: 16 } as const

/** The first end of an email. */
const ends = ["Canceled", "Suppressed", "HandedOver", "Failed", "Bounced"] as const

/** A report about one recipient. */
export type Feedback = "delivered" | "bounced" | "complained"

/** Characters of an entry of `heard`: 48 bits of a hash tell an email's few recipients apart. */
const heardLength = 8

const heardEntry = (what: Feedback, recipient: string): string =>
  hash("sha256", `${what}\n${bareAddress(recipient)}`, "base64url").slice(0, heardLength)

/** Whether a report of a recipient was heard before, or there is no room to remember another one. */
export const isHeard = ({ heard = "" }: EmailState, what: Feedback, recipient: string): boolean => {
  const entry = heardEntry(what, recipient)
  for (let at = 0; at < heard.length; at += heardLength) if (heard.startsWith(entry, at)) return true
  return heard.length >= maximumHeard * heardLength
}

/** A state that has heard of a recipient. */
const hearing = (state: EmailState, what: Feedback, recipient: string, bits: number): EmailState => {
  const early = (state.marks & marks.handedOver) === 0 ? marks.early : 0
  const heard = (state.heard ?? "") + heardEntry(what, recipient)
  return { ...state, marks: state.marks | early | bits, heard }
}

const initial: EmailState = {
  state: "none",
  mode: "live",
  sender: "",
  place: null,
  scheduledAt: null,
  pointer: "",
  acceptedAt: 0,
  changedAt: 0,
  marks: 0
}

/** With an end from which on the content is kept for seven days, the bytes that it takes. What happens to the email later says them no more. */
export const ending = (state: EmailState, fact: EmailFact): EmailFact =>
  state.bytes !== undefined && endsEmail(fact) ? { ...fact, bytes: state.bytes } : fact

/** Whether a fact is an email's end, or a later one after it. */
const endsEmail = (fact: EmailFact): fact is Extract<EmailFact, { readonly _tag: (typeof ends)[number] }> =>
  (ends as ReadonlyArray<string>).includes(fact._tag)

export const evolveEmail = (state: EmailState, fact: EmailFact): EmailState => {
  const { bytes, ...ended } = state
  return bytes !== undefined && endsEmail(fact) ? evolved(ended, fact) : evolved(state, fact)
}

const evolved = (state: EmailState, fact: EmailFact): EmailState => {
  const changedAt = fact.at
  switch (fact._tag) {
    case "Accepted": {
      const { _tag, at, bytes, ...given } = fact
      // One to suppressed recipients alone has ended already.
      const kept = bytes === undefined || given.state === "suppressed" ? {} : { bytes }
      return { ...given, ...kept, acceptedAt: at, changedAt, marks: 0 }
    }
    case "Rescheduled":
      return { ...state, scheduledAt: fact.scheduledAt, changedAt }
    case "Queued":
      return { ...state, state: "queued", changedAt }
    case "Held":
      return { ...state, state: "held", place: fact.place, changedAt }
    case "Canceled":
      return { ...state, state: "canceled", changedAt }
    case "Suppressed":
      return { ...state, state: "suppressed", changedAt }
    case "Dispatched":
      return { ...state, state: "sending", changedAt }
    case "Delayed":
      return { ...state, marks: state.marks | marks.delayed, changedAt }
    case "HandedOver": {
      // A recipient's report may have come before, and says more.
      const after = state.state === "sending" ? "sent" : state.state
      return { ...state, state: after, marks: state.marks | marks.handedOver, changedAt }
    }
    case "Delivered": {
      const after = state.state === "sending" || state.state === "sent" ? "delivered" : state.state
      return { ...hearing(state, "delivered", fact.recipient, 0), state: after, changedAt }
    }
    case "Bounced":
      return {
        ...hearing(state, "bounced", fact.recipient, fact.counts === false ? 0 : marks.bounced),
        state: "bounced",
        changedAt
      }
    case "Complained":
      return { ...hearing(state, "complained", fact.recipient, marks.complained), state: "complained", changedAt }
    case "Failed":
      return { ...state, state: "failed", changedAt }
    case "Forgotten":
      return initial
  }
}

const isWaiting = (state: EmailState): boolean =>
  state.state === "queued" || state.state === "held" || state.state === "scheduled"

/** Whether the email stands in its sender's queue still, and was not released. */
export const isHeld = ({ place, state }: EmailState, head: number): boolean =>
  state === "held" && place !== null && place >= head

const cancel = (
  state: EmailState,
  command: Extract<EmailCommand, { _tag: "Cancel" }>,
  { now, read }: Actor.DecideContext
): Decision => {
  if (!isWaiting(state)) return Actor.rejected({ _tag: "NotWaiting", state: state.state })
  const { mode, place, sender } = state
  if (command.mode !== mode || command.sender !== sender || command.place !== place)
    return Actor.rejected({ _tag: "Moved", mode, sender, place })
  const fact = ending(state, { _tag: "Canceled", at: now })
  const reply = evolveEmail(state, fact)
  const key = senderKey(mode, sender)
  if (state.state === "scheduled")
    return Actor.decided({ facts: [fact], others: [SendSender.facts(key, [{ _tag: "Unscheduled", at: now }])], reply })
  const queue = read(SendSender, key)
  if (place === null || !isHeld(state, queue.holds.head)) return Actor.decided({ facts: [fact], reply })
  const page = pageKey(key, pageOf(place))
  const pages = () => pageOfState(read(SendCancelledPlaces, page))
  const draft = new SenderDraft(key, queue, now)
  draft.holds({ _tag: "Cancel", place, pages })
  const others = [SendSender.facts(key, draft.facts), SendCancelledPlaces.facts(page, [{ _tag: "Cancelled", place }])]
  return Actor.decided({ facts: [fact], others, reply })
}

const reschedule = (
  state: EmailState,
  { scheduledAt }: Extract<EmailCommand, { _tag: "Reschedule" }>,
  now: number
): Decision => {
  if (state.state !== "scheduled") return Actor.rejected({ _tag: "NotWaiting", state: state.state })
  const latest = now + maximumScheduleMillis + scheduleSkewMillis
  if (!(Number.isSafeInteger(scheduledAt) && scheduledAt <= latest))
    return Actor.rejected({ _tag: "ScheduleInvalid", latest })
  const fact: EmailFact = { _tag: "Rescheduled", at: now, scheduledAt }
  return Actor.decided({ facts: [fact], reply: evolveEmail(state, fact) })
}

/** A scheduled email's time has come: it may go, or it waits in its sender's queue. */
const due = (state: EmailState, { now, read }: Actor.DecideContext): Decision => {
  const { mode, sender } = state
  const key = senderKey(mode, sender)
  const draft = new SenderDraft(key, read(SendSender, key), now)
  const account = read(SendAccount, mode)
  draft.tier({ _tag: "Check" })
  draft.add([{ _tag: "Unscheduled", at: now }])
  const others: Array<Actor.OtherFacts> = []
  if (account.trust.stage === "sending_paused") {
    draft.holds({ _tag: "Pause" })
    if (!account.waiting.includes(sender))
      others.push(SendAccount.facts(mode, [{ _tag: "SenderWaits", at: now, sender }]))
  }
  const [held] = draft.accept(1).held
  const fact: EmailFact =
    held === undefined ? { _tag: "Queued", at: now } : { _tag: "Held", at: now, place: held.place }
  return Actor.decided({
    facts: [fact],
    others: [SendSender.facts(key, draft.facts), ...others],
    events: draft.events,
    reply: evolveEmail(state, fact)
  })
}

/** The actor of one email; its key is the email's id. */
export const SendEmail: Actor.Actor<EmailCommand, EmailFact, EmailState, EmailState, EmailRejection> = Actor.make<
  EmailCommand,
  EmailFact,
  EmailState,
  EmailState,
  EmailRejection
>({
  kind: "sendEmail",
  command: EmailCommand,
  fact: EmailFact,
  state: EmailState,
  reply: EmailState,
  rejection: EmailRejection,
  initial: () => initial,
  evolve: evolveEmail,
  decide: (state, command, context) =>
    command._tag === "Cancel" ? cancel(state, command, context) : reschedule(state, command, context.now),
  touches: (command) => {
    if (command._tag === "Reschedule") return []
    const { mode, place, sender } = command
    const key = senderKey(mode, sender)
    return place === null
      ? [SendSender.at(key)]
      : [SendSender.at(key), SendCancelledPlaces.at(pageKey(key, pageOf(place)))]
  },
  wakeAt: (state) => {
    if (state.state === "scheduled") return state.scheduledAt ?? undefined
    return isWaiting(state) || state.state === "sending" || state.state === "none"
      ? undefined
      : state.changedAt + keptEmailMillis
  },
  wakeTouches: ({ mode, sender, state }) =>
    state === "scheduled" ? [SendAccount.at(mode), SendSender.at(senderKey(mode, sender))] : [],
  wake: (state, context) =>
    state.state === "scheduled"
      ? due(state, context)
      : Actor.decided({ facts: [{ _tag: "Forgotten", at: context.now }], reply: initial }),
  isOver: ({ state }) => state === "none",
  leavesMemory: "after its checkpoint"
})
