/**
 * `sluice/send`: the rules of sending email as a library. `ProbationWindow`, `PauseTriggers`, `TrustStage`, `DomainTier`, `Holds` and `Admission` are Effect
 * services; `probationWindow`, `pauseTriggers`, `trustStage`, `domainTier`, `holds` and `admission` are their rules alone, as deciders.
 */
import "../common/checkedPeers.ts"

export { InvalidArgument } from "../limits/errors.ts"
export { ActorsMemory } from "./ActorsMemory.ts"
export { type AccountOptions, Admission, type ReportOf, type SentAnswer } from "./Admission.ts"
export type { AccountFact, AccountState, CustomLimits } from "./accountRules.ts"
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
} from "./actors/index.ts"
export { domainKey, domainOf } from "./addresses.ts"
export {
  type AccountAnswer,
  type AccountCommand,
  type AdmissionAnswer,
  type AdmittedEmail,
  admission,
  type RiskySignal,
  riskySignals
} from "./admissionRules.ts"
export { type EmailContent, riskySignalsOf } from "./content/index.ts"
export { keptContentMillis } from "./contents/limits.ts"
export { DomainTier } from "./DomainTier.ts"
export type { Decider } from "./decider.ts"
export type { EngineOptions } from "./engineDecider.ts"
export { DecisionUnavailable, MemoryFull, SendRejected, type Unanswered } from "./errors.ts"
export {
  type AbuseReport,
  type DeliveryAction,
  type DeliveryKind,
  type DeliveryReport,
  deliveryActions,
  type Feedback,
  type OriginalEmail,
  parseFeedback,
  type RecipientStatus,
  readVerp,
  type VerpTarget,
  verpOf
} from "./feedback/index.ts"
export { Holds } from "./Holds.ts"
export {
  type CancelledPage,
  emptyPage,
  type HoldsAnswer,
  type HoldsCommand,
  type HoldsFact,
  type HoldsState,
  holds,
  type NotHeld,
  nextRelease,
  pageOf,
  waiting,
  withCancelled
} from "./holdRules.ts"
export type { MemoryOptions } from "./keyedDecider.ts"
export * as SendLimits from "./limits.ts"
export {
  type AccountOf,
  AccountUnavailable,
  ActRefused,
  accountFactsMillis,
  accountFactsProjection,
  accountFactsTable,
  SendOperator
} from "./operator/index.ts"
export { type AcceptedEmails, PauseTriggers } from "./PauseTriggers.ts"
export { ProbationWindow, type ProbationWindowOptions, type Taken } from "./ProbationWindow.ts"
export {
  type PauseCommand,
  type PauseFact,
  type PauseReason,
  type PauseState,
  pauseReasons,
  pauseTriggers
} from "./pauseRules.ts"
export {
  type CapReached,
  type ProbationCommand,
  type ProbationFact,
  type ProbationState,
  probationWindow
} from "./probationRules.ts"
export { retryAfterSeconds, type SendRejection, statusOf } from "./rejections.ts"
export {
  type DomainSignal,
  domainSignals,
  type MailHosts,
  RiskSignals,
  type RiskSignalsOptions,
  riskOf,
  type SignUp,
  type SignUpSignal,
  sameDomainMillis,
  signUpSignals
} from "./risk/index.ts"
export { TrustStage } from "./TrustStage.ts"
export {
  domainTier,
  type NotVerified,
  nextPromotion,
  type TierCommand,
  type TierFact,
  type TierState,
  type TierView
} from "./tierRules.ts"
export {
  type NotPaused,
  nextTransition,
  type Stage,
  stages,
  type TrustCommand,
  type TrustFact,
  type TrustState,
  type TrustView,
  trustStage
} from "./trustRules.ts"
