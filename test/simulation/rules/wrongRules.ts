/**
 * Rules that are wrong on purpose, each in one way that a person may miss, and the sentence with which a simulation must find it; and the same rules as
 * they should be, of which it must say nothing.
 */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import { plan, type SimulationPlan } from "../../../src/simulation/index.ts"

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

const Id = Schema.String
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
const Time = Schema.Number

export interface WrongRule {
  readonly name: string
  readonly plan: () => SimulationPlan
  /** Part of what is said about it. */
  readonly says: string
  /** The first scenario that is played. Earlier ones show nothing, or take long to make small. */
  readonly seed?: number
}

// An hourly window: at most three, an entry at t counts in [t, t + an hour).

const Take = Schema.TaggedStruct("Take", { id: Id })
const TakenAt = Schema.Struct({ at: Time })

const hourly = (counts: (at: number, now: number) => boolean) =>
  Actor.make<typeof Take.Type, typeof TakenAt.Type, { readonly taken: ReadonlyArray<number> }, boolean, string>({
    kind: "hourly",
    command: Take,
    fact: TakenAt,
    state: Schema.Struct({ taken: Schema.Array(Time) }),
    initial: () => ({ taken: [] }),
    decide: ({ taken }, _command, { now }) =>
      taken.filter((at) => counts(at, now)).length < 3
        ? Actor.decided({ facts: [{ at: now }], reply: true })
        : Actor.rejected("full"),
    evolve: ({ taken }, { at }) => ({ taken: [...taken.filter((known) => known > at - 2 * hourMillis), at] })
  })

const hourlyOracle = {
  initial: (): ReadonlyArray<number> => [],
  step: (taken: ReadonlyArray<number>, _command: unknown, now: number) => {
    const counted = taken.filter((at) => now - at < hourMillis)
    return counted.length < 3 ? { model: [...counted, now], reply: true } : { rejection: "full" }
  }
}

// A subscription that ends after 30 days.

const Member = Schema.Union([Schema.TaggedStruct("Join", { id: Id }), Schema.TaggedStruct("Pay", { id: Id })])
const MemberFact = Schema.Union([
  Schema.TaggedStruct("Joined", { endsAt: Time }),
  Schema.TaggedStruct("Paid", {}),
  Schema.TaggedStruct("Ended", {})
])
const MemberState = Schema.Struct({ endsAt: Schema.NullOr(Time), isPaid: Schema.Boolean, ended: Schema.Int })

/** Ends although it was paid. */
const membership = Actor.make<typeof Member.Type, typeof MemberFact.Type, typeof MemberState.Type, void, string>({
  kind: "membership",
  command: Member,
  fact: MemberFact,
  state: MemberState,
  initial: () => ({ endsAt: null, isPaid: false, ended: 0 }),
  decide: ({ endsAt }, { _tag }, { now }) => {
    if (_tag === "Pay")
      return endsAt === null ? Actor.rejected("no member") : Actor.decided({ facts: [{ _tag: "Paid" }] })
    return endsAt === null
      ? Actor.decided({ facts: [{ _tag: "Joined", endsAt: now + 30 * dayMillis }] })
      : Actor.rejected("a member already")
  },
  evolve: (state, fact) => {
    if (fact._tag === "Joined") return { ...state, endsAt: fact.endsAt, isPaid: false }
    if (fact._tag === "Paid") return { ...state, isPaid: true }
    return { endsAt: null, isPaid: state.isPaid, ended: state.ended + 1 }
  },
  wakeAt: ({ endsAt }) => endsAt ?? undefined,
  wake: () => Actor.decided({ facts: [{ _tag: "Ended" as const }] })
})

// Reminders.

const Remind = Schema.TaggedStruct("Remind", { id: Id, inMillis: Schema.Literals([1_000, 60_000, dayMillis]) })
const RemindFact = Schema.Union([Schema.TaggedStruct("Set", { at: Time }), Schema.TaggedStruct("Rung", {})])
const RemindState = Schema.NullOr(Schema.Struct({ at: Time, rings: Schema.Int }))

const reminder = (
  wake: (
    state: typeof RemindState.Type,
    now: number
  ) => Actor.Decision<typeof RemindFact.Type, unknown, unknown> | Actor.WakeAgain,
  afterRing: (state: { readonly at: number; readonly rings: number }) => typeof RemindState.Type = () => null
) =>
  Actor.make<typeof Remind.Type, typeof RemindFact.Type, typeof RemindState.Type>({
    kind: "reminder",
    command: Remind,
    fact: RemindFact,
    state: RemindState,
    initial: () => null,
    decide: (_state, { inMillis }, { now }) => Actor.decided({ facts: [{ _tag: "Set", at: now + inMillis }] }),
    evolve: (state, fact) =>
      fact._tag === "Set" ? { at: fact.at, rings: 0 } : state === null ? null : afterRing(state),
    wakeAt: (state) => state?.at,
    wake: (state, { now }) => wake(state, now)
  })

