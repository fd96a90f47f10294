/** Simulating a user's actor: oracles, invariants, repeats, and what a report shows. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import {
  describeReport,
  fromJson,
  generate,
  given,
  play,
  type States,
  simulate,
  toJson,
  workloadOf
} from "../../../src/simulation/index.ts"

const Command = Schema.TaggedStruct("Add", { amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) })

const tally = (reply: (total: number) => number) =>
  Actor.make<typeof Command.Type, { readonly amount: number }, { readonly total: number }, number, string>({
    kind: "tally",
    command: Command,
    fact: Schema.Struct({ amount: Schema.Int }),
    state: Schema.Struct({ total: Schema.Int }),
    initial: () => ({ total: 0 }),
    decide: (state, { amount }) =>
      state.total + amount > 50
        ? Actor.rejected("full")
        : Actor.decided({ facts: [{ amount }], reply: reply(state.total + amount) }),
    evolve: (state, fact) => ({ total: state.total + fact.amount })
  })

const oracle = {
  initial: () => 0,
  step: (total: number, { amount }: typeof Command.Type) =>
    total + amount > 50 ? { rejection: "full" } : { model: total + amount, reply: total + amount }
}

describe("simulate", () => {
  describe("given commands that are no objects", () => {
    /** Counts how often it was knocked at; each answer is another, so that no two equal commands may be taken for each other. */
    const doorOf = <Command>(
      command: Actor.JsonCodec<Command>,
      reply: (knocks: number) => number
    ): Actor.Actor<Command, Command, number, number, never> =>
      Actor.make<Command, Command, number, number>({
        kind: "door",
        command,
        fact: command,
        state: Schema.Int,
        initial: () => 0,
        touches: (asked, self) => (asked === "both" ? [doorOf(command, reply).at(`${self.key}'`)] : []),
        evolve: (knocks) => knocks + 1,
        decide: (knocks, asked) => Actor.decided({ facts: [asked], reply: reply(knocks + 1) })
      })
    const counted = {
      initial: () => 0,
      step: (knocks: number) => ({ model: knocks + 1, reply: knocks + 1 })
    }
    const plays = <Command>(command: Actor.JsonCodec<Command>) =>
      Effect.map(
        simulate(
          doorOf(command, (knocks) => knocks),
          { oracle: counted, seeds: 4, steps: 40, floods: false }
        ),
        ({ reach, scenarios }) => [scenarios, reach.warnings]
      )

    it.effect.each([
      ["texts", Schema.Literals(["one", "both"])],
      ["numbers", Schema.Int],
      ["booleans", Schema.Boolean],
      ["null", Schema.Null],
      ["texts, numbers and objects", Schema.Union([Schema.String, Schema.Int, Schema.Struct({ x: Schema.Int })])]
    ])("that are %s, then they are played like any other", ([, command]) =>
      Effect.gen(function* () {
        expect(yield* plays(command as Actor.JsonCodec<unknown>)).toEqual([4, []])
      })
    )

    it.effect("and a wrong rule, then it is found and the command is told as it is", () =>
      Effect.gen(function* () {
        const wrong = doorOf(Schema.Literals(["knock"]), (knocks) => (knocks > 3 ? knocks + 1 : knocks))
        const { failure, message } = yield* Effect.flip(simulate(wrong, { oracle: counted, seeds: 8, floods: false }))
        expect(failure.violation.message).toContain('"knock"')
        expect(failure.scenario.steps.length).toBeLessThan(10)
        expect(message).not.toContain("Boxed")
      })
    )
  })

  it.effect("given a rule that is what its oracle says, then it reports scenarios and marks", () =>
    Effect.gen(function* () {
      const report = yield* simulate(
        tally((total) => total),
        { oracle, seeds: 10, steps: 60 }
      )
      expect(report.scenarios).toBe(10)
      expect(report.marks.get("append, acked")).toBeGreaterThan(0)
      expect(describeReport(report)).toContain("10 scenarios, nothing found")
    })
  )

  it.effect(
    "given a rule that replies something else from 20 on, then the oracle's sentence and few steps are left",
    () =>
      Effect.gen(function* () {
        const wrong = tally((total) => (total >= 20 ? total + 1 : total))
        const { failure } = yield* Effect.flip(simulate(wrong, { oracle, seeds: 20 }))
        expect(failure.violation.checker).toBe("model oracle")
        expect(failure.violation.message).toContain("the oracle says")
        expect(failure.scenario.steps.length).toBeLessThan(10)
      })
  )

  it.effect("given commands of one's own, then only those are asked", () =>
    Effect.gen(function* () {
      const commands = Arbitrary.Constant({ _tag: "Add" as const, amount: 7 })
      const sevens = { "only sevens": ({ total }: { readonly total: number }) => total % 7 === 0 }
      const report = yield* simulate(
        tally((total) => total),
        { commands, invariants: sevens, seeds: 10, steps: 40 }
      )
      expect(report.scenarios).toBe(10)
    })
  )

  it.effect("given weights, then commands come so often, and one of weight 0 never", () =>
    Effect.gen(function* () {
      const Switch = Schema.Union([
        Schema.TaggedStruct("On", {}),
        Schema.TaggedStruct("Off", {}),
        Schema.TaggedStruct("Break", {})
      ])
      const lamp = Actor.make<typeof Switch.Type, string, string>({
        kind: "lamp",
        command: Switch,
        fact: Schema.String,
        state: Schema.String,
        initial: () => "",
        decide: (_state, { _tag }) => Actor.decided({ facts: [_tag] }),
        evolve: (_state, fact) => fact
      })
      const { reach } = yield* simulate(lamp, { weights: { On: 9, Break: 0 }, seeds: 10, steps: 40 })
      const accepted = Object.fromEntries(reach.commands.map(({ accepted, command }) => [command, accepted]))
      expect(accepted.On).toBeGreaterThan(3 * accepted.Off!)
      expect(accepted.Break).toBe(0)
      expect(reach.warnings).toEqual(["lamp never accepted Break"])
    })
  )

  it.effect("given a sentence about all organizations, then it is told of each of them", () =>
    Effect.gen(function* () {
      const counted = tally((total) => total)
      const overall = {
        "at most one organization has begun": (states: States) =>
          states.of(counted).filter(({ state }) => state.total > 0).length < 2
      }
      const { failure, message } = yield* Effect.flip(simulate(counted, { overall, seeds: 20 }))
      expect(failure.violation.message).toBe('"at most one organization has begun" does not hold')
      const organizations = failure.scenario.steps.map((step) => "organization" in step && step.organization)
      expect(organizations.toSorted()).toEqual(["org_1", "org_2"])
      // The story shows states before and after.
      expect(message).toMatch(/org_\d\/tally\/: \{"total":0\} -> \{"total":\d\}/)
    })
  )

  it.effect("given sentences about time, then they get the engine's time at which the states were stored", () =>
    Effect.gen(function* () {
      const Stamp = Actor.make({
        kind: "stamp",
        command: Schema.TaggedStruct("Press", {}),
        fact: Schema.Struct({ at: Schema.Int }),
        state: Schema.Int,
        initial: () => 0,
        evolve: (_, { at }) => at,
        decide: (_, __, { now }) => Actor.decided({ facts: [{ at: now }] })
      })
      const isLast = (states: States, now: number) => Math.max(...states.of(Stamp).map(({ state }) => state)) === now
      const options = { keys: ["a", "b"], floods: false, seeds: 10, steps: 60 } as const
      const report = yield* simulate(Stamp, {
        ...options,
        invariants: {
          "it was pressed as it was stored": (at, { key, now, organization }) =>
            at === now && /^[ab]$/.test(key) && /^org_[12]$/.test(organization),
          "an older sentence takes the state alone": (at) => at > 0
        },
        together: {
          "the last one was pressed as it was stored": (states, { now, organization }) =>
            /^org_[12]$/.test(organization) && isLast(states, now)
        }
      })
      expect(report.scenarios).toBe(10)
      const late = { "nothing is pressed": (_: number, { now }: { readonly now: number }) => now < 0 }
      const { failure } = yield* Effect.flip(simulate(Stamp, { ...options, invariants: late }))
      expect(failure.violation.message).toContain('"nothing is pressed" does not hold')
    })
  )

  describe("given commands that are drawn when they are sent", () => {
    const Reading = Schema.Struct({ at: Schema.Int, value: Schema.Int })
    /** Takes readings with a time of their own, that are at most a second late and ahead of none before. */
    const meter = (takes: (last: number, at: number) => boolean) =>
      Actor.make<typeof Reading.Type, typeof Reading.Type, typeof Reading.Type, number, string>({
        kind: "meter",
        command: Reading,
        fact: Reading,
        state: Reading,
        initial: () => ({ at: 0, value: 0 }),
        decide: (last, reading, { now }) => {
          if (reading.at > now || reading.at < now - 1_000) return Actor.rejected("not of now")
          if (!takes(last.at, reading.at)) return Actor.rejected("not in order")
          return Actor.decided({ facts: [reading], reply: reading.value })
        },
        evolve: (_, reading) => reading
      })
    const drawn = {
      commands: ({ now, state }: { readonly now: number; readonly state: typeof Reading.Type }) =>
        Arbitrary.map(
          Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))),
          (value: number) => ({ at: now - value, value: state.value + 1 })
        ),
      oracle: {
        initial: () => 0,
        step: (last: number, { at, value }: typeof Reading.Type, now: number) => {
          if (at > now || at < now - 1_000) return { rejection: "not of now" }
          return at <= last ? { rejection: "not in order" } : { model: at, reply: value }
        }
      },
      keys: ["a", "b"],
      floods: false
    } as const

    it.effect("and a rule that is right, then most are taken, whatever the time", () =>
      Effect.gen(function* () {
        let most = 0
        const counted = ({ value }: typeof Reading.Type) => {
          most = Math.max(most, value)
          return true
        }
        const { reach } = yield* simulate(
          meter((last, at) => at > last),
          { ...drawn, invariants: { "values are counted": counted }, seeds: 12, steps: 60 }
        )
        // Each reading is drawn from the state before it.
        expect(most).toBeGreaterThan(5)
        const [{ accepted, rejected } = { accepted: 0, rejected: 0 }] = reach.commands
        expect(accepted).toBeGreaterThan(100)
        expect(rejected).toBeGreaterThan(0)
        expect(reach.jumps).toBeGreaterThan(50)
      })
    )

    it.effect("and a wrong one, then the finding holds the commands as they were, and plays again", () =>
      Effect.gen(function* () {
        const wrong = meter((last, at) => at >= last)
        const failed = yield* Effect.flip(simulate(wrong, { ...drawn, seeds: 200 }))
        const { scenario, violation } = failed.failure
        expect(violation.checker).toBe("model oracle")
        expect(failed.scenario).not.toContain("$draw")
        expect(scenario.steps.length).toBeLessThan(8)
        const saved = fromJson(failed.scenario)
        expect(play(saved, workloadOf(wrong, drawn)).violation?.message).toBe(violation.message)
      })
    )

    it("then a scenario that is saved before it is shrunk plays the same", () => {
      const workload = workloadOf(
        meter((last, at) => at > last),
        { ...drawn, floods: true }
      )
      const scenario = generate(workload, 3)
      expect(toJson(scenario)).toContain("$draw")
      const [first, second] = [scenario, fromJson(toJson(scenario))].map((one) => play(one, workload).fingerprint)
      expect(second).toBe(first)
    })
  })

  it.effect("given commands of others, then they are asked and counted too", () =>
    Effect.gen(function* () {
      const other = Actor.make<typeof Command.Type, { readonly amount: number }, number>({
        kind: "other",
        command: Command,
        fact: Schema.Struct({ amount: Schema.Int }),
        state: Schema.Number,
        initial: () => 0,
        decide: (_state, { amount }) => Actor.decided({ facts: [{ amount }] }),
        evolve: (_state, { amount }) => amount
      })
      const { reach } = yield* simulate(
        tally((total) => total),
        { others: [other], otherCommands: { other: 1 }, seeds: 5, steps: 60 }
      )
      expect(reach.commands.map(({ kind }) => kind)).toEqual(["tally", "other"])
      expect(reach.warnings).toEqual([])
    })
  )
})

