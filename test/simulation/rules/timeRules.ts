/**
 * Rules that wait for ever on purpose, where a sentence about time must find them, and the same rules as they should be, of which nothing must be
 * said.
 */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import { plan } from "../../../src/simulation/index.ts"
import type { WrongRule } from "./wrongRules.ts"

const minuteMillis = 60_000
const hourMillis = 60 * minuteMillis
const dayMillis = 24 * hourMillis

// A job that is tried five times, ten minutes apart, and then given up.

const JobFact = Schema.Union([
  Schema.TaggedStruct("Started", { at: Schema.Int }),
  Schema.TaggedStruct("Tried", { again: Schema.NullOr(Schema.Int) }),
  Schema.TaggedStruct("GivenUp", {})
])
const JobState = Schema.Struct({
  isOpen: Schema.Boolean,
  tries: Schema.Int,
  at: Schema.NullOr(Schema.Int)
})
type Tries = (tries: number, now: number, late: number) => number | null

const job = (again: Tries) =>
  plan(
    Actor.make<{ readonly _tag: "Start" }, typeof JobFact.Type, typeof JobState.Type, void, string>({
      kind: "job",
      command: Schema.TaggedStruct("Start", {}),
      fact: JobFact,
      state: JobState,
      initial: () => ({ isOpen: false, tries: 0, at: null }),
      decide: ({ isOpen }, _, { now }) =>
        isOpen
          ? Actor.rejected("it is under way")
          : Actor.decided({ facts: [{ _tag: "Started", at: now + 10 * minuteMillis }] }),
      evolve: (state, fact) => {
        switch (fact._tag) {
          case "Started":
            return { isOpen: true, tries: 0, at: fact.at }
          case "Tried":
            return { ...state, tries: state.tries + 1, at: fact.again }
          case "GivenUp":
            return { isOpen: false, tries: 0, at: null }
        }
      },
      wakeAt: ({ at }) => at ?? undefined,
      wake: ({ at, tries }, { now }) =>
        Actor.decided({
          facts: [tries === 5 ? { _tag: "GivenUp" } : { _tag: "Tried", again: again(tries, now, now - at!) }]
        })
    }),
    {
      keys: ["one", "two"],
      eventually: {
        "a job comes to an end": { within: hourMillis, from: ({ isOpen }) => isOpen, until: ({ isOpen }) => !isOpen }
      }
    }
  )

const soonAgain: Tries = (_, now) => now + 10 * minuteMillis

// Places that are held for up to ten minutes.

const HoldState = Schema.Struct({ held: Schema.Array(Schema.Int) })
const HoldFact = Schema.Union([
  Schema.TaggedStruct("Held", { until: Schema.Int }),
  Schema.TaggedStruct("Freed", { until: Schema.Int })
])

const places = (wakeAt: (...held: ReadonlyArray<number>) => number) =>
  plan(
    Actor.make<{ readonly minutes: number }, typeof HoldFact.Type, typeof HoldState.Type, void, string>({
      kind: "places",
      command: Schema.Struct({ minutes: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 })) }),
      fact: HoldFact,
      state: HoldState,
      initial: () => ({ held: [] }),
      decide: ({ held }, { minutes }, { now }) =>
        held.length >= 40
          ? Actor.rejected("all are held")
          : Actor.decided({ facts: [{ _tag: "Held", until: now + minutes * minuteMillis }] }),
      evolve: ({ held }, fact) => ({
        held: fact._tag === "Held" ? [...held, fact.until] : held.filter((until) => until > fact.until)
      }),
      wakeAt: ({ held }) => (held.length === 0 ? undefined : wakeAt(...held)),
      wake: (_, { now }) => Actor.decided({ facts: [{ _tag: "Freed", until: now }] })
    }),
    {
      eventually: {
        "what is held is freed": {
          within: 10 * minuteMillis,
          from: ({ held }) => held.length > 0,
          until: ({ held }, { begun }) => begun.held.some((until) => !held.includes(until))
        }
      }
    }
  )

// Notes that are sent together, a while after the first of them.

const DigestFact = Schema.Union([Schema.TaggedStruct("Noted", { sendAt: Schema.Int }), Schema.TaggedStruct("Sent", {})])
const DigestState = Schema.Struct({ notes: Schema.Int, sendAt: Schema.NullOr(Schema.Int) })

const digest = (waitMillis: number, sendAt: (known: number | null, at: number) => number) =>
  plan(
    Actor.make<{ readonly _tag: "Note" }, typeof DigestFact.Type, typeof DigestState.Type>({
      kind: "digest",
      command: Schema.TaggedStruct("Note", {}),
      fact: DigestFact,
      state: DigestState,
      initial: () => ({ notes: 0, sendAt: null }),
      decide: (state, _, { now }) =>
        Actor.decided({ facts: [{ _tag: "Noted", sendAt: sendAt(state.sendAt, now + waitMillis) }] }),
      evolve: ({ notes }, fact) =>
        fact._tag === "Noted" ? { notes: notes + 1, sendAt: fact.sendAt } : { notes: 0, sendAt: null },
      wakeAt: ({ sendAt }) => sendAt ?? undefined,
      wake: () => Actor.decided({ facts: [{ _tag: "Sent" }] })
    }),
    {
      floods: false,
      eventually: {
        "what is noted is sent": {
          within: 2 * waitMillis,
          from: ({ notes }) => notes > 0,
          until: ({ notes }) => notes === 0
        }
      }
    }
  )

const first = (known: number | null, at: number) => known ?? at

export const starvingRules: ReadonlyArray<WrongRule> = [
  {
    name: "a timer that is not set again after the third try",
    plan: () => job((tries, now, late) => (tries === 3 ? null : soonAgain(tries, now, late))),
    says: '"a job comes to an end" does not hold for job'
  },
  {
    name: "a timer that is not set again by a late wake",
    plan: () => job((tries, now, late) => (late > minuteMillis ? null : soonAgain(tries, now, late))),
    says: '"a job comes to an end" does not hold for job'
  },
  {
    name: "places that are freed when the last of them is over",
    plan: () => places(Math.max),
    seed: 6,
    says: '"what is held is freed" does not hold for places'
  },
  {
    name: "notes of which each puts off the others",
    plan: () => digest(10 * minuteMillis, (_, at) => at),
    seed: 8,
    says: '"what is noted is sent" does not hold for digest'
  },
  {
    name: "notes of which each puts off the others by days",
    plan: () => digest(7 * dayMillis, (_, at) => at),
    seed: 4,
    says: '"what is noted is sent" does not hold for digest'
  }
]

export const punctualRules: ReadonlyArray<Pick<WrongRule, "name" | "plan">> = [
  { name: "a job that is tried and given up", plan: () => job(soonAgain) },
  { name: "places that are freed in time", plan: () => places(Math.min) },
  { name: "notes that are sent together", plan: () => digest(10 * minuteMillis, first) },
  { name: "notes that are sent together after days", plan: () => digest(7 * dayMillis, first) }
]