const rung = () => Actor.decided({ facts: [{ _tag: "Rung" as const }] })

// Accounts that transfer to each other.

const Bank = Schema.Union([
  Schema.TaggedStruct("Open", { amount: Amount }),
  Schema.TaggedStruct("Transfer", { to: Schema.Literals(["a", "b"]), amount: Amount })
])
const BankFact = Schema.TaggedStruct("Booked", { amount: Schema.Int })
const BankState = Schema.Struct({ balance: Schema.Int, isOpen: Schema.Boolean })

interface AccountFaults {
  /** What the other account is credited with. */
  readonly credit?: (amount: number) => ReadonlyArray<typeof BankFact.Type>
  /** Whether the command names the account that it pays to. */
  readonly touches?: boolean
}

const account = ({ credit = (amount) => [{ _tag: "Booked", amount }], touches = true }: AccountFaults) => {
  const self: Actor.Actor<typeof Bank.Type, typeof BankFact.Type, typeof BankState.Type, number, string> = Actor.make<
    typeof Bank.Type,
    typeof BankFact.Type,
    typeof BankState.Type,
    number,
    string
  >({
    kind: "account",
    command: Bank,
    fact: BankFact,
    state: BankState,
    initial: () => ({ balance: 0, isOpen: false }),
    decide: (state, command, { read, self: me }) => {
      if (command._tag === "Open") {
        if (state.isOpen) return Actor.rejected("open already")
        return Actor.decided({ facts: [{ _tag: "Booked", amount: 100 }], reply: 100 })
      }
      const { amount, to } = command
      if (to === me.key) return Actor.rejected("to itself")
      if (state.balance < amount) return Actor.rejected("not enough")
      if (!read(self, to).isOpen) return Actor.rejected("nobody there")
      return Actor.decided({
        facts: [{ _tag: "Booked", amount: -amount }],
        others: [self.facts(to, credit(amount))],
        reply: state.balance - amount
      })
    },
    evolve: ({ balance }, { amount }) => ({ balance: balance + amount, isOpen: true }),
    touches: (command) => (touches && command._tag === "Transfer" ? [self.at(command.to)] : [])
  })
  return self
}

const accounts = (faults: AccountFaults) => {
  const actor = account(faults)
  return plan(actor, {
    keys: ["a", "b"],
    together: {
      "what was opened with is there": (states) => {
        const open = states.of(actor).filter(({ state }) => state.isOpen)
        return open.reduce((sum, { state }) => sum + state.balance, 0) === 100 * open.length
      }
    }
  })
}

// Something that counts.

const Add = Schema.TaggedStruct("Add", { amount: Amount })
const Added = Schema.Struct({ amount: Schema.Int })
const Total = Schema.Struct({ total: Schema.Int })

interface Parts {
  readonly decide?: (state: typeof Total.Type, amount: number) => ReadonlyArray<unknown>
  readonly evolve?: (state: { total: number }, fact: { amount: number }) => typeof Total.Type
}

const counter = ({ decide, evolve }: Parts) =>
  Actor.make<typeof Add.Type, typeof Added.Type, typeof Total.Type>({
    kind: "counter",
    command: Add,
    fact: Added,
    state: Total,
    initial: () => ({ total: 0 }),
    // What is wrong on purpose does not fit its type.
    decide: (state, { amount }) =>
      Actor.decided({ facts: (decide?.(state, amount) ?? [{ amount }]) as Array<typeof Added.Type> }),
    evolve: evolve ?? (({ total }, { amount }) => ({ total: total + amount }))
  })

const Note = Schema.TaggedStruct("Note", { text: Schema.String })

/** Keeps every note for ever. */
const notebook = Actor.make<typeof Note.Type, typeof Note.Type, { readonly notes: ReadonlyArray<string> }>({
  kind: "notebook",
  command: Note,
  fact: Note,
  state: Schema.Struct({ notes: Schema.Array(Schema.String) }),
  initial: () => ({ notes: [] }),
  decide: (_state, note) => Actor.decided({ facts: [note] }),
  evolve: ({ notes }, { text }) => ({ notes: [...notes, `a note that says ${text.slice(0, 20)}`.padEnd(240)] })
})

