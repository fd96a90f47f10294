/**
 * The workload with which the engine itself is simulated: accounts between which money moves (two actors in one decision, rejections,
 * idempotency keys, an older version with an upcast), alarms (timers), a lookout and a spinner (`endlessWakes.ts`), a choir and its singers
 * (`largeActors.ts`), a meter fed by signals, a till that relies on the engine's idempotency keys, and a lane that limits.
 */
import { Arbitrary, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Lane from "../../../src/engine/Lane.ts"
import type { SignalRule } from "../../../src/engine/shell/signals/feedSignals.ts"
import type { Workload } from "../../../src/simulation/engine/Workload.ts"
import { bankCheckers } from "./bankCheckers.ts"
import { Lookout, Spinner, watchCommands } from "./endlessWakes.ts"
import { Choir, choirCommands, Singer, singerKey } from "./largeActors.ts"
import { purseCheckers } from "./transferCheckers.ts"
import { Purse, PurseCommand } from "./transfers.ts"

const Id = Schema.String
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))

const AccountCommand = Schema.Union([
  Schema.TaggedStruct("Deposit", { id: Id, amount: Amount }),
  Schema.TaggedStruct("Withdraw", { id: Id, amount: Amount }),
  Schema.TaggedStruct("Transfer", { id: Id, to: Schema.Literals(["a", "b", "c"]), amount: Amount }),
  Schema.TaggedStruct("Balance", {}),
  Schema.TaggedStruct("Throw", {}),
  /** A command whose fact cannot be applied. */
  Schema.TaggedStruct("Break", {})
])
export type AccountCommand = typeof AccountCommand.Type

const AccountFact = Schema.Struct({ id: Id, change: Schema.Number })
export type AccountFact = typeof AccountFact.Type

const AccountState = Schema.Struct({
  balance: Schema.mutableKey(Schema.Number),
  /** Replies by idempotency key. */
  done: Schema.mutableKey(Schema.Array(Schema.Struct({ id: Id, reply: Schema.Number })))
})
export interface AccountState {
  balance: number
  done: ReadonlyArray<{ readonly id: string; readonly reply: number }>
}

/** An amount whose record no reactor can process. */
const indigestible = 13

export const Account: Actor.Actor<AccountCommand, AccountFact, AccountState, number, string> = Actor.make<
  AccountCommand,
  AccountFact,
  AccountState,
  number,
  string
>({
  kind: "account",
  version: 2,
  upcastFact: { 1: (fact) => ({ id: "", change: (fact as { readonly amount: number }).amount }) },
  upcastState: { 1: (state) => state },
  command: AccountCommand,
  fact: AccountFact,
  state: AccountState,
  reply: Schema.Number,
  rejection: Schema.String,
  initial: () => ({ balance: 0, done: [] }),
  touches: (command) => (command._tag === "Transfer" ? [Account.at(command.to)] : []),
  decide: (state, command, context) => {
    switch (command._tag) {
      case "Balance":
        return Actor.decided({ reply: state.balance })
      case "Throw":
        throw new Error("this command cannot be decided")
      case "Break":
        return Actor.decided({ facts: [{ id: "", change: Number.MAX_SAFE_INTEGER }], reply: 0 })
      default: {
        const before = state.done.find(({ id }) => id === command.id)?.reply
        if (before !== undefined) return Actor.decided({ reply: before })
        const { amount, id } = command
        if (command._tag === "Deposit") {
          return Actor.decided({
            facts: [{ id, change: amount }],
            reply: state.balance + amount,
            events: amount > 90 ? [{ type: "bank.large", service: "bank", livemode: true, data: { amount } }] : []
          })
        }
        if (state.balance < amount) return Actor.rejected(`balance is ${state.balance}`)
        if (command._tag === "Transfer" && command.to !== context.self.key) {
          return Actor.decided({
            facts: [{ id, change: -amount }],
            others: [Account.facts(command.to, [{ id: "", change: amount }])],
            reply: state.balance - amount
          })
        }
        return Actor.decided({ facts: [{ id, change: -amount }], reply: state.balance - amount })
      }
    }
  },
  copy: (state) => ({ ...state }),
  evolve: (state, fact) => {
    if (fact.change === Number.MAX_SAFE_INTEGER) throw new Error("this fact cannot be applied")
    state.balance += fact.change
    if (fact.id !== "") state.done = [...state.done, { id: fact.id, reply: state.balance }]
    return state
  }
})

