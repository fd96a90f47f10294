/** The actors of sending (docs/send.md, 3). */
export { SendCancelledPlaces } from "./CancelledPlaces.ts"
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
export { bareAddress, type Mode, modes, pageKey, senderKey, senderName, suppressionPlace } from "./names.ts"
export { SendAccount } from "./SendAccount.ts"
export { SendEmail } from "./SendEmail.ts"
export { SendSender } from "./SendSender.ts"
export {
  SendSuppressions,
  type SuppressionCommand,
  type SuppressionFact,
  type SuppressionReason
} from "./Suppressions.ts"
export { isVerified as isSenderVerified, viewOfSender } from "./senderRules.ts"
export { suppressedMask, suppressedOf } from "./suppressed.ts"

import { SendCancelledPlaces } from "./CancelledPlaces.ts"
import { SendAccount } from "./SendAccount.ts"
import { SendEmail } from "./SendEmail.ts"
import { SendSender } from "./SendSender.ts"
import { SendSuppressions } from "./Suppressions.ts"

/**
 * What an engine that sends has beside `OrganizationActor`, which knows the plan.
 *
 * @example
 * ```ts
 * import { Engine } from "sluice"
 * import { sendActors } from "sluice/send"
 *
 * export const engine = Engine.layerMemory({ actors: sendActors })
 * ```
 */
export const sendActors = [SendAccount, SendSender, SendEmail, SendSuppressions, SendCancelledPlaces]
