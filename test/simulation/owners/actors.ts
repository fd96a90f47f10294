/** The actors of organizations in a simulation of several owners: a book of lines, an allowance, and a door without facts. */
import { Schema } from "effect"
import { formatLevels } from "../../../src/common/formatLevels.ts"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Lane from "../../../src/engine/Lane.ts"

const Line = Schema.Struct({ text: Schema.String })
export type Line = typeof Line.Type

/** A line in the log of nodes of several builds: what came with a level of formats is left out of the facts of older ones, and of their states. */
const Marked = Schema.Struct({ text: Schema.String, level: Schema.optionalKey(Schema.Number) })
type Marked = typeof Marked.Type

export interface Lines {
  readonly texts: ReadonlyArray<string>
  /** How many of them are of a later level than the first. */
  readonly marked?: number
}

/** The level of formats that a line's fact needs. */
export const levelOf = (fact: unknown): number => (fact as Partial<Marked>).level ?? formatLevels.first

/** A book as the build of a level has it: one of the first level folds marks away. */
export const bookOf = (newest: number): Actor.Actor<Line, Marked, Lines, number, never> =>
  newest <= formatLevels.first
    ? (Book as unknown as Actor.Actor<Line, Marked, Lines, number, never>) // Every line of it is one without a mark.
    : Actor.make<Line, Marked, Lines, number>({
        kind: "book",
        command: Line,
        fact: Marked,
        state: Schema.Struct({ texts: Schema.Array(Schema.String), marked: Schema.optionalKey(Schema.Number) }),
        reply: Schema.Number,
        initial: () => ({ texts: [] }),
        decide: ({ texts }, { text }, { level }) =>
          Actor.decided({
            facts: [level <= formatLevels.first ? { text } : { text, level }],
            reply: texts.length + 1
          }),
        evolve: ({ marked, texts }, { level, text }) => ({
          texts: [...texts, text],
          ...(level === undefined && marked === undefined
            ? {}
            : { marked: (marked ?? 0) + (level === undefined ? 0 : 1) })
        })
      })

/** Keeps every line. */
export const Book = Actor.make<Line, Line, { readonly texts: ReadonlyArray<string> }, number>({
  kind: "book",
  command: Line,
  fact: Line,
  state: Schema.Struct({ texts: Schema.Array(Schema.String) }),
  reply: Schema.Number,
  initial: () => ({ texts: [] }),
  decide: ({ texts }, { text }) => Actor.decided({ facts: [{ text }], reply: texts.length + 1 }),
  evolve: ({ texts }, { text }) => ({ texts: [...texts, text] })
})

/** What an organization is granted in all. */
export const allowance = 12

/** Grants until the allowance is used up. The reply says the how manieth grant it was. */
export const Allowance = Actor.make<Line, Line, { readonly granted: number }, number, string>({
  kind: "allowance",
  command: Line,
  fact: Line,
  state: Schema.Struct({ granted: Schema.Number }),
  reply: Schema.Number,
  rejection: Schema.String,
  initial: () => ({ granted: 0 }),
  decide: ({ granted }, { text }) =>
    granted >= allowance
      ? Actor.rejected("the allowance is used up")
      : Actor.decided({ facts: [{ text }], reply: granted + 1 }),
  evolve: ({ granted }) => ({ granted: granted + 1 })
})

/** Counts who passes, in memory. */
export const Door = Lane.make<null, { passed: number }, number>({
  kind: "door",
  command: Schema.Null,
  reply: Schema.Number,
  initial: () => ({ passed: 0 }),
  decide: (state) => ++state.passed,
  keepUntil: () => 0
})
