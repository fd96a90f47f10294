/** Every service of limits and sending answers on an engine as it does in memory, and an engine that begins anew knows what was decided. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { layerLocal } from "../../src/engine/ports/Placement.ts"
import { DistinctWindow, MonthlyQuota, RollingWindow, TokenBucket } from "../../src/limits/index.ts"
import {
  Admission,
  DomainTier,
  Holds,
  PauseTriggers,
  ProbationWindow,
  SendLimits,
  TrustStage
} from "../../src/send/index.ts"

const { dayMillis, hourMillis } = SendLimits
const start = Date.UTC(2026, 6, 1, 22, 0, 0)

type Services =
  | TokenBucket
  | RollingWindow
  | DistinctWindow
  | MonthlyQuota
  | ProbationWindow
  | PauseTriggers
  | TrustStage
  | DomainTier
  | Holds
  | Admission

const hour = { windowMillis: hourMillis, limit: 5 }
const upgradeUrl = "https://up.test"

const bucket = { burst: 5, tokens: 1, everyMillis: 600_000 }

const inMemory = Layer.mergeAll(
  TokenBucket.layerMemory(bucket),
  RollingWindow.layerMemory(hour),
  DistinctWindow.layerMemory({ windowMillis: hourMillis, limit: 2 }),
  MonthlyQuota.layerMemory({ limit: 7 }),
  ProbationWindow.layerMemory(),
  PauseTriggers.layerMemory(),
  TrustStage.layerMemory(),
  DomainTier.layerMemory(),
  Holds.layerMemory(),
  Admission.layerMemory({ upgradeUrl })
)

const onEngine = Layer.mergeAll(
  TokenBucket.layer(bucket),
  RollingWindow.layer(hour),
  DistinctWindow.layer({ windowMillis: hourMillis, limit: 2 }),
  MonthlyQuota.layer({ limit: 7 }),
  ProbationWindow.layer(),
  PauseTriggers.layer(),
  TrustStage.layer(),
  DomainTier.layer(),
  Holds.layer(),
  Admission.layer({ upgradeUrl })
)

const actors = [
  TokenBucket.actor,
  RollingWindow.actor,
  DistinctWindow.actor,
  MonthlyQuota.actor,
  ProbationWindow.actor,
  PauseTriggers.actor,
  TrustStage.actor,
  DomainTier.actor,
  Holds.actor,
  ...Admission.actors
]

/** What outlives an engine. */
const makeStores = () =>
  Layer.mergeAll(
    JournalMemory.layerOf(JournalMemory.makeStore()),
    CheckpointsMemory.layerOf(CheckpointsMemory.makeStore()),
    CursorsMemory.layerOf(CursorsMemory.makeStore()),
    layerLocal
  )

type Step = readonly [minutes: number, call: Effect.Effect<unknown, unknown, Services>]

const email = (id: string, more: object = {}) => ({
  id,
  from: "ann@good.test",
  recipients: [`${id}@x.test`],
  ...more
})

const units = (cost: number): Effect.Effect<unknown, unknown, Services> =>
  Effect.flatMap(RollingWindow, (window) => window.take("ann@x.test", { cost }))
const tokens = (cost: number): Effect.Effect<unknown, unknown, Services> =>
  Effect.flatMap(TokenBucket, (window) => window.take("ann@x.test", { cost }))
const values = (...all: ReadonlyArray<string>): Effect.Effect<unknown, unknown, Services> =>
  Effect.flatMap(DistinctWindow, (window) => window.take("ann", all))
const quota = (cost: number): Effect.Effect<unknown, unknown, Services> =>
  Effect.flatMap(MonthlyQuota, (window) => window.take("ann", { cost }))
const probation = (emails: number): Effect.Effect<unknown, unknown, Services> =>
  Effect.flatMap(ProbationWindow, (window) => window.take("ann", emails, ["a@x.test"]))
const triggers = <A>(f: (service: PauseTriggers["Service"]) => Effect.Effect<A, unknown>) =>
  Effect.flatMap(PauseTriggers, f) as Effect.Effect<unknown, unknown, Services>
const stage = <A>(f: (service: TrustStage["Service"]) => Effect.Effect<A, unknown>) =>
  Effect.flatMap(TrustStage, f) as Effect.Effect<unknown, unknown, Services>
