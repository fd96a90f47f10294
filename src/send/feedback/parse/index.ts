/** Exports the parser of other mail systems' reports (docs/send.md, 2.9), and the return paths to which they come. */
export { type AnswerClass, answerClasses } from "./answerClass.ts"
export {
  type AbuseReport,
  type DeliveryAction,
  type DeliveryKind,
  type DeliveryReport,
  deliveryActions,
  type Feedback,
  type OriginalEmail,
  type RecipientStatus
} from "./model.ts"
export { parseFeedback } from "./parseFeedback.ts"
export { readVerp, type VerpTarget, verpOf } from "./verp.ts"
