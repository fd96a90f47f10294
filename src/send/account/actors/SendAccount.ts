/**
 * Defines the actor of an organization's account in one mode (docs/platform.md, 9): its state, and when it wants to be
 * woken. That is at the whole hours at which its stage may change, and when a pause was lifted that senders wait for.
 * Its rules are apart (`accountRules.ts`), because they name emails and senders, whose rules name the account.
 */
import * as Actor from "../../../engine/Actor.ts"
import { evolve as evolveRules } from "../../rules/account.ts"
import { nextTransition } from "../../rules/trust.ts"
import {
  initialSendAccount,
  SendAccountCommand,
  SendAccountFact,
  SendAccountRejection,
  SendAccountReply,
  SendAccountState
} from "./model.ts"

export const evolveAccount = (state: SendAccountState, fact: SendAccountFact): SendAccountState => {
  switch (fact._tag) {
    case "SenderAdded":
      return { ...state, senders: state.senders + 1 }
    case "SenderRemoved":
      return { ...state, senders: state.senders - 1 }
    case "SenderWaits":
      return { ...state, waiting: [...state.waiting, fact.sender] }
    case "SendersGoOn":
      return { ...state, waiting: state.waiting.slice(fact.senders) }
    case "Reset": {
      // Senders that wait for the end of a pause must still be set going.
      const { custom, plan, senders, waiting } = state
      return { ...initialSendAccount, custom, plan, senders, waiting }
    }
    case "Closed":
      // Nothing is kept of a closed account but the number of its senders, which are removed one by one.
      return { ...initialSendAccount, senders: state.senders, closedAt: fact.at }
    default:
      return evolveRules(state, fact)
  }
}

/** Whether senders wait for a pause that is over. */
export const hasPastPause = ({ trust, waiting }: SendAccountState): boolean =>
  waiting.length > 0 && trust.stage !== "sending_paused"

const wakeAt = (state: SendAccountState): number | undefined =>
  state.closedAt !== undefined
    ? undefined
    : hasPastPause(state)
      ? (state.trust.since ?? 0)
      : nextTransition(state.trust)?.at

type Options = Actor.ActorOptions<
  SendAccountCommand,
  SendAccountFact,
  SendAccountState,
  SendAccountReply,
  SendAccountRejection
>

/** The decisions of an account. */
export type AccountRules = Required<Pick<Options, "decide" | "touches" | "wake" | "wakeTouches">>

let rules: AccountRules | undefined

/** Gives the account its rules. */
export const giveAccountRules = (given: AccountRules): void => {
  rules = given
}

const ruled = (): AccountRules => {
  if (rules === undefined) throw new Error("SendAccount has no rules: import it from the actors' index")
  return rules
}

/** The actor of an account that sends; its key is the mode. */
export const SendAccount: Actor.Actor<
  SendAccountCommand,
  SendAccountFact,
  SendAccountState,
  SendAccountReply,
  SendAccountRejection
> = Actor.make<SendAccountCommand, SendAccountFact, SendAccountState, SendAccountReply, SendAccountRejection>({
  kind: "sendAccount",
  command: SendAccountCommand,
  fact: SendAccountFact,
  state: SendAccountState,
  reply: SendAccountReply,
  rejection: SendAccountRejection,
  initial: () => initialSendAccount,
  evolve: evolveAccount,
  decide: (state, command, context) => ruled().decide(state, command, context),
  touches: (command, self) => ruled().touches(command, self),
  wakeAt,
  wakeTouches: (state, self) => ruled().wakeTouches(state, self),
  wake: (state, context) => ruled().wake(state, context)
})
