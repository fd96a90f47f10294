/** Exports the actors of sending (docs/send.md, 3). */

export { bareAddress, type Mode, modes, pageKey, senderKey, senderName, suppressionPlace } from "./actorKeys.ts"
export type {
  AdmitEmail,
  EmailAnswer,
  EmailCommand,
  EmailFact,
  EmailRejection,
  EmailReport,
  EmailState,
  SendAccountCommand,
  SendAccountFact,
  SendAccountRejection,
  SendAccountReply,
  SendAccountState,
  SenderCommand,
  SenderFact,
  SenderRejection,
  SenderReply,
  SenderState
} from "./model.ts"
export { isAccountRejection } from "./model.ts"
export { SendAccount } from "./SendAccount.ts"
export { SendCancelledPlaces } from "./SendCancelledPlaces.ts"
export { SendEmail } from "./SendEmail.ts"
export { SendSender } from "./SendSender.ts"
export {
  SendSuppressions,
  type SuppressionCommand,
  type SuppressionFact,
  type SuppressionReason
} from "./SendSuppressions.ts"
export { isVerified as isSenderVerified, viewOfSender } from "./senderRules.ts"
export { suppressedMask, suppressedOf } from "./suppressedMask.ts"

import { accountRules } from "./accountRules.ts"
import { giveAccountRules, SendAccount } from "./SendAccount.ts"
import { SendCancelledPlaces } from "./SendCancelledPlaces.ts"
import { SendEmail } from "./SendEmail.ts"
import { SendSender } from "./SendSender.ts"
import { SendSuppressions } from "./SendSuppressions.ts"

giveAccountRules(accountRules)

/** The actors of an engine that sends, beside `OrganizationActor`, which knows the plan. */
export const sendActors = [SendAccount, SendSender, SendEmail, SendSuppressions, SendCancelledPlaces]
