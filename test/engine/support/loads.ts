/** Actors for tests of bounds and of rules that break: one whose decisions are as large as wanted, and one whose timer breaks as told. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

const BurstCommand = Schema.Struct({
  /** Facts and events of the decision. */
  facts: Schema.Number,
  events: Schema.optionalKey(Schema.Number),
  /** Ids that it asks for and keeps in its facts. */
  ids: Schema.optionalKey(Schema.Number)
})

const BurstFact = Schema.Struct({ n: Schema.Number, ids: Schema.optionalKey(Schema.Array(Schema.String)) })

/** Numbers its facts and events: each has the next number of its actor. Answers the ids that it asked for. */
export const Burst = Actor.make<
  typeof BurstCommand.Type,
  typeof BurstFact.Type,
  { readonly count: number },
  ReadonlyArray<string>
>({
  kind: "burst",
  command: BurstCommand,
  fact: BurstFact,
  state: Schema.Struct({ count: Schema.Number }),
  reply: Schema.Array(Schema.String),
  initial: () => ({ count: 0 }),
  decide: ({ count }, { events = 0, facts, ids = 0 }, context) => {
    const made = Array.from({ length: ids }, (_, index) => context.id(index))
    return Actor.decided({
      facts: Array.from({ length: facts }, (_, n) => ({ n: count + n, ...(n === 0 && ids > 0 ? { ids: made } : {}) })),
      events: Array.from({ length: events }, (_, n) => ({
        type: "burst.happened",
        service: "burst",
        livemode: true,
        data: { n }
      })),
      reply: made
    })
  },
  evolve: ({ count }) => ({ count: count + 1 })
})

/** What an alarm does when its time has come. */
const Ending = Schema.Literals([
  "rings",
  "throws",
  "is rejected",
  "does nothing",
  "breaks its actor",
  "has no next time"
])

const AlarmFact = Schema.Union([
  Schema.TaggedStruct("Set", { at: Schema.NullOr(Schema.Number), ending: Ending }),
  Schema.TaggedStruct("Rung", { at: Schema.Number }),
  Schema.TaggedStruct("Broken", {})
])

/** An alarm whose end is chosen when it is set. `evolve` throws on `Broken`; "has no next time" lets `wakeAt` throw after it rang. */
export const Alarm = Actor.make<
  | { readonly _tag: "Set"; readonly at: number | null; readonly ending?: typeof Ending.Type }
  | { readonly _tag: "Rang" },
  typeof AlarmFact.Type,
  { readonly at: number | null; readonly ending: typeof Ending.Type; readonly rings: ReadonlyArray<number> },
  ReadonlyArray<number>
>({
  kind: "alarm",
  command: Schema.Union([
    Schema.TaggedStruct("Set", { at: Schema.NullOr(Schema.Number), ending: Schema.optionalKey(Ending) }),
    Schema.TaggedStruct("Rang", {})
  ]),
  fact: AlarmFact,
  state: Schema.Struct({ at: Schema.NullOr(Schema.Number), ending: Ending, rings: Schema.Array(Schema.Number) }),
  reply: Schema.Array(Schema.Number),
  initial: () => ({ at: null, ending: "rings", rings: [] }),
  decide: ({ rings }, command) =>
    command._tag === "Rang"
      ? Actor.decided({ reply: rings })
      : Actor.decided({
          facts: [{ _tag: "Set" as const, at: command.at, ending: command.ending ?? "rings" }],
          reply: rings
        }),
  evolve: (state, fact) => {
    switch (fact._tag) {
      case "Set":
        return { ...state, at: fact.at, ending: fact.ending }
      case "Rung":
        return { ...state, at: null, rings: [...state.rings, fact.at] }
      case "Broken":
        throw new Error("this fact cannot be applied")
    }
  },
  wakeAt: ({ at, ending, rings }) => {
    if (at === null && ending === "has no next time" && rings.length > 0) throw new Error("no next time can be told")
    return at ?? undefined
  },
  wake: ({ at, ending }, { now }) => {
    switch (ending) {
      case "throws":
        throw new Error("this alarm cannot be decided")
      case "is rejected":
        return Actor.rejected("not now")
      case "does nothing":
        return Actor.decided({ reply: at })
      case "breaks its actor":
        return Actor.decided({ facts: [{ _tag: "Broken" as const }] })
      default:
        return Actor.decided({ facts: [{ _tag: "Rung" as const, at: now }] })
    }
  }
})
