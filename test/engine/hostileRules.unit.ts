/**
 * A fuzzer of rules: actors whose rules are drawn at random to break, beside organizations that do their business, over checkpoints, evictions
 * and restarts. The others never notice: each of their asks is answered as by a plain model, the partition does not restart, and after a
 * recovery everything is as it was.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import * as Lane from "../../src/engine/Lane.ts"
import * as SignalsMemory from "../../src/engine/memory/SignalsMemory.ts"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { Account, Counter, Reminder } from "./support/actors.ts"
import { elapse, makeDeployment, partitionIn, serving } from "./support/deployment.ts"

const seeds = 40
const livesOfSeed = 3
const roundsOfLife = 6

const State = Schema.Struct({
  count: Schema.Number.check(Schema.isFinite()),
  at: Schema.NullOr(Schema.Number),
  text: Schema.String
})
type State = typeof State.Type
type Fact = typeof State.Type

const circular: { self?: unknown } = {}
circular.self = circular

/** What a rule may come to instead of an answer. Some of it passes for one. */
const nonsense = (random: Prng): unknown => {
  const answers: ReadonlyArray<() => unknown> = [
    () => undefined,
    () => null,
    () => Number.NaN,
    () => Number.NEGATIVE_INFINITY,
    () => Number.POSITIVE_INFINITY,
    () => 1e300,
    () => "text",
    () => [],
    () => [undefined],
    () => ({}),
    () => circular,
    () => Promise.resolve(1),
    () => Symbol("no JSON"),
    () => 10n,
    () => () => 1,
    () => new Map(),
    () => Object.freeze({ count: 1, at: null, text: "" }),
    () => ({ count: 1, at: Number.NaN, text: "" }),
    () => ({ count: 1, at: null, text: "x".repeat(70_000) }),
    () => Actor.decided({ facts: [{ count: Number.NaN, at: null, text: "" }] }),
    () => Actor.decided({ facts: [undefined, circular] as never }),
    () => Actor.decided({ others: [Counter.facts("", [{ _tag: "Added", amount: 1 }])] }),
    () => Actor.decided({ others: [{ actor: Counter, key: "\0", facts: [] }] }),
    () => Actor.decided({ events: [{ type: "a", service: "b", livemode: true, data: circular }] }),
    () =>
      Actor.decided({ facts: Array.from({ length: 40 }, () => ({ count: 1, at: null, text: "x".repeat(30_000) })) }),
    () => Actor.rejected(circular),
    () => Actor.wakeAgain(Number.NaN),
    () => Actor.wakeAgain(random.int(0, 20_000)),
    () => {
      throw new Error("boom")
    },
    () => {
      throw undefined
    },
    () => {
      throw Object.defineProperty(new Error(), "message", {
        get: () => {
          throw new Error("no message")
        }
      })
    }
  ]
  return answers[random.int(0, answers.length - 1)]!()
}

/** How likely each rule is to break. Not in decide, wake or touches alone: what was accepted has to be folded by the very same program later. */
interface Temper {
  readonly decide: number
  readonly wake: number
  readonly touches: number
  readonly evolve: boolean
  readonly wakeAt: boolean
  readonly copy: boolean
  readonly initial: boolean
  readonly isOver: boolean
}

const temperOf = (random: Prng): Temper => ({
  decide: random.next() / 2,
  wake: random.next(),
  touches: random.next() / 4,
  evolve: random.chance(0.5),
  wakeAt: random.chance(0.5),
  copy: random.chance(0.5),
  initial: random.chance(0.5),
  isOver: random.chance(0.5)
})

/** What must not be random: a rule is pure, so that it breaks on the same fact again. */
const breaksOn = (isHostile: boolean, count: number, by: number): boolean =>
  isHostile && Math.abs(Math.trunc(count)) % by === by - 1

