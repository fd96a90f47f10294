/** Small actors for the engine's own tests: a counter, a pair of accounts, a reminder, a limiter. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Lane from "../../../src/engine/Lane.ts"

export const CounterCommand = Schema.Union([
  Schema.TaggedStruct("Add", { amount: Schema.Number, event: Schema.optionalKey(Schema.Boolean) }),
  Schema.TaggedStruct("AddUpTo", { amount: Schema.Number, maximum: Schema.Number }),
  Schema.TaggedStruct("Get", {}),
  Schema.TaggedStruct("Note", { text: Schema.String }),
  Schema.TaggedStruct("Identify", {}),
  Schema.TaggedStruct("Clock", {}),
  Schema.TaggedStruct("Throw", {}),
  Schema.TaggedStruct("BreakEvolve", {})
])
export type CounterCommand = typeof CounterCommand.Type

export const CounterFact = Schema.Union([
  Schema.TaggedStruct("Added", { amount: Schema.Number }),
  Schema.TaggedStruct("Noted", { text: Schema.String }),
  Schema.TaggedStruct("Identified", { id: Schema.String }),
  Schema.TaggedStruct("Broken", {})
])
export type CounterFact = typeof CounterFact.Type

export const CounterState = Schema.Struct({ total: Schema.Number, notes: Schema.Array(Schema.String) })
export type CounterState = typeof CounterState.Type

/** Counts; `AddUpTo` rejects above a maximum with the total, so that rejections depend on the state. */
export const Counter = Actor.make<
  CounterCommand,
  CounterFact,
  CounterState,
  number | string,
  { readonly over: number }
>({
  kind: "counter",
  command: CounterCommand,
  fact: CounterFact,
  state: CounterState,
  reply: Schema.Union([Schema.Number, Schema.String]),
  rejection: Schema.Struct({ over: Schema.Number }),
  initial: () => ({ total: 0, notes: [] }),
  decide: (state, command, context) => {
    switch (command._tag) {
      case "Add":
        return Actor.decided({
          facts: [{ _tag: "Added" as const, amount: command.amount }],
          reply: state.total + command.amount,
          events:
            command.event === true
              ? [{ type: "counter.added", service: "counter", livemode: true, data: { amount: command.amount } }]
              : []
        })
      case "AddUpTo":
        return state.total + command.amount > command.maximum
          ? Actor.rejected({ over: state.total })
          : Actor.decided({
              facts: [{ _tag: "Added" as const, amount: command.amount }],
              reply: state.total + command.amount
            })
      case "Get":
        return Actor.decided({ reply: state.total })
      case "Note":
        return Actor.decided({ facts: [{ _tag: "Noted" as const, text: command.text }], reply: state.notes.length + 1 })
      case "Identify":
        return Actor.decided({ facts: [{ _tag: "Identified" as const, id: context.id(0) }], reply: context.id(0) })
      case "Clock":
        return Actor.decided({ facts: [{ _tag: "Added" as const, amount: 0 }], reply: context.now })
      case "Throw":
        throw new Error("this command cannot be decided")
      case "BreakEvolve":
        return Actor.decided({ facts: [{ _tag: "Broken" as const }], reply: 0 })
    }
  },
  evolve: (state, fact) => {
    switch (fact._tag) {
      case "Added":
        return { ...state, total: state.total + fact.amount }
      case "Noted":
        return { ...state, notes: [...state.notes, fact.text] }
      case "Identified":
        return state
      case "Broken":
        throw new Error("this fact cannot be applied")
    }
  }
})

const AccountCommand = Schema.Union([
  Schema.TaggedStruct("Deposit", { amount: Schema.Number }),
  Schema.TaggedStruct("Transfer", { to: Schema.String, amount: Schema.Number })
])
export type AccountCommand = typeof AccountCommand.Type

/** Accounts between which one decision moves money, both sides in one frame. Its state is changed in place, over copies. */
export const Account: Actor.Actor<
  AccountCommand,
  { readonly change: number },
  { balance: number },
  number,
  "insufficient"
> = Actor.make<AccountCommand, { readonly change: number }, { balance: number }, number, "insufficient">({
  kind: "account",
  command: AccountCommand,
  fact: Schema.Struct({ change: Schema.Number }),
  state: Schema.Struct({ balance: Schema.mutableKey(Schema.Number) }),
  reply: Schema.Number,
  rejection: Schema.Literal("insufficient"),
  initial: () => ({ balance: 0 }),
  touches: (command) => (command._tag === "Transfer" ? [Account.at(command.to)] : []),
  decide: (state, command) => {
    if (command._tag === "Deposit")
      return Actor.decided({ facts: [{ change: command.amount }], reply: state.balance + command.amount })
    if (state.balance < command.amount) return Actor.rejected("insufficient" as const)
    return Actor.decided({
      facts: [{ change: -command.amount }],
      others: [Account.facts(command.to, [{ change: command.amount }])],
      reply: state.balance - command.amount
    })
  },
  copy: (state) => ({ ...state }),
  evolve: (state, fact) => {
    state.balance += fact.change
    return state
  }
})

/** Wakes at a set time and counts how often; over when nothing is set and nothing was counted. */
export const Reminder = Actor.make<
  { readonly _tag: "Set"; readonly at: number } | { readonly _tag: "Rang" },
  { readonly _tag: "WasSet"; readonly at: number } | { readonly _tag: "Rung"; readonly at: number },
  { readonly at: number | null; readonly rings: ReadonlyArray<number> },
  ReadonlyArray<number>
>({
  kind: "reminder",
  command: Schema.Union([Schema.TaggedStruct("Set", { at: Schema.Number }), Schema.TaggedStruct("Rang", {})]),
  fact: Schema.Union([
    Schema.TaggedStruct("WasSet", { at: Schema.Number }),
    Schema.TaggedStruct("Rung", { at: Schema.Number })
  ]),
  state: Schema.Struct({ at: Schema.NullOr(Schema.Number), rings: Schema.Array(Schema.Number) }),
  reply: Schema.Array(Schema.Number),
  initial: () => ({ at: null, rings: [] }),
  decide: (state, command) =>
    command._tag === "Set"
      ? Actor.decided({ facts: [{ _tag: "WasSet" as const, at: command.at }], reply: [] })
      : Actor.decided({ reply: state.rings }),
  evolve: (state, fact) =>
    fact._tag === "WasSet" ? { ...state, at: fact.at } : { at: null, rings: [...state.rings, fact.at] },
  wakeAt: (state) => state.at ?? undefined,
  wake: (_state, context) => Actor.decided({ facts: [{ _tag: "Rung" as const, at: context.now }], reply: undefined }),
  isOver: (state) => state.at === null && state.rings.length === 0
})

/** Admits as many a minute as the organization's counter says, a thousand where it says nothing. */
export const Limiter = Lane.make<null, { minute: number; used: number }, boolean>({
  kind: "limiter",
  command: Schema.Null,
  reply: Schema.Boolean,
  initial: () => ({ minute: -1, used: 0 }),
  touches: () => [Counter.at("limit")],
  decide: (state, _command, context) => {
    const minute = Math.floor(context.now / 60_000)
    if (minute !== state.minute) {
      state.minute = minute
      state.used = 0
    }
    const limit = context.read(Counter, "limit").total || 1_000
    if (state.used >= limit) return false
    state.used++
    return true
  },
  keepUntil: (state) => (state.minute + 1) * 60_000
})