const tier = <A>(f: (service: DomainTier["Service"]) => Effect.Effect<A, unknown>) =>
  Effect.flatMap(DomainTier, f) as Effect.Effect<unknown, unknown, Services>
const queue = <A>(f: (service: Holds["Service"]) => Effect.Effect<A, unknown>) =>
  Effect.flatMap(Holds, f) as Effect.Effect<unknown, unknown, Services>
const account = <A>(f: (service: Admission["Service"]) => Effect.Effect<A, unknown>) =>
  Effect.flatMap(Admission, f) as Effect.Effect<unknown, unknown, Services>

const histories: Readonly<Record<string, ReadonlyArray<Step>>> = {
  TokenBucket: [
    [0, tokens(4)],
    [5, tokens(2)],
    [5, tokens(2)],
    [1, tokens(6)],
    [1, tokens(0)],
    [28, Effect.flatMap(TokenBucket, (window) => window.peek("ann@x.test"))]
  ],
  RollingWindow: [
    [0, units(3)],
    [10, units(2)],
    [20, units(1)],
    [1, units(9)],
    [1, units(0)],
    [28, units(3)],
    [1, Effect.flatMap(RollingWindow, (window) => window.peek("", {}))]
  ],
  DistinctWindow: [
    [0, values("a", "b")],
    [5, values("b", "c")],
    [1, values()],
    [54, values("c")]
  ],
  MonthlyQuota: [
    [0, quota(5)],
    [1, quota(3)],
    [1, quota(2)],
    [1, Effect.flatMap(MonthlyQuota, (window) => window.peek("ann"))]
  ],
  ProbationWindow: [
    [0, probation(50)],
    [1, probation(1)],
    [0, probation(0)],
    [59, probation(1)],
    [0, Effect.flatMap(ProbationWindow, (window) => window.restart("ann"))],
    [1, probation(50)]
  ],
  PauseTriggers: [
    [0, triggers(({ accept }) => accept("ann", { emails: ["a", "b", "c"], lastHour: 3 }))],
    [1, triggers(({ bounce }) => bounce("ann", "a"))],
    [1, triggers(({ bounce }) => bounce("ann", "a"))],
    [1, triggers(({ bounce }) => bounce("ann", "b"))],
    [1, triggers(({ bounce }) => bounce("ann", "c"))],
    [1, triggers(({ restart }) => restart("ann"))],
    [1, triggers(({ complain }) => complain("ann", "c"))],
    [1, triggers(({ accept }) => accept("ann", { emails: [], lastHour: 3 }))]
  ],
  TrustStage: [
    [0, stage(({ begin }) => begin("ann", "higher"))],
    [1, stage(({ handOver }) => handOver("ann", 3))],
    [1, stage(({ pause }) => pause("ann", "spike"))],
    [1, stage(({ lift }) => lift("ann"))],
    [1, stage(({ lift }) => lift("ann"))],
    [1, stage(({ nextCheck }) => nextCheck("ann"))]
  ],
  DomainTier: [
    [0, tier(({ handOver }) => handOver("s.test", 1))],
    [0, tier(({ verify }) => verify("s.test"))],
    [1, tier(({ handOver }) => handOver("s.test", 100))],
    [1, tier(({ bounce }) => bounce("s.test"))],
    [1, tier(({ nextCheck }) => nextCheck("s.test"))]
  ],
  Holds: [
    [0, queue(({ accept }) => accept("s.test", 9, 2))],
    [1, queue(({ cancel }) => cancel("s.test", 1))],
    [1, queue(({ cancel }) => cancel("s.test", 1))],
    [1, queue(({ raiseCap }) => raiseCap("s.test", 4))],
    [117, queue(({ release }) => release("s.test", 4))],
    [10, queue(({ release }) => release("s.test", 4))],
    [1, queue(({ pause }) => pause("s.test"))],
    [1, queue(({ accept }) => accept("s.test", 1, 2))],
    [1, queue(({ lift }) => lift("s.test"))],
    [1, queue(({ release }) => release("s.test", 9))],
    [1, queue(({ nextRelease }) => nextRelease("s.test", 4))]
  ],
  Admission: [
    [0, account(({ send }) => send("ann", [email("a")]))],
    [0, account(({ verify }) => verify("ann", "good.test"))],
    [0, account(({ setDailyCap }) => setDailyCap("ann", "good.test", 2))],
    [1, account(({ suppress }) => suppress("ann", "c@x.test"))],
    [
      1,
      account(({ send }) =>
        send(
          "ann",
          ["a", "b", "c", "d", "e"].map((id) => email(id))
        )
      )
    ],
    [1, account(({ send }) => send("ann", [email("f", { scheduledAt: start + 30 * 60_000 })]))],
    [1, account(({ cancel }) => cancel("ann", "d"))],
    [
      1,
      account(({ dispatch }) =>
        dispatch(
          "ann",
          ["a", "b", "c", "d", "e"].map((id) => email(id))
        )
      )
    ],
    [1, account(({ report }) => report("ann", [{ id: "a", what: "handedOver" }]))],
    [1, account(({ report }) => report("ann", [{ id: "a", what: "bounced", recipient: "a@x.test" }]))],
    [1, account(({ send }) => send("ann", [email("g", { recipients: ["a@x.test"] })]))],
    [
      130,
      account(({ dispatch }) =>
        dispatch(
          "ann",
          ["e", "f"].map((id) => email(id))
        )
      )
    ],
    [1, account(({ report }) => report("ann", [{ id: "e", what: "handedOver" }]))],
    [1, account(({ report }) => report("ann", [{ id: "e", what: "complained", recipient: "e@x.test" }]))],
    [1, account(({ send }) => send("ann", [email("h")]))],
    [1, account(({ lift }) => lift("ann"))],
    [1, account(({ check }) => check("ann"))]
  ]
}