const hostile = (kind: string, random: Prng, isInPlace: boolean) => {
  const temper = temperOf(random)
  const answer = random.int(0, 1_000_000)
  const broken = (salt: number): never => nonsense(new Prng(answer + salt, "nonsense")) as never
  const sometimes = (chance: number) => random.chance(chance)
  const evolve = (state: State, fact: Fact): State => {
    if (breaksOn(temper.evolve, fact.count, 7)) {
      if (isInPlace) Object.assign(state, { count: -1 })
      return broken(1)
    }
    const next = { count: state.count + 1, at: fact.at, text: fact.text }
    return isInPlace ? Object.assign(state, next) : next
  }
  return Actor.make<number, Fact, State, unknown, unknown>({
    kind,
    command: Schema.Number,
    fact: State,
    state: State,
    initial: (key) => (temper.initial && key === "bad" ? broken(2) : { count: 0, at: null, text: "" }),
    touches: () => (sometimes(temper.touches) ? (nonsense(random) as never) : []),
    decide: (state, command, context) => {
      if (sometimes(temper.decide)) return nonsense(random) as never
      const at = command % 3 === 0 ? context.now + (command % 5) * 700 : null
      const text = "x".repeat(command % 11 === 0 ? 9_000 : command % 20)
      return Actor.decided({ facts: command % 4 === 3 ? [] : [{ count: command, at, text }], reply: state.count })
    },
    evolve,
    ...(isInPlace
      ? { copy: (state: State) => (breaksOn(temper.copy, state.count, 9) ? broken(3) : { ...state }) }
      : {}),
    wakeAt: (state) => (breaksOn(temper.wakeAt, state.count, 8) ? broken(4) : (state.at ?? undefined)),
    wake: (state, context) =>
      sometimes(temper.wake)
        ? (nonsense(random) as never)
        : Actor.decided({
            facts: [{ count: state.count, at: sometimes(0.3) ? context.now : null, text: "" }],
            reply: undefined
          }),
    wakeTouches: () => (sometimes(temper.touches) ? (nonsense(random) as never) : []),
    isOver: (state) => (temper.isOver ? broken(5) : state.count === 0)
  })
}

const hostileLane = (random: Prng) =>
  Lane.make<number, { used: number }, number>({
    kind: "hostile",
    initial: () => (random.chance(0.2) ? (nonsense(random) as never) : { used: 0 }),
    touches: () => (random.chance(0.2) ? (nonsense(random) as never) : []),
    decide: (state) => (random.chance(0.3) ? (nonsense(random) as never) : ++state.used),
    keepUntil: () => (random.chance(0.3) ? (nonsense(random) as never) : 0)
  })

/** The well-behaved organizations, and what they must be told. */
class Model {
  readonly totals = new Map<string, number>()
  readonly balances = new Map<string, number>()
  readonly rings = new Map<string, number>()
}

const well = ["well_1", "well_2", "well_3"]
const ill = ["ill_1", "ill_2", "well_1"]

/** One thing that a well-behaved organization asks, with what it must get. */
const proper = (engine: Engine["Service"], model: Model, random: Prng, now: number, transferred: Set<string>) => {
  const organization = well[random.int(0, 2)]!
  const of = { organization }
  const total = model.totals.get(organization) ?? 0
  const balance = model.balances.get(organization) ?? 0
  const amount = random.int(1, 9)
  // A transfer may wait for its second account, and a deposit overtake it.
  const choice = random.int(0, 5)
  const isAccounts = choice === 1 || choice === 2
  const isTurn = !isAccounts || !transferred.has(organization)
  if (isAccounts) transferred.add(organization)
  switch (isTurn ? choice : 0) {
    case 0:
      return { ask: engine.ask(Counter, of, { _tag: "Get" }), expected: Exit.succeed(total) }
    case 1: {
      model.balances.set(organization, balance + amount)
      const ask = engine.ask(Account, { ...of, key: "a" }, { _tag: "Deposit", amount })
      return { ask, expected: Exit.succeed(balance + amount) }
    }
    case 2: {
      const isCovered = balance >= amount
      if (isCovered) model.balances.set(organization, balance - amount)
      const ask = engine.ask(Account, { ...of, key: "a" }, { _tag: "Transfer", to: "b", amount })
      return { ask, expected: isCovered ? Exit.succeed(balance - amount) : Exit.fail("insufficient") }
    }
    case 3: {
      model.rings.set(organization, (model.rings.get(organization) ?? 0) + 1)
      const key = `${model.rings.get(organization)}`
      const ask = engine.ask(Reminder, { ...of, key }, { _tag: "Set", at: now + random.int(0, 3_000) })
      return { ask, expected: Exit.succeed([]) }
    }
    default: {
      model.totals.set(organization, total + amount)
      return { ask: engine.ask(Counter, of, { _tag: "Add", amount }), expected: Exit.succeed(total + amount) }
    }
  }
}