const AlarmFact = Schema.Union([
  Schema.TaggedStruct("Set", { id: Id, at: Schema.Number }),
  Schema.TaggedStruct("Rang", { id: Id, due: Schema.Number, at: Schema.Number })
])
export type AlarmFact = typeof AlarmFact.Type
interface Pending {
  readonly id: string
  readonly at: number
}

const AlarmCommand = Schema.TaggedStruct("SetAlarm", {
  id: Id,
  inMillis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30_000 }))
})
type AlarmCommand = typeof AlarmCommand.Type

/** Rings once for each time that was set; over when nothing is pending. */
export const Alarm = Actor.make<AlarmCommand, AlarmFact, { readonly pending: ReadonlyArray<Pending> }, number>({
  kind: "alarm",
  command: AlarmCommand,
  fact: AlarmFact,
  state: Schema.Struct({ pending: Schema.Array(Schema.Struct({ id: Id, at: Schema.Number })) }),
  reply: Schema.Number,
  initial: () => ({ pending: [] }),
  decide: (state, command, context) => {
    const known = state.pending.find(({ id }) => id === command.id)
    if (known !== undefined) return Actor.decided({ reply: known.at })
    const at = context.now + command.inMillis
    return Actor.decided({ facts: [{ _tag: "Set" as const, id: command.id, at }], reply: at })
  },
  evolve: (state, fact) =>
    fact._tag === "Set"
      ? { pending: [...state.pending, { id: fact.id, at: fact.at }].sort((left, right) => left.at - right.at) }
      : { pending: state.pending.filter(({ at, id }) => id !== fact.id || at !== fact.due) },
  wakeAt: (state) => state.pending[0]?.at,
  wake: (state, context) => {
    const { at, id } = state.pending[0]!
    return Actor.decided({ facts: [{ _tag: "Rang" as const, id, due: at, at: context.now }], reply: undefined })
  },
  isOver: (state) => state.pending.length === 0
})

const letterKeys = ["a", "b", "c"]

const LetterFact = Schema.Struct({ from: Schema.String, text: Schema.String, at: Schema.NullOr(Schema.Number) })
const LetterState = Schema.Struct({
  texts: Schema.mutableKey(Schema.Array(Schema.String)),
  at: Schema.mutableKey(Schema.NullOr(Schema.Number))
})
interface LetterState {
  texts: ReadonlyArray<string>
  at: number | null
}

const LetterCommand = Schema.TaggedStruct("Write", {
  text: Id,
  inMillis: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 })))
})

/** The texts that a letter keeps. */
const maximumTexts = 5

/** Keeps its last texts, and adds one when it is woken. Who writes it often claims that it is fresh, and is often wrong. */
export const Letter = Actor.make<typeof LetterCommand.Type, typeof LetterFact.Type, LetterState, number>({
  kind: "letter",
  command: LetterCommand,
  fact: LetterFact,
  state: LetterState,
  reply: Schema.Number,
  initial: () => ({ texts: [], at: null }),
  decide: (state, { inMillis, text }, { now }) =>
    Actor.decided({
      facts: [{ from: "writer", text, at: inMillis === null ? null : now + inMillis }],
      reply: state.texts.length
    }),
  copy: (state) => ({ ...state }),
  evolve: (state, { at, from, text }) => {
    state.texts = [...state.texts, `${from} ${text}`].slice(-maximumTexts)
    state.at = at
    return state
  },
  wakeAt: ({ at }) => at ?? undefined,
  wake: (_state, { now }) => Actor.decided({ facts: [{ from: "wake", text: `${now}`, at: null }] }),
  leavesMemory: "after its checkpoint"
})

