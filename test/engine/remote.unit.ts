/**
 * Asks between processes: who answers them, when an owner may be asked, what its word is worth while another one serves the same partition,
 * and how a partition goes from one process to the next.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { isRetryable } from "../../src/engine/errors.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { layerLocal, Placement } from "../../src/engine/Placement.ts"
import { Remote } from "../../src/engine/Remote.ts"
import { internals } from "../../src/engine/shell/internals.ts"
import { maximumAnswers, maximumRequests } from "../../src/engine/shell/remoteAnswers.ts"
import { Counter, Limiter } from "./support/actors.ts"
import { type Deployment, elapse, makeDeployment, partitionIn, serving, start } from "./support/deployment.ts"
import { makeFaultyLog } from "./support/faultyLog.ts"

const target = { organization: "org_1" }
const add = (amount: number) => ({ _tag: "Add" as const, amount })
const get = { _tag: "Get" as const }

const none = Layer.succeed(Placement, Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) }))

const replaced = Layer.effect(
  Placement,
  Effect.map(Placement, ({ place }) => Placement.of({ place, owns: () => Effect.succeed(false) }))
).pipe(Layer.provide(layerLocal))

/** A process without partitions, and whatever owners a test starts. */
const processes = Effect.gen(function* () {
  const deployment = makeDeployment()
  const store = RemoteMemory.makeStore()
  const remoteLayer = RemoteMemory.layerOf(store)
  const { engine: far } = yield* start(deployment, { placementLayer: none, remoteLayer })
  const ownerOver = (remoteLayer: Layer.Layer<Remote>, placementLayer: Layer.Layer<Placement> = layerLocal) =>
    Effect.tap(serving(deployment, { remoteLayer, placementLayer }), () => elapse(0.1, 100))
  return {
    deployment,
    far,
    remoteLayer,
    owner: ownerOver(remoteLayer),
    /** An owner that is told, when it asks, that the partition is another's. */
    replacedOwner: ownerOver(remoteLayer, replaced),
    /** An owner that receives asks and works on none, as a process that was stopped by a signal. */
    frozenOwner: Effect.suspend(() => {
      const remote = RemoteMemory.make(store)
      let isFrozen = false
      const thawed = Deferred.makeUnsafe<void>()
      const serve: Remote["Service"]["serve"] = (partition, handle) =>
        remote.serve(partition, (payload) =>
          isFrozen ? Effect.andThen(Deferred.await(thawed), handle(payload)) : handle(payload)
        )
      return Effect.map(ownerOver(Layer.succeed(Remote, Remote.of({ ...remote, serve }))), (running) => ({
        ...running,
        freeze: () => {
          isFrozen = true
        },
        thaw: Deferred.succeed(thawed, undefined)
      }))
    }),
    subscribed: () => store.owners.get(0)?.size ?? 0
  }
})

const recordsOf = (deployment: Deployment) =>
  deployment.journal.log(0).frames.flatMap(({ bytes }) => decodeFrame(bytes).records)