/** Keeps a number of few digits for each command, the newest of them only where there is a maximum. */
const numbers = (maximum: number) =>
  Actor.make<typeof Add.Type, typeof Added.Type, { readonly amounts: ReadonlyArray<number> }>({
    kind: "numbers",
    command: Add,
    fact: Added,
    state: Schema.Struct({ amounts: Schema.Array(Schema.Int) }),
    initial: () => ({ amounts: [] }),
    decide: (_state, { amount }) => Actor.decided({ facts: [{ amount }] }),
    evolve: ({ amounts }, { amount }) => ({ amounts: [...amounts, amount].slice(-maximum) })
  })

/** Whose old facts and states have another form, of which the upcast knows one. */
const renamed = Actor.make<typeof Add.Type, typeof Added.Type, typeof Total.Type>({
  kind: "renamed",
  version: 2,
  command: Add,
  fact: Added,
  state: Total,
  initial: () => ({ total: 0 }),
  decide: (_state, { amount }) => Actor.decided({ facts: [{ amount }] }),
  evolve: ({ total }, { amount }) => ({ total: total + amount }),
  upcastFact: { 1: (fact) => ({ amount: (fact as { sum: number }).sum }) },
  upcastState: { 1: (state) => state }
})

export const wrongRules: ReadonlyArray<WrongRule> = [
  {
    name: "a window of an hour in which an entry counts a millisecond too long",
    plan: () =>
      plan(
        hourly((at, now) => now - at <= hourMillis),
        { oracle: hourlyOracle }
      ),
    seed: 48,
    says: "the oracle says"
  },
  {
    name: "a window of an hour in which an entry counts a millisecond too short",
    plan: () =>
      plan(
        hourly((at, now) => now - at < hourMillis - 1),
        { oracle: hourlyOracle }
      ),
    seed: 29,
    says: "the oracle says"
  },
  {
    name: "a timer of 30 days that forgets a payment",
    plan: () =>
      plan(membership, {
        invariants: { "nobody who has paid is sent away": ({ ended, isPaid }) => ended === 0 || !isPaid }
      }),
    says: "nobody who has paid is sent away"
  },
  {
    name: "a wake without facts",
    plan: () => plan(reminder((_state, now) => (now % 7 === 0 ? rung() : Actor.decided({})))),
    says: "wake decides nothing"
  },
  {
    name: "a wake that throws",
    plan: () =>
      plan(
        reminder((state) => {
          if (state!.at % 5 === 0) throw new Error("no bell")
          return rung()
        })
      ),
    says: "reminder.wake throws on its wake"
  },
  {
    name: "a wake that never moves its time",
    plan: () => plan(reminder(rung, ({ at, rings }) => ({ at, rings: rings + 1 }))),
    says: "does not move wakeAt ahead"
  },
  {
    name: "a wake that asks for a time that has passed",
    plan: () => plan(reminder((state) => Actor.wakeAgain(state!.at))),
    says: "which does not come after now"
  },
  {
    name: "a transfer that forgets its credit",
    plan: () => accounts({ credit: () => [] }),
    says: "what was opened with is there"
  },
  {
    name: "a transfer that credits one too many, seldom",
    plan: () => accounts({ credit: (amount) => [{ _tag: "Booked", amount: amount === 9 ? 10 : amount }] }),
    says: "what was opened with is there"
  },
  {
    name: "an actor that is read and not touched",
    plan: () => accounts({ touches: false }),
    says: "account.decide throws"
  },
  {
    name: "a decision that throws",
    plan: () =>
      plan(
        counter({
          decide: ({ total }, amount) => {
            if (total > 40) throw new RangeError("too many")
            return [{ amount }]
          }
        })
      ),
    says: "counter.decide throws on"
  },
  {
    name: "a fact outside its schema",
    plan: () => plan(counter({ decide: ({ total }, amount) => [{ amount: total > 20 ? amount / 2 : amount }] })),
    says: "gives a fact that the schema of counter refuses"
  },
  {
    name: "a fold that throws",
    plan: () =>
      plan(
        counter({
          evolve: ({ total }, { amount }) => {
            if (total + amount === 33) throw new Error("33")
            return { total: total + amount }
          }
        })
      ),
    says: "counter.evolve throws on the fact"
  },
  { name: "a state without a bound", plan: () => plan(notebook), seed: 55, says: "has no bound" },
  {
    name: "a state that grows by two characters for each command",
    plan: () => plan(numbers(Number.POSITIVE_INFINITY)),
    seed: 84,
    says: "has no bound: it grows by 2.0 characters for each decision"
  },
  {
    name: "a decision by the machine's clock",
    plan: () => plan(counter({ decide: (_state, amount) => [{ amount: Date.now() > 0 ? amount : 0 }] })),
    says: "counter.decide is not pure: it reads the clock, by Date.now"
  },
  {
    name: "a decision by the machine's date",
    plan: () => plan(counter({ decide: (_state, amount) => [{ amount: new Date().getUTCDate() > 0 ? amount : 0 }] })),
    says: "counter.decide is not pure: it reads the clock, by new Date()"
  },
  {
    name: "a decision by chance",
    plan: () => plan(counter({ decide: (_state, amount) => [{ amount: Math.random() > 2 ? 0 : amount }] })),
    says: "counter.decide is not pure: it reads random numbers"
  },
  {
    name: "a decision by what was asked before",
    plan: () => {
      let asked = 0
      return plan(counter({ decide: () => [{ amount: ++asked }] }))
    },
    says: "counter.decide is not pure: asked twice for"
  },
  {
    name: "a decision that changes its state",
    plan: () =>
      plan(
        counter({
          decide: (state, amount) => {
            ;(state as { total: number }).total += amount
            return [{ amount }]
          }
        })
      ),
    says: "counter.decide changes the state that it decides upon, total"
  },
  {
    name: "a fold that changes the state that it is given",
    plan: () =>
      plan(
        counter({
          evolve: (state, { amount }) => {
            state.total += amount
            return state
          }
        })
      ),
    says: "counter.evolve changes the state that it is given, without `copy`: total"
  },
  {
    name: "a fold by the machine's clock",
    plan: () =>
      plan(counter({ evolve: ({ total }, { amount }) => ({ total: total + (performance.now() < 0 ? 0 : amount) }) })),
    says: "counter.evolve is not pure: it reads the clock, by performance.now"
  },
  {
    name: "a fold by the month of the machine's time zone",
    plan: () =>
      plan(
        counter({ evolve: ({ total }, { amount }) => ({ total: total + (new Date(0).getMonth() < 0 ? 0 : amount) }) })
      ),
    says: "counter.evolve is not pure: it reads the time zone of the machine, by getMonth"
  },
  {
    name: "a decision by the locale of the machine",
    plan: () => plan(counter({ decide: (_state, amount) => ("a".localeCompare("b") > 0 ? [] : [{ amount }]) })),
    says: "counter.decide is not pure: it reads the locale of the machine, by localeCompare"
  },
  {
    name: "an old fact that cannot be read",
    plan: () => plan(renamed, { old: [{ version: 1, facts: [{ sum: 3 }, { amount: 4 }] }] }),
    says: "renamed cannot read a fact of version 1"
  },
  {
    name: "an old state that cannot be read",
    plan: () => plan(renamed, { old: [{ version: 1, states: [{ total: 7 }, { sum: 7 }] }] }),
    says: "renamed cannot read a state of version 1"
  }
]

