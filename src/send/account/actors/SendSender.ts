/**
 * Defines the actor of a sender: a verified domain or address with its tier and its queue (docs/platform.md, 9.5 and
 * 9.6). It wakes at the whole hours that promote it and at the steps of a release. Nothing else releases held mail, so
 * no other part has to remember it.
 */
import * as Actor from "../../../engine/Actor.ts"
import { maximumSenders } from "../../limits.ts"
import { nextRelease, pageOf, pagesAsked, waiting } from "../../rules/hold.ts"
import { type Mode, pageKey, partsOfSender } from "./actorKeys.ts"
import { initialSender, SenderCommand, SenderFact, SenderRejection, SenderReply, SenderState } from "./model.ts"
import { SendAccount } from "./SendAccount.ts"
import { pageOfState, SendCancelledPlaces } from "./SendCancelledPlaces.ts"
import { capOf, evolveSender, isVerified, SenderDraft, verifying, viewOfSender, wakeOfSender } from "./senderRules.ts"

type Decision = Actor.Decision<SenderFact, SenderReply, SenderRejection>

/** The keys of the pages that a release may ask for. */
const pageKeys = ({ holds }: SenderState, sender: string): ReadonlyArray<string> => {
  const asked = pagesAsked(holds)
  if (asked === undefined) return []
  const [first, last] = asked
  return Array.from({ length: last - first + 1 }, (_, index) => pageKey(sender, first + index))
}

const verify = (state: SenderState, mode: Mode, { now, read }: Actor.DecideContext): Decision => {
  const facts = verifying(state, now)
  if (facts.length === 0) return Actor.decided({ reply: viewOfSender(state) })
  if (read(SendAccount, mode).senders >= maximumSenders)
    return Actor.rejected({ _tag: "TooManySenders", maximum: maximumSenders })
  return Actor.decided({
    facts,
    others: [SendAccount.facts(mode, [{ _tag: "SenderAdded", at: now }])],
    reply: viewOfSender(facts.reduce(evolveSender, state))
  })
}

const remove = (state: SenderState, mode: Mode, now: number, force = false): Decision => {
  if (!isVerified(state)) return Actor.rejected({ _tag: "NotVerified" })
  const held = waiting(state.holds)
  if (!force && held + state.scheduled > 0)
    return Actor.rejected({ _tag: "HasWaitingMail", held, scheduled: state.scheduled })
  const fact: SenderFact = { _tag: "Removed", at: now }
  return Actor.decided({
    facts: [fact],
    others: [SendAccount.facts(mode, [{ _tag: "SenderRemoved", at: now }])],
    reply: viewOfSender(evolveSender(state, fact))
  })
}

const decide = (state: SenderState, command: SenderCommand, context: Actor.DecideContext): Decision => {
  const { now, self } = context
  const [mode] = partsOfSender(self.key)
  switch (command._tag) {
    case "Verify":
      return verify(state, mode, context)
    case "Remove":
      return remove(state, mode, now, command.force)
    case "SetDailyCap": {
      const { cap } = command
      if (cap !== null && !(Number.isSafeInteger(cap) && cap >= 1)) return Actor.rejected({ _tag: "CapInvalid" })
      const draft = new SenderDraft(self.key, state, now)
      draft.tier({ _tag: "Check" })
      if (cap !== state.customCap) draft.add([{ _tag: "CapSet", at: now, cap }])
      return Actor.decided({ facts: draft.facts, events: draft.events, reply: viewOfSender(draft.state) })
    }
    case "Check": {
      const draft = new SenderDraft(self.key, state, now)
      draft.tier({ _tag: "Check" })
      return Actor.decided({ facts: draft.facts, events: draft.events, reply: viewOfSender(draft.state) })
    }
  }
}

/** Promotions that are due, and a step of the release, or the news that the account is paused. */
const wake = (state: SenderState, { now, read, self }: Actor.DecideContext): Decision => {
  const [mode, sender] = partsOfSender(self.key)
  const draft = new SenderDraft(self.key, state, now)
  draft.tier({ _tag: "Check" })
  const due = nextRelease(draft.state.holds, capOf(draft.state))
  const answer = (others: ReadonlyArray<Actor.OtherFacts>) =>
    Actor.decided({ facts: draft.facts, others, events: draft.events, reply: viewOfSender(draft.state) })
  if (due === undefined || due > now) return answer([])
  if (read(SendAccount, mode).trust.stage === "sending_paused") {
    draft.holds({ _tag: "Pause" })
    return answer([SendAccount.facts(mode, [{ _tag: "SenderWaits", at: now, sender }])])
  }
  const asked = pagesAsked(state.holds)
  const pages = (page: number) => pageOfState(read(SendCancelledPlaces, pageKey(self.key, page)))
  draft.holds({ _tag: "Release", cap: capOf(draft.state), pages })
  const passed: Array<Actor.OtherFacts> = []
  if (asked !== undefined) {
    for (let page = asked[0]; page < Math.min(asked[1] + 1, pageOf(draft.state.holds.head)); page++) {
      const key = pageKey(self.key, page)
      if (read(SendCancelledPlaces, key).length > 0) passed.push(SendCancelledPlaces.facts(key, [{ _tag: "Passed" }]))
    }
  }
  return answer(passed)
}

/** The actor of a sender, a domain or an address; its key is made by `senderKey`. */
export const SendSender: Actor.Actor<SenderCommand, SenderFact, SenderState, SenderReply, SenderRejection> = Actor.make<
  SenderCommand,
  SenderFact,
  SenderState,
  SenderReply,
  SenderRejection
>({
  kind: "sendSender",
  command: SenderCommand,
  fact: SenderFact,
  state: SenderState,
  reply: SenderReply,
  rejection: SenderRejection,
  initial: () => initialSender,
  evolve: evolveSender,
  decide,
  touches: ({ _tag }, { key }) =>
    _tag === "Verify" || _tag === "Remove" ? [SendAccount.at(partsOfSender(key)[0])] : [],
  wakeAt: wakeOfSender,
  wakeTouches: (state, { key }) => [
    SendAccount.at(partsOfSender(key)[0]),
    ...pageKeys(state, key).map((page) => SendCancelledPlaces.at(page))
  ],
  wake
})