const BellCommand = Schema.TaggedStruct("Ring", {
  /** Different in every command, so that decisions can be told apart. No key: a repeat rings again. */
  name: Id,
  times: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
  letters: Schema.Array(Schema.Literals(letterKeys)),
  fresh: Schema.Boolean
})

/** Has no state. Says in letters that it rang, naming some of them more than once and more than a scan takes. */
export const Bell = Actor.makeStateless({
  kind: "bell",
  command: BellCommand,
  fact: Schema.Struct({ name: Schema.String, times: Schema.Number }),
  reply: Schema.Number,
  touches: ({ fresh, letters }) => letters.slice(0, 12).map((key) => Letter.at(key, { fresh })),
  decide: ({ letters, name, times }, context) => {
    const keys = [...new Set(letters.slice(0, 12))]
    const text = keys.map((key) => context.read(Letter, key).texts.length).join(" ")
    return Actor.decided({
      facts: [{ name, times }],
      others: keys.map((key) => Letter.facts(key, [{ from: "bell", text, at: null }])),
      events: times > 8 ? [{ type: "bank.rang", service: "bank", livemode: true, data: { times } }] : [],
      reply: times
    })
  }
})

const MeterFact = Schema.Struct({ signal: Schema.Number, amount: Schema.Number })

/** Adds up what signals say. */
export const Meter = Actor.make<
  { readonly signal: number; readonly amount: number },
  { readonly signal: number; readonly amount: number },
  { readonly total: number; readonly count: number },
  number
>({
  kind: "meter",
  command: MeterFact,
  fact: MeterFact,
  state: Schema.Struct({ total: Schema.Number, count: Schema.Number }),
  reply: Schema.Number,
  initial: () => ({ total: 0, count: 0 }),
  decide: (state, command) => Actor.decided({ facts: [command], reply: state.total + command.amount }),
  evolve: (state, fact) => ({ total: state.total + fact.amount, count: state.count + 1 })
})

export const usageKind = "usage"

const usage: SignalRule = (signal) => ({
  actor: Meter,
  key: "",
  command: { signal: signal.sequence, amount: JSON.parse(Buffer.from(signal.data).toString("utf8")).amount }
})

/** The window of the limiter lane, milliseconds, and what it admits in one. */
export const windowMillis = 10_000
export const windowLimit = 3

/** Answers whether it admits, and in which window. It reads an account only so that lanes also wait for loads. */
export const Limiter = Lane.make<
  null,
  { window: number; used: number },
  { readonly admitted: boolean; readonly window: number }
>({
  kind: "limiter",
  initial: () => ({ window: -1, used: 0 }),
  touches: () => [Account.at("a")],
  decide: (state, _command, context) => {
    context.read(Account, "a")
    const window = Math.floor(context.now / windowMillis)
    if (window !== state.window) {
      state.window = window
      state.used = 0
    }
    if (state.used >= windowLimit) return { admitted: false, window }
    state.used++
    return { admitted: true, window }
  },
  keepUntil: (state) => (state.window + 1) * windowMillis
})

const TillCommand = Schema.Union([
  /** Too large a price is rejected. */
  Schema.TaggedStruct("Sell", { price: Schema.Literals([1, 2, 3, 500]) }),
  Schema.TaggedStruct("Total", {})
])

/** Adds up what was sold. Its rule recognizes no repeat: the engine's idempotency keys have to. */
export const Till = Actor.make<
  typeof TillCommand.Type,
  number,
  { readonly sales: number; readonly total: number },
  ReadonlyArray<number>,
  string
>({
  kind: "till",
  command: TillCommand,
  fact: Schema.Number,
  state: Schema.Struct({ sales: Schema.Number, total: Schema.Number }),
  reply: Schema.Array(Schema.Number),
  rejection: Schema.String,
  initial: () => ({ sales: 0, total: 0 }),
  decide: ({ sales, total }, command) => {
    if (command._tag === "Total") return Actor.decided({ reply: [sales, total] })
    if (command.price > 100 && sales % 2 === 0) return Actor.rejected(`sale ${sales} is too dear`)
    return Actor.decided({ facts: [command.price], reply: [sales + 1, total + command.price] })
  },
  evolve: ({ sales, total }, price) => ({ sales: sales + 1, total: total + price })
})

