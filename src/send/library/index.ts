/**
 * Exports `sluice/send`: the rules of sending email as a library. `ProbationWindow`, `PauseTriggers`, `TrustStage`,
 * `DomainTier`, `Holds` and `Admission` are Effect services; `probationWindow`, `pauseTriggers`, `trustStage`,
 * `domainTier`, `holds` and `admission` are their rules alone, as deciders.
 */
import "../../common/checkedPeers.ts"

export { InvalidArgument } from "../../limits/errors.ts"
export {
  type AdmitEmail,
  type EmailReport,
  type Mode,
  modes,
  type SenderRejection,
  type SenderReply
} from "../account/actors/index.ts"
export { DecisionUnavailable, MemoryFull, SendRejected, type Unanswered } from "../errors.ts"
export {
  type AbuseReport,
  type AnswerClass,
  answerClasses,
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
} from "../feedback/parse/index.ts"
export * as SendLimits from "../limits.ts"
export type { AccountFact, AccountState, CustomLimits } from "../rules/account.ts"
export {
  type AccountAnswer,
  type AccountCommand,
  type AdmissionAnswer,
  type AdmittedEmail,
  admission,
  type RiskySignal,
  riskySignals
} from "../rules/admission.ts"
export { type EmailContent, riskySignalsOf } from "../rules/content/index.ts"
export type { Decider, Transition } from "../rules/decider.ts"
export { domainKey, domainOf } from "../rules/domainKey.ts"
export { type EmailStage, emailStateTable, type ShownState } from "../rules/emailStates.ts"
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
} from "../rules/hold.ts"
export type { HoursState } from "../rules/hours.ts"
export {
  type PauseAnswer,
  type PauseCommand,
  type PauseFact,
  type PauseReason,
  type PauseState,
  pauseReasons,
  pauseTriggers
} from "../rules/pause.ts"
export {
  type CapReached,
  type ProbationCommand,
  type ProbationFact,
  type ProbationState,
  probationWindow
} from "../rules/probation.ts"
export {
  type MonthlyLimitReached,
  type ProbationLimitReached,
  retryAfterSeconds,
  type SenderNotVerified,
  type SendingPaused,
  type SendRejection,
  statusOf
} from "../rules/rejections.ts"
export {
  domainTier,
  type NotVerified,
  nextPromotion,
  type TierCommand,
  type TierFact,
  type TierState,
  type TierView
} from "../rules/tier.ts"
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
} from "../rules/trust.ts"
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
} from "../senders/risk/index.ts"
export { type AccountOptions, Admission, type ReportOf, type SentAnswer } from "./Admission.ts"
export { DomainTier } from "./DomainTier.ts"
export type { EngineOptions } from "./engineDecider.ts"
export { Holds } from "./Holds.ts"
export type { MemoryOptions } from "./keyedDecider.ts"
export { type AcceptedEmails, PauseTriggers } from "./PauseTriggers.ts"
export {
  type ProbationCapsOptions,
  type ProbationCount,
  ProbationWindow,
  type ProbationWindowOptions
} from "./ProbationWindow.ts"
export { TrustStage } from "./TrustStage.ts"
