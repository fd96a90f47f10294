/**
 * An email as an actor: where it is on its way, and what was reported of it. It is small, made fresh by the decision that accepts it, and out of
 * memory as soon as a checkpoint has it. Its time comes when it is scheduled for, and when it was kept long enough.
 */
import * as Actor from "../../engine/Actor.ts"
import { pageOf } from "../holdRules.ts"
import { keptEmailMillis, maximumScheduleMillis } from "../limits.ts"
import { pageOfState, SendCancelledPlaces } from "./CancelledPlaces.ts"
import { EmailCommand, EmailFact, EmailRejection, EmailState } from "./model.ts"
import { pageKey, senderKey } from "./names.ts"
import { SendAccount } from "./SendAccount.ts"
import { SendSender } from "./SendSender.ts"
import { SenderDraft } from "./senderRules.ts"

type Decision = Actor.Decision<EmailFact, EmailState, EmailRejection>

/** What happened to an email, as bits of `marks`. */
export const marks = { handedOver: 1, bounced: 2, complained: 4 } as const

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

export const evolveEmail = (state: EmailState, fact: EmailFact): EmailState => {
  const changedAt = fact.at
  switch (fact._tag) {
    case "Accepted": {
      const { _tag, at, ...given } = fact
      return { ...given, acceptedAt: at, changedAt, marks: 0 }
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
    case "HandedOver":
      return { ...state, state: "sent", marks: state.marks | marks.handedOver, changedAt }
    case "Delivered":
      return { ...state, state: "delivered", changedAt }
    case "Bounced":
      return { ...state, state: "bounced", marks: state.marks | marks.bounced, changedAt }
    case "Complained":
      return { ...state, state: "complained", marks: state.marks | marks.complained, changedAt }
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
  const fact: EmailFact = { _tag: "Canceled", at: now }
  const reply = evolveEmail(state, fact)
  const key = senderKey(mode, sender)
  if (state.state === "scheduled")
    return Actor.decided({ facts: [fact], others: [SendSender.facts(key, [{ _tag: "Unscheduled", at: now }])], reply })
  const queue = read(SendSender, key)
  if (place === null || !isHeld(state, queue.holds.head)) return Actor.decided({ facts: [fact], reply })
  const page = pageKey(key, pageOf(place))
  const pages = () => pageOfState(read(SendCancelledPlaces, page))
  const draft = new SenderDraft(queue, now)
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
  const latest = now + maximumScheduleMillis
  if (!(Number.isSafeInteger(scheduledAt) && scheduledAt <= latest))
    return Actor.rejected({ _tag: "ScheduleInvalid", latest })
  const fact: EmailFact = { _tag: "Rescheduled", at: now, scheduledAt }
  return Actor.decided({ facts: [fact], reply: evolveEmail(state, fact) })
}

/** A scheduled email's time has come: it may go, or it waits in its sender's queue. */
const due = (state: EmailState, { now, read }: Actor.DecideContext): Decision => {
  const { mode, sender } = state
  const key = senderKey(mode, sender)
  const draft = new SenderDraft(read(SendSender, key), now)
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
    reply: evolveEmail(state, fact)
  })
}

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