/** So many singers learn verses; states are compared often, so there are few. */
const largeSingers = 2

const withId = (command: unknown, number: number): unknown =>
  typeof command === "object" && command !== null && "id" in command ? { ...command, id: `k${number}` } : command

const withName = (command: unknown, number: number): unknown => ({ ...(command as object), name: `r${number}` })
const withText = (command: unknown, number: number): unknown => ({ ...(command as object), text: `t${number}` })

const draw = <S extends Schema.Constraint>(schema: S) => Arbitrary.schema(schema) as Arbitrary.Arbitrary<unknown>

/**
 * The workload that the engine is proved with: actors of every kind, with sentences about all of them.
 *
 * @example
 * ```ts
 * import { bank, campaign } from "sluice/simulation"
 *
 * console.log(campaign(bank, { seed: 1, seeds: 1, steps: 20 }).failure) // undefined
 * ```
 */
export const bank: Workload = {
  name: "bank",
  actors: [Account, Alarm, Meter, Letter, Bell, Till, Purse, Lookout, Spinner, Singer, Choir],
  lanes: [Limiter],
  signals: { [usageKind]: usage },
  organizations: ["org_1", "org_2", "org_3"],
  keys: ["a", "b", "c"],
  commands: [
    { actor: Account, weight: 10, arbitrary: draw(AccountCommand.members[0]), finish: withId },
    { actor: Account, weight: 6, arbitrary: draw(AccountCommand.members[1]), finish: withId },
    { actor: Account, weight: 6, arbitrary: draw(AccountCommand.members[2]), finish: withId },
    { actor: Account, weight: 6, arbitrary: draw(AccountCommand.members[3]) },
    { actor: Account, weight: 0.3, arbitrary: draw(AccountCommand.members[4]) },
    { actor: Account, weight: 0.3, arbitrary: draw(AccountCommand.members[5]) },
    { actor: Alarm, weight: 4, arbitrary: draw(AlarmCommand), finish: withId },
    { actor: Letter, weight: 3, arbitrary: draw(LetterCommand), finish: withText },
    { actor: Letter, weight: 3, arbitrary: draw(LetterCommand), finish: withText, isFresh: true },
    { actor: Bell, weight: 3, arbitrary: draw(BellCommand), finish: withName },
    { actor: Lookout, weight: 3, arbitrary: draw(watchCommands.lookout), finish: withId },
    { actor: Spinner, weight: 0.5, arbitrary: draw(watchCommands.spinner), finish: withId },
    {
      actor: Singer,
      weight: 0.6,
      arbitrary: draw(choirCommands.singer),
      finish: withName,
      keyOf: (number) => singerKey(number % largeSingers)
    },
    { actor: Choir, weight: 0.6, arbitrary: draw(choirCommands.choir), finish: withName },
    { actor: Purse, weight: 3, arbitrary: draw(PurseCommand.members[0]), finish: withName },
    { actor: Purse, weight: 5, arbitrary: draw(PurseCommand.members[1]), finish: withName }
  ],
  onceCommands: [
    { actor: Till, weight: 4, arbitrary: draw(TillCommand.members[0]) },
    { actor: Till, weight: 1, arbitrary: draw(TillCommand.members[1]) },
    { actor: Account, weight: 2, arbitrary: draw(AccountCommand.members[0]), finish: withId }
  ],
  isRepeatable: true,
  oracles: {},
  invariants: {
    account: { "a balance is never negative": (state: AccountState) => state.balance >= 0 }
  } as Workload["invariants"],
  checkers: [...bankCheckers, ...purseCheckers],
  oldFacts: (index) => ({
    organization: `org_${1 + (index % 3)}`,
    kind: "account",
    key: "a",
    version: 1,
    fact: { amount: 10 + index }
  }),
  isIndigestible: (fact) => (fact as Partial<AccountFact> | null)?.change === indigestible
}
