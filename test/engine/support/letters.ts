/** Actors for specifications of what is not loaded: letters that begin fresh, a post that sends them, and a bell without a state. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

const LetterFact = Schema.Union([
  Schema.TaggedStruct("Written", { text: Schema.String, remindAt: Schema.NullOr(Schema.Number) }),
  Schema.TaggedStruct("Reminded", {})
])

const LetterState = Schema.Struct({
  texts: Schema.mutableKey(Schema.Array(Schema.String)),
  remindAt: Schema.mutableKey(Schema.NullOr(Schema.Number))
})
interface LetterState {
  texts: ReadonlyArray<string>
  remindAt: number | null
}

const LetterCommand = Schema.Union([
  Schema.TaggedStruct("Write", { text: Schema.String, remindAt: Schema.optionalKey(Schema.Number) }),
  Schema.TaggedStruct("Read", {})
])

/** The text that a letter cannot take. */
export const unwritable = "unwritable"

/** A letter has texts, and may have a reminder. Its state is changed in place, over copies. A key that is `broken` cannot be made. */
export const Letter = Actor.make<typeof LetterCommand.Type, typeof LetterFact.Type, LetterState, ReadonlyArray<string>>(
  {
    kind: "letter",
    command: LetterCommand,
    fact: LetterFact,
    state: LetterState,
    reply: Schema.Array(Schema.String),
    initial: (key) => {
      if (key === "broken") throw new Error("this letter cannot be made")
      return { texts: [], remindAt: null }
    },
    decide: (state, command) =>
      command._tag === "Read"
        ? Actor.decided({ reply: state.texts })
        : Actor.decided({
            facts: [{ _tag: "Written" as const, text: command.text, remindAt: command.remindAt ?? null }],
            reply: [...state.texts, command.text]
          }),
    copy: (state) => ({ ...state }),
    evolve: (state, fact) => {
      if (fact._tag === "Reminded") {
        state.remindAt = null
        return state
      }
      if (fact.text === unwritable) throw new Error("this cannot be written")
      state.texts = [...state.texts, fact.text]
      state.remindAt = fact.remindAt
      return state
    },
    wakeAt: (state) => state.remindAt ?? undefined,
    wake: () => Actor.decided({ facts: [{ _tag: "Reminded" as const }] })
  }
)

const PostCommand = Schema.Struct({
  /** Keys of the letters. */
  letters: Schema.Array(Schema.String),
  text: Schema.String,
  /** Whether it claims that they are fresh. */
  fresh: Schema.Boolean,
  /** Whether it only reads them. */
  looks: Schema.optionalKey(Schema.Boolean)
})

/** Writes the same text into letters, all in one decision; answers what stood in them before. */
export const Post = Actor.make<
  typeof PostCommand.Type,
  { readonly count: number },
  { readonly count: number },
  ReadonlyArray<ReadonlyArray<string>>
>({
  kind: "post",
  command: PostCommand,
  fact: Schema.Struct({ count: Schema.Number }),
  state: Schema.Struct({ count: Schema.Number }),
  reply: Schema.Array(Schema.Array(Schema.String)),
  initial: () => ({ count: 0 }),
  touches: ({ fresh, letters }) => letters.map((key) => Letter.at(key, { fresh })),
  decide: (_state, { letters, looks, text }, context) => {
    const reply = letters.map((key) => context.read(Letter, key).texts)
    if (looks === true) return Actor.decided({ reply })
    return Actor.decided({
      facts: [{ count: letters.length }],
      others: letters.map((key) => Letter.facts(key, [{ _tag: "Written" as const, text, remindAt: null }])),
      reply
    })
  },
  evolve: ({ count }, fact) => ({ count: count + fact.count })
})

/** Rings without remembering: a fact and an event for who follows the log, and with `letter` a fact for that letter. */
export const Bell = Actor.makeStateless({
  kind: "bell",
  version: 2,
  upcastFact: { 1: (fact) => ({ times: fact as number }) },
  command: Schema.Struct({ times: Schema.Number, letter: Schema.optionalKey(Schema.String) }),
  fact: Schema.Struct({ times: Schema.Number }),
  reply: Schema.Number,
  touches: ({ letter }) => (letter === undefined ? [] : [Letter.at(letter)]),
  decide: ({ letter, times }, context) => {
    if (times < 0) throw new Error("it cannot ring so often")
    return Actor.decided({
      facts: [{ times }],
      others:
        letter === undefined
          ? []
          : [
              Letter.facts(letter, [
                { _tag: "Written" as const, text: `${context.read(Letter, letter).texts.length}`, remindAt: null }
              ])
            ],
      events: [{ type: "bell.rang", service: "bell", livemode: true, data: { times } }],
      reply: times
    })
  }
})