describe("a specification", () => {
  const counter = (decide: (total: number) => number, evolve = (total: number, amount: number) => total + amount) =>
    Actor.make<typeof Command.Type, { readonly amount: number }, { total: number }>({
      kind: "counter",
      command: Command,
      fact: Schema.Struct({ amount: Schema.Number }),
      state: Schema.Struct({ total: Schema.Number }),
      initial: () => ({ total: 0 }),
      decide: ({ total }) => Actor.decided({ facts: [{ amount: decide(total) }] }),
      evolve: ({ total }, { amount }) => ({ total: evolve(total, amount) })
    })
  const add = { _tag: "Add" as const, amount: 1 }
  let asked = 0

  it.each([
    [
      "its clock",
      counter(() => (Date.now() > 0 ? 1 : 2)),
      "counter.decide is not pure: it reads the clock, by Date.now"
    ],
    [
      "chance",
      counter(
        () => 1,
        (total) => total + Math.floor(Math.random())
      ),
      "counter.evolve is not pure: it reads random numbers, by Math.random"
    ],
    ["what it was asked before", counter(() => ++asked), "counter.decide is not pure: asked twice"]
  ])("refuses a rule that goes by %s", (_name, actor, sentence) => {
    expect(() => given(actor).when(add)).toThrow(sentence)
    // The machine is as it was.
    expect(Math.random()).not.toBe(Math.random())
    expect(Date.name).toBe("Date")
  })

  it("names what a fold has changed in its state", () => {
    const changing = Actor.make<typeof Command.Type, { readonly amount: number }, { readonly total: number }>({
      ...counter(() => 1).options,
      decide: () => Actor.decided({ facts: [{ amount: 1 }] }),
      evolve: (state, { amount }) => Object.assign(state, { total: state.total + amount })
    })
    expect(() => given(changing, [{ amount: 2 }])).toThrow("without `copy`: total: 0 and 2")
  })

  it.effect("counts commands that come by message", () =>
    Effect.gen(function* () {
      const Receiver = Actor.make<
        { readonly _tag: "Credit"; readonly amount: number },
        { readonly amount: number },
        number
      >({
        kind: "receiver",
        command: Schema.TaggedStruct("Credit", { amount: Schema.Int }),
        fact: Schema.Struct({ amount: Schema.Int }),
        state: Schema.Int,
        initial: () => 0,
        evolve: (total, { amount }) => total + amount,
        decide: (_, { amount }) => Actor.decided({ facts: [{ amount }] })
      })
      const Payer = Actor.make<typeof Command.Type, { readonly amount: number }, number, void, string>({
        kind: "payer",
        command: Command,
        fact: Schema.Struct({ amount: Schema.Int }),
        state: Schema.Int,
        initial: () => 0,
        evolve: (total, { amount }) => total + amount,
        decide: (_, { amount }) =>
          Actor.decided({
            facts: [{ amount }],
            messages: [Actor.message(Receiver, "org_2", "", { _tag: "Credit", amount })]
          })
      })
      const { reach } = yield* simulate(Payer, {
        others: [Receiver],
        otherCommands: { receiver: 0 },
        seeds: 4,
        steps: 40,
        floods: false
      })
      const credit = reach.commands.find(({ command }) => command === "Credit")
      expect(credit?.accepted).toBeGreaterThan(0)
      expect(reach.warnings).toEqual([])
    })
  )
})