const play = (history: ReadonlyArray<Step>, from: number) =>
  Effect.forEach(history, ([minutes, call]) =>
    Effect.andThen(
      TestClock.adjust(`${minutes} minutes`),
      Effect.map(Effect.exit(call), (exit) =>
        JSON.stringify(Exit.isSuccess(exit) ? ["told", exit.value] : ["failed", exit.cause], (key, value) =>
          key === "stack" ? undefined : value
        )
      )
    )
  ).pipe((all) => Effect.andThen(TestClock.setTime(from), all))

describe("the services on an engine", () => {
  it.effect.each(Object.entries(histories))("[send 3] %s: answers as in memory", ([_name, history]) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const memory = yield* Effect.provide(play(history, start), inMemory)
      yield* TestClock.setTime(start)
      const engine = Engine.layerMemory({ actors })
      const durable = yield* Effect.provide(play(history, start), Layer.provide(onEngine, engine))
      expect(durable).toEqual(memory)
      expect(memory.join("\n")).toContain("told")
    })
  )

  it.effect("know after a restart what was decided before", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const stores = makeStores()
      const life = <A, E>(effect: Effect.Effect<A, E, Services>) =>
        Effect.scoped(
          Effect.gen(function* () {
            const scope = yield* Scope.Scope
            const engine = Layer.effect(
              Engine.Engine,
              Effect.tap(Engine.make({ actors, config: { partitions: 1 } }), (made) => made.ready)
            ).pipe(Layer.provide(stores))
            const services = yield* Layer.buildWithScope(Layer.provide(onEngine, engine), scope)
            return yield* Effect.provide(effect, services)
          })
        )
      yield* life(
        Effect.gen(function* () {
          yield* (yield* RollingWindow).take("ann", { cost: 5 })
          yield* (yield* TokenBucket).take("ann", { cost: 4 })
          yield* (yield* Holds).accept("s.test", 3, 2)
          const { send, setDailyCap, verify } = yield* Admission
          yield* verify("ann", "good.test")
          yield* setDailyCap("ann", "good.test", 1)
          yield* send("ann", [email("a"), email("b")])
        })
      )
      yield* life(
        Effect.gen(function* () {
          expect(yield* (yield* RollingWindow).take("ann")).toMatchObject({ allowed: false, used: 5 })
          expect(yield* (yield* TokenBucket).take("ann", { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
          expect((yield* (yield* Holds).accept("s.test", 1, 2)).held).toMatchObject([{ place: 1 }])
          const { dispatch } = yield* Admission
          expect(yield* dispatch("ann", [email("b")])).toMatchObject([{ state: "held" }])
          yield* TestClock.setTime(start + dayMillis)
          expect(yield* dispatch("ann", [email("b")])).toMatchObject([{ state: "sending" }])
        })
      )
    })
  )
})