describe("asks from another process", () => {
  it.effect("are answered by the owner, with its replies, rejections and errors", () =>
    Effect.gen(function* () {
      const { far, owner } = yield* processes
      expect(yield* Effect.flip(far.ask(Counter, target, get))).toMatchObject({
        _tag: "PartitionUnavailable",
        retryable: true
      })
      const { engine } = yield* owner
      expect(yield* far.ask(Counter, target, add(3))).toBe(3)
      expect(yield* far.ask(Counter, target, add(4))).toBe(7)
      expect(yield* engine.state(Counter, target)).toMatchObject({ total: 7 })
      expect(yield* Effect.flip(far.ask(Counter, target, { _tag: "AddUpTo", amount: 9, maximum: 5 }))).toEqual({
        over: 7
      })
      expect(yield* Effect.flip(far.ask(Counter, target, { _tag: "Throw" }))).toMatchObject({ _tag: "CommandFailed" })
      expect(yield* Effect.flip(far.ask(Counter, target, { _tag: "Nonsense" } as never))).toMatchObject({
        _tag: "CommandInvalid"
      })
    })
  )

  it.effect("read the state of the owner's actors, and count at its lanes", () =>
    Effect.gen(function* () {
      const { far, owner } = yield* processes
      const { engine } = yield* owner
      yield* engine.ask(Counter, target, add(3))
      expect(yield* far.state(Counter, target)).toEqual({ total: 3, notes: [] })
      // One limit over both processes: two a minute.
      yield* engine.ask(Counter, { ...target, key: "limit" }, add(2))
      const taken = yield* Effect.forEach([far, engine, far], (one) => one.askLane(Limiter, target, null))
      expect(taken).toEqual([true, true, false])
      const later: Array<unknown> = []
      expect(far.askLaneNow(Limiter, target, null, (exit) => void later.push(exit._tag))).toBeUndefined()
      yield* elapse(0.1, 100)
      expect(later).toEqual(["Success"])
    })
  )

  it.effect("find nobody while an owner recovers, and are told so at once", () =>
    Effect.gen(function* () {
      const { deployment, far, remoteLayer, subscribed } = yield* processes
      const faulty = makeFaultyLog(deployment.journal)
      faulty.away = true
      yield* start(deployment, { remoteLayer, journalLayer: faulty.layer })
      yield* elapse(1)
      expect(subscribed()).toBe(0)
      expect(yield* Effect.flip(far.ask(Counter, target, add(1)))).toMatchObject({ _tag: "PartitionUnavailable" })
      faulty.away = false
      yield* elapse(20)
      expect(subscribed()).toBe(1)
      expect(yield* far.ask(Counter, target, add(1))).toBe(1)
    })
  )

  it.effect(
    "given an owner that was replaced and does not know it, then each ask is decided once, by the new one",
    () =>
      Effect.gen(function* () {
        const { deployment, far, owner, replacedOwner, subscribed } = yield* processes
        const old = yield* replacedOwner
        expect(yield* far.ask(Counter, target, add(1))).toBe(1)
        const fresh = yield* owner
        expect(subscribed()).toBe(2)
        // Meant for the old one, and received by both. Its word that nothing was stored is true.
        const asked = far.ask(Counter, target, add(10))
        expect(yield* Effect.catchIf(asked, isRetryable, () => Effect.andThen(elapse(0.5, 100), asked))).toBe(11)
        expect(yield* far.ask(Counter, target, get)).toBe(11)
        expect(partitionIn(old.engine).core.head.epoch).toBeLessThan(partitionIn(fresh.engine).core.head.epoch)
        expect(recordsOf(deployment)).toHaveLength(2)
      })
  )

  it.effect(
    "given an owner that stands still, when another one serves, then who waits is told within two seconds",
    () =>
      Effect.gen(function* () {
        const { far, frozenOwner, owner } = yield* processes
        const { freeze, thaw } = yield* frozenOwner
        yield* far.ask(Counter, target, add(1))
        freeze()
        const waiting = yield* Effect.forkChild(Effect.flip(far.ask(Counter, target, add(100))))
        yield* elapse(0.5, 100)
        yield* owner
        yield* elapse(2, 100)
        expect(waiting.pollUnsafe()).toBeDefined()
        expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "OutcomeUnknown" })
        expect(yield* far.ask(Counter, target, add(10))).toBe(11)
        // What it received while it stood still is stored nowhere.
        yield* thaw
        yield* elapse(1, 100)
        expect(yield* far.ask(Counter, target, get)).toBe(11)
      })
  )

  it.effect("are told at once what is too much, on either side", () =>
    Effect.gen(function* () {
      const { deployment, far, owner } = yield* processes
      const { engine } = yield* owner
      yield* far.ask(Counter, target, add(1))
      const there = internals(engine).parts.traffic
      there.answers = maximumAnswers
      expect(yield* Effect.flip(far.ask(Counter, target, add(1)))).toMatchObject({ _tag: "Overloaded" })
      there.answers = 0
      const here = internals(far).parts.traffic
      here.requests = maximumRequests
      expect(yield* Effect.flip(far.ask(Counter, target, add(1)))).toMatchObject({ _tag: "Overloaded" })
      here.requests = 0
      expect(yield* far.ask(Counter, target, add(1))).toBe(2)
      expect([there.answers, here.requests]).toEqual([0, 0])
      expect(recordsOf(deployment)).toHaveLength(2)
    })
  )
})

describe("a partition that goes to another process", () => {
  it.effect("finishes what it accepted, writes its checkpoint, and is asked there from then on", () =>
    Effect.gen(function* () {
      const { deployment, owner, remoteLayer } = yield* processes
      const placed = yield* Scope.make()
      const placementLayer = Layer.succeed(
        Placement,
        Placement.of({
          place: (_partitions, serve) =>
            Effect.asVoid(Scope.provide(Effect.forkScoped(serve(0), { startImmediately: true }), placed)),
          owns: () => Effect.succeed(true)
        })
      )
      const { engine } = yield* serving(deployment, { placementLayer, remoteLayer })
      const asks = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.forkChild(engine.ask(Counter, { organization: `org_${n}` }, add(n)), { startImmediately: true })
      )
      yield* Scope.close(placed, Exit.void)
      expect(yield* Fiber.joinAll(asks)).toEqual([1, 2, 3])
      expect(yield* engine.status).toEqual([])
      const checkpoints = deployment.checkpoints.of(0).records.map(({ sequence }) => sequence)
      expect(Math.max(...checkpoints)).toBe(deployment.journal.log(0).frames.length)
      expect(yield* Effect.flip(engine.ask(Counter, target, get))).toMatchObject({ _tag: "PartitionUnavailable" })
      yield* owner
      expect(yield* engine.ask(Counter, target, add(10))).toBe(11)
    })
  )
})
