/** Exports operators' acts on sending (docs/platform.md, 9.9). */

export { AccountList, type ListedAccount, type ListedSender } from "./AccountList.ts"
export { accountFactsMillis, accountFactsTable, type ShownFact, sentenceOf, shownFact } from "./accountFacts.ts"
export { accountFactsProjection } from "./accountFactsProjection.ts"
export { accountsTable } from "./accountStages.ts"
export { accountStagesProjection } from "./accountStagesProjection.ts"
export {
  type AccountOf,
  AccountUnavailable,
  ActRefused,
  type FactShown,
  type SenderShown,
  SendOperator
} from "./SendOperator.ts"
