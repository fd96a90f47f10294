/** Exports operators' acts on sending (docs/platform.md, 9.9). */
export { accountFactsMillis, accountFactsTable, type ShownFact, sentenceOf, shownFact } from "./accountFacts.ts"
export { accountFactsProjection } from "./accountFactsProjection.ts"
export {
  type AccountOf,
  AccountUnavailable,
  ActRefused,
  type FactShown,
  type SenderShown,
  SendOperator
} from "./SendOperator.ts"
