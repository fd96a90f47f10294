/** Exports sending for the rest of the program: the library (`sluice/send`), the actors, and operators' acts. */
export {
  type AdmitEmail,
  bareAddress,
  type EmailAnswer,
  type EmailCommand,
  type EmailFact,
  type EmailRejection,
  type EmailReport,
  type EmailState,
  type Mode,
  modes,
  pageKey,
  SendAccount,
  type SendAccountCommand,
  type SendAccountFact,
  type SendAccountRejection,
  type SendAccountReply,
  type SendAccountState,
  SendCancelledPlaces,
  SendEmail,
  type SenderCommand,
  type SenderFact,
  type SenderRejection,
  type SenderReply,
  type SenderState,
  SendSender,
  SendSuppressions,
  type SuppressionCommand,
  type SuppressionFact,
  type SuppressionReason,
  sendActors,
  senderKey,
  senderName,
  suppressedMask,
  suppressedOf,
  suppressionPlace
} from "./account/actors/index.ts"
export {
  AccountList,
  type AccountOf,
  AccountUnavailable,
  ActRefused,
  accountFactsMillis,
  accountFactsProjection,
  accountFactsTable,
  accountStagesProjection,
  accountsTable,
  SendOperator
} from "./account/operator/index.ts"
export { keptContentMillis } from "./emails/contents/limits.ts"
export { ActorsMemory } from "./library/ActorsMemory.ts"
export * from "./library/index.ts"
