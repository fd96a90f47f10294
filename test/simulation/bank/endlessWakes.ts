/** Actors of the bank that are woken without end: a lookout that asks to be woken again, and a spinner that the brake has to hold up. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"

const Id = Schema.String

const LookoutCommand = Schema.TaggedStruct("Watch", {
  id: Id,
  inMillis: Schema.Literals([0, 30, 2_000]),
  everyMillis: Schema.Literals([40, 700, 4_000]),
  looks: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
})

const LookoutFact = Schema.Union([
  Schema.TaggedStruct("Watched", { id: Id, from: Schema.Number, until: Schema.Number, everyMillis: Schema.Number }),
  Schema.TaggedStruct("Seen", { id: Id, until: Schema.Number, at: Schema.Number })
])
export type LookoutFact = typeof LookoutFact.Type

const LookoutState = Schema.NullOr(
  Schema.Struct({ id: Id, from: Schema.Number, until: Schema.Number, everyMillis: Schema.Number })
)

/** Looks out from a time on and again after each pause, until another time has come: only then it has a fact. A later watch replaces it. */
export const Lookout = Actor.make<typeof LookoutCommand.Type, LookoutFact, typeof LookoutState.Type, number>({
  kind: "lookout",
  command: LookoutCommand,
  fact: LookoutFact,
  state: LookoutState,
  reply: Schema.Number,
  initial: () => null,
  decide: (_state, { everyMillis, id, inMillis, looks }, { now }) => {
    const from = now + inMillis
    return Actor.decided({
      facts: [{ _tag: "Watched" as const, id, from, until: from + looks * everyMillis, everyMillis }],
      reply: from
    })
  },
  evolve: (_state, fact) => {
    if (fact._tag === "Seen") return null
    const { everyMillis, from, id, until } = fact
    return { id, from, until, everyMillis }
  },
  wakeAt: (state) => state?.from,
  wake: (state, { now }) => {
    const { everyMillis, id, until } = state!
    return now < until
      ? Actor.wakeAgain(Math.min(now + everyMillis, until))
      : Actor.decided({ facts: [{ _tag: "Seen" as const, id, until, at: now }] })
  },
  isOver: (state) => state === null
})

const SpinnerCommand = Schema.TaggedStruct("Spin", {
  id: Id,
  turns: Schema.Literals([3, 30, 130]),
  /** Whether each turn is a fact, or only asks to be woken a millisecond later. */
  hasFacts: Schema.Boolean
})

const SpinnerFact = Schema.Struct({ id: Id, at: Schema.Number, turns: Schema.Number, hasFacts: Schema.Boolean })
const SpinnerState = Schema.NullOr(SpinnerFact)

/** How long a turn without a fact lasts, milliseconds. */
const turnMillis = 2

/** Its wakes never move the time ahead at which it wants to be woken. It stops after some turns, so that a scenario has an end. */
export const Spinner = Actor.make<
  typeof SpinnerCommand.Type,
  typeof SpinnerFact.Type,
  typeof SpinnerState.Type,
  number
>({
  kind: "spinner",
  command: SpinnerCommand,
  fact: SpinnerFact,
  state: SpinnerState,
  reply: Schema.Number,
  initial: () => null,
  decide: (_state, { hasFacts, id, turns }, { now }) =>
    Actor.decided({ facts: [{ id, at: now, turns, hasFacts }], reply: now }),
  evolve: (_state, fact) => (fact.turns === 0 ? null : fact),
  wakeAt: (state) => state?.at,
  wake: (state, { now }) => {
    const { at, hasFacts, id, turns } = state!
    if (!hasFacts && now < at + turns * turnMillis) return Actor.wakeAgain(now + 1)
    return Actor.decided({ facts: [{ id, at, turns: hasFacts ? turns - 1 : 0, hasFacts }] })
  },
  isOver: (state) => state === null
})

/** The commands of both that are drawn. */
export const watchCommands = { lookout: LookoutCommand, spinner: SpinnerCommand }
