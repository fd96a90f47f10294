/** Variants of operators' lists. */
import type { Variant } from "./runner/variant.ts"

export const operators: ReadonlyArray<Variant> = [
  {
    name: "operators: a lifted pause is shown on",
    find: 'return { ...account, ...clean, stage: "probation", changedAt: fact.at }',
    replace: 'return { ...account, stage: "probation", changedAt: fact.at }',
    sentence: "an account whose pause was lifted shows the reason and the warning of before",
    finders: ["accountStages.unit"]
  },
  {
    name: "operators: facts that come again move a standing back",
    find: "if (account !== undefined && fact.at < account.changedAt) return account",
    replace: "",
    sentence: "after a restored log an account is listed by facts that are over",
    finders: ["accountStages.unit"]
  },
  {
    name: "operators: looking at a rate uses it",
    find: '{ _tag: isLook(command) ? "Peek" : "Take", cost: 1 }',
    replace: '{ _tag: "Take", cost: 1 }',
    sentence: "an operator who watches limits takes requests from every organization",
    finders: ["operatorLists.e2e"]
  },
  {
    name: "operators: dry runs fill the list of failures",
    find: 'if (event._tag === "Failed") return isDry ? Effect.void : keepFailure(event)',
    replace: 'if (event._tag === "Failed") return keepFailure(event)',
    sentence: "a file that was only tried is listed as one that was not taken",
    finders: ["operatorLists.e2e"]
  },
  {
    name: "operators: an invoice of the next month is listed in this one",
    find: "until: Date.UTC(year, number) }",
    replace: "until: Date.UTC(year, number + 1) }",
    sentence: "an operator's month has the invoices of two",
    finders: ["operatorLists.e2e"]
  }
]