/** Ends what was not paid only. */
const paidMembership = Actor.make<typeof Member.Type, typeof MemberFact.Type, typeof MemberState.Type, void, string>({
  ...membership.options,
  wakeAt: ({ endsAt }) => endsAt ?? undefined,
  evolve: (state, fact) =>
    fact._tag === "Ended" && state.isPaid
      ? { ...state, endsAt: null, isPaid: false }
      : membership.options.evolve(state, fact),
  wake: () => Actor.decided({ facts: [{ _tag: "Ended" as const }] })
})

export const rightRules: ReadonlyArray<Pick<WrongRule, "name" | "plan">> = [
  {
    name: "a window of an hour",
    plan: () =>
      plan(
        hourly((at, now) => now - at < hourMillis),
        { oracle: hourlyOracle, floods: false }
      )
  },
  {
    name: "a timer of 30 days",
    plan: () =>
      plan(paidMembership, {
        invariants: { "the time of a member is whole": ({ endsAt }) => endsAt === null || Number.isInteger(endsAt) }
      })
  },
  { name: "a reminder", plan: () => plan(reminder(rung)) },
  { name: "transfers", plan: () => accounts({}) },
  { name: "a counter", plan: () => plan(counter({})) },
  { name: "a list with a bound beyond the first flood", plan: () => plan(numbers(4_000)) },
  {
    name: "a counter with an old form of its facts and states",
    plan: () => plan(renamed, { old: [{ version: 1, facts: [{ sum: 3 }], states: [{ total: 7 }] }] })
  }
]
