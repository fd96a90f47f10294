/**
 * Decides for an account whose organization was deleted (docs/platform.md, 2.9): it accepts and releases nothing more.
 * Late delivery reports update only the email they name, so that it can expire. Pure.
 */
import * as Actor from "../../../engine/Actor.ts"
import { viewOf } from "../../rules/trust.ts"
import { type Mode, otherMode } from "./actorKeys.ts"
import type { AccountDecision } from "./decideAdmission.ts"
import { report } from "./decideReport.ts"
import type { SendAccountCommand, SendAccountFact, SendAccountState } from "./model.ts"
import { SendSuppressions } from "./SendSuppressions.ts"

/** Closes both accounts of the organization. `at` is the actor of a mode. */
export const close = (
  state: SendAccountState,
  { now, self }: Actor.DecideContext,
  factsOf: (mode: Mode, facts: ReadonlyArray<SendAccountFact>) => Actor.OtherFacts
): AccountDecision => {
  const reply = { emails: [], account: viewOf(state.trust) }
  if (state.closedAt !== undefined) return Actor.decided({ reply })
  const fact: SendAccountFact = { _tag: "Closed", at: now }
  return Actor.decided({ facts: [fact], others: [factsOf(otherMode(self.key as Mode), [fact])], reply })
}

export const afterClose = (
  state: SendAccountState,
  command: SendAccountCommand,
  context: Actor.DecideContext
): AccountDecision => {
  const account = viewOf(state.trust)
  switch (command._tag) {
    case "Admit":
    case "Preview":
      return Actor.rejected({ code: "sender_not_verified", message: "The account was deleted" })
    case "Dispatch":
      return Actor.decided({
        reply: { emails: command.emails.map(({ id }) => ({ id, state: "canceled", suppressed: 0 })), account }
      })
    case "Report": {
      const decision = report(state, command, context)
      if (!decision.accepted) return decision
      const others = decision.others.filter(({ actor }) => actor !== SendSuppressions)
      return Actor.decided({ others, reply: { emails: decision.reply?.emails ?? [], account } })
    }
    default:
      return Actor.decided({ reply: { emails: [], account } })
  }
}