const fuzz = (seed: number) =>
  Effect.gen(function* () {
    const random = new Prng(seed, "rules")
    const deployment = makeDeployment()
    const model = new Model()
    const signals = SignalsMemory.make(deployment.signals)
    const kinds = [hostile("pure", random, false), hostile("copied", random, true)]
    const lane = hostileLane(random)
    const config = {
      checkpointFrames: random.int(2, 12),
      checkpointMillis: 2_000,
      idleMillis: 1_500,
      maximumActors: 200
    }
    const states = (engine: Engine["Service"]) =>
      Effect.forEach(
        kinds.flatMap((kind) => ill.map((organization) => ({ kind, organization }))),
        ({ kind, organization }) => engine.state(kind, { organization })
      )
    for (let life = 1; life <= livesOfSeed; life++) {
      const { engine, stop } = yield* serving(deployment, {
        actors: [...kinds, Counter, Account, Reminder],
        lanes: [lane],
        signals: { odd: () => ({ actor: kinds[random.int(0, 1)]!, key: "s", command: random.int(0, 99) }) },
        config
      })
      const { core } = partitionIn(engine)
      for (let round = 0; round < roundsOfLife; round++) {
        const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const transferred = new Set<string>()
        const asked: Array<{ readonly fiber: Fiber.Fiber<unknown, unknown>; readonly expected: unknown }> = []
        const illFibers: Array<Fiber.Fiber<unknown, unknown>> = []
        for (let n = random.int(3, 25); n > 0; n--) {
          if (random.chance(0.5)) {
            const { ask, expected } = proper(engine, model, random, now, transferred)
            const fiber: Fiber.Fiber<unknown, unknown> = yield* Effect.forkChild(
              Effect.exit<unknown, unknown, never>(ask),
              {
                startImmediately: true
              }
            )
            asked.push({ fiber, expected })
            continue
          }
          const at = { organization: ill[random.int(0, 2)]!, key: ["", "b", "bad"][random.int(0, 2)]! }
          const ask: Effect.Effect<unknown, unknown> = random.chance(0.2)
            ? engine.askLane(lane, at, n)
            : engine.ask(kinds[random.int(0, 1)]!, at, random.int(0, 99))
          illFibers.push(yield* Effect.forkChild(Effect.exit(ask), { startImmediately: true }))
        }
        if (random.chance(0.5)) {
          const organization = ill[random.int(0, 2)]!
          yield* signals.publish({ organization, kind: "odd", data: new Uint8Array() })
        }
        yield* elapse(random.int(1, 5), 250)
        for (const { expected, fiber } of asked) {
          expect(fiber.pollUnsafe()).toBeDefined()
          expect(yield* Fiber.join(fiber)).toEqual(expected)
        }
        // Whoever asked a broken rule is told something, too.
        expect(illFibers.filter((fiber) => fiber.pollUnsafe() === undefined)).toEqual([])
        expect([core.head.epoch, partitionIn(engine).status]).toEqual([life, { _tag: "Serving" }])
      }
      yield* elapse(4, 500)
      for (const organization of well) {
        const state = yield* engine.state(Counter, { organization })
        expect(state.total).toBe(model.totals.get(organization) ?? 0)
        for (let key = 1; key <= (model.rings.get(organization) ?? 0); key++) {
          const rings = yield* engine.ask(Reminder, { organization, key: `${key}` }, { _tag: "Rang" })
          expect(rings.length).toBe(1)
        }
      }
      expect(core.probe.counts).toMatchObject({ commands: 0, stalledCommands: 0 })
      expect(core.newestCheckpoint?.sequence).toBeGreaterThan(core.head.sequence - config.checkpointFrames - 20)
      const before = yield* states(engine)
      // A kill now and then: the next life has the log alone for what no checkpoint has.
      const rows = random.chance(0.5) ? undefined : [...deployment.checkpoints.of(0).records]
      yield* stop
      if (rows !== undefined) {
        const newest = Math.max(0, ...rows.map(({ sequence }) => sequence))
        const held = deployment.checkpoints.of(0)
        held.records = rows
        for (const [name, of] of held.rows)
          held.rows.set(
            name,
            of.filter(({ sequence }) => sequence <= newest)
          )
      }
      const next = yield* serving(deployment, {
        actors: [...kinds, Counter, Account, Reminder],
        lanes: [lane],
        config: { ...config, checkpointMillis: 1e9 }
      })
      const after = yield* states(next.engine)
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      for (const [index, state] of after.entries()) {
        const old = before[index]!
        // A wake that broke is tried again by a new life.
        const mayBeWoken = old.at !== null && old.at <= now
        if (!mayBeWoken) expect(state).toEqual(old)
      }
      yield* next.stop
      // That was a life, too.
      life++
    }
  })

describe("rule 17, hostile rules beside others in one partition", () => {
  it.effect.each(Array.from({ length: seeds }, (_, seed) => seed))("seed %i: the others never notice", (seed) =>
    Effect.scoped(fuzz(seed))
  )
})
