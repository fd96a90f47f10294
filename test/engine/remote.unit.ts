/**
 * Asks between processes: who answers them, when an owner may be asked, what its word is worth while another one serves the same partition,
 * and how a partition goes from one process to the next.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { isRetryable } from "../../src/engine/errors.ts"
import { decodeFrame } from "../../src/engine/frame.ts"
import * as RemoteMemory from "../../src/engine/memory/RemoteMemory.ts"
import { atOwner } from "../../src/engine/operator/atOwner.ts"
import { layerLocal, Placement } from "../../src/engine/ports/Placement.ts"
import { Remote } from "../../src/engine/ports/Remote.ts"
import { internals } from "../../src/engine/shell/partition/internals.ts"
import { maximumAnswers, maximumRequests } from "../../src/engine/shell/remote/ownerCalls.ts"
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

/** What an older program would have answered. */
const asOlder = (bytes: Uint8Array): Uint8Array => {
  const { takesMany: _, ...said } = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>
  return Buffer.from(JSON.stringify(said))
}

/** A process without partitions, and whatever owners a test starts. */
const processesOver = (store: RemoteMemory.RemoteStore) =>
  Effect.gen(function* () {
    const deployment = makeDeployment()
    const remoteLayer = RemoteMemory.layerOf(store)
    let requests = 0
    const counting = RemoteMemory.make(store)
    const { engine: far } = yield* start(deployment, {
      placementLayer: none,
      remoteLayer: Layer.succeed(
        Remote,
        Remote.of({
          ...counting,
          request: (...request) =>
            Effect.suspend(() => {
              requests++
              return counting.request(...request)
            })
        })
      )
    })
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
        const serve: Remote["Service"]["serve"] = (partition, handle, of) =>
          remote.serve(
            partition,
            (payload, more) =>
              isFrozen ? Effect.andThen(Deferred.await(thawed), handle(payload, more)) : handle(payload, more),
            of
          )
        return Effect.map(ownerOver(Layer.succeed(Remote, Remote.of({ ...remote, serve }))), (running) => ({
          ...running,
          freeze: () => {
            isFrozen = true
          },
          thaw: Deferred.succeed(thawed, undefined)
        }))
      }),
      /** An owner that says nothing of what came with later programs. */
      olderOwner: Effect.suspend(() => {
        const remote = RemoteMemory.make(store)
        const serve: Remote["Service"]["serve"] = (partition, handle, of) =>
          remote.serve(
            partition,
            (payload) =>
              Effect.map(
                handle(payload, () => {}),
                asOlder
              ),
            of
          )
        return ownerOver(Layer.succeed(Remote, Remote.of({ ...remote, serve })))
      }),
      /** Requests that the process without partitions has sent. */
      sent: () => requests,
      subscribed: () => store.owners.get(0)?.size ?? 0
    }
  })

const processes = Effect.suspend(() => processesOver(RemoteMemory.makeStore()))

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

  it.effect("cross together when they come in one turn, each with its own answer", () =>
    Effect.gen(function* () {
      const { far, owner, sent } = yield* processes
      yield* owner
      yield* far.ask(Counter, target, add(1))
      const before = sent()
      const asked = yield* Effect.forkChild(
        Effect.all(
          [
            far.ask(Counter, target, add(2)),
            Effect.flip(far.ask(Counter, target, { _tag: "AddUpTo", amount: 9, maximum: 5 })),
            Effect.flip(far.ask(Counter, target, { _tag: "Throw" })),
            far.ask(Counter, { organization: "org_2" }, add(7)),
            far.state(Counter, { organization: "org_3" })
          ],
          { concurrency: "unbounded" }
        )
      )
      yield* elapse(0.5, 100)
      const [sum, rejected, failed, other, state] = yield* Fiber.join(asked)
      expect([sum, rejected, other]).toEqual([3, { over: 3 }, 7])
      expect(failed).toMatchObject({ _tag: "CommandFailed" })
      expect(state).toMatchObject({ total: 0 })
      expect(sent() - before).toBe(1)
    })
  )

  it.effect("go one by one to an owner of an older program, which knows nothing of several in a message", () =>
    Effect.gen(function* () {
      const { far, olderOwner, sent } = yield* processes
      yield* olderOwner
      yield* far.ask(Counter, target, add(1))
      const before = sent()
      const asked = yield* Effect.forkChild(
        Effect.all([far.ask(Counter, target, add(2)), far.ask(Counter, target, add(3))], { concurrency: "unbounded" })
      )
      yield* elapse(0.5, 100)
      expect(yield* Fiber.join(asked)).toEqual([3, 6])
      expect(sent() - before).toBe(2)
    })
  )

  it.effect("of one message that are too many are refused one by one, and the others are decided", () =>
    Effect.gen(function* () {
      const { far, owner } = yield* processes
      const { engine } = yield* owner
      yield* far.ask(Counter, target, add(1))
      const { traffic } = internals(engine).context
      traffic.answers = maximumAnswers - 1
      const asked = yield* Effect.forkChild(
        Effect.all([far.ask(Counter, target, add(2)), Effect.flip(far.ask(Counter, target, add(4)))], {
          concurrency: "unbounded"
        })
      )
      yield* elapse(0.5, 100)
      const [sum, refused] = yield* Fiber.join(asked)
      expect(sum).toBe(3)
      expect(refused).toMatchObject({ _tag: "Overloaded" })
      expect(traffic.answers).toBe(maximumAnswers - 1)
    })
  )

  it.effect("are told at once of a state that no message can hold, beside others that are answered", () =>
    Effect.gen(function* () {
      const { far, owner } = yield* processesOver(RemoteMemory.makeStore(4_000))
      yield* owner
      // Each of two octets, so that characters do not tell how large it is.
      for (let note = 0; note < 4; note++) yield* far.ask(Counter, target, { _tag: "Note", text: "é".repeat(500) })
      const tooLarge = { _tag: "CommandInvalid", reason: expect.stringMatching(/too large for a message/) }
      expect(yield* Effect.flip(far.state(Counter, target))).toMatchObject(tooLarge)
      // Smaller ones of the same turn are answered.
      const other = { organization: "org_2" }
      const [exit, total] = yield* Effect.all(
        [Effect.exit(far.state(Counter, target)), far.ask(Counter, other, add(3))],
        { concurrency: "unbounded" }
      )
      expect([Exit.isFailure(exit), total]).toEqual([true, 3])
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

  it.effect(
    "given a question that an owner gets to only after its partition has restarted, then it is not worked on",
    () =>
      Effect.gen(function* () {
        const { far, frozenOwner } = yield* processes
        const { engine, freeze, thaw } = yield* frozenOwner
        yield* far.ask(Counter, target, add(1))
        const { epoch } = partitionIn(engine).core.head
        freeze()
        const waiting = yield* Effect.forkChild(Effect.exit(far.ask(Counter, target, add(100))))
        yield* elapse(0.1, 10)
        partitionIn(engine).restart("the test wants it")
        yield* elapse(1, 100)
        expect(partitionIn(engine).core.head.epoch).toBeGreaterThan(epoch)
        yield* thaw
        yield* elapse(3, 100)
        expect(Exit.isFailure(yield* Fiber.join(waiting))).toBe(true)
        // Whoever asked has turned to the new life meanwhile, or may.
        expect(yield* engine.state(Counter, target)).toMatchObject({ total: 1 })
      })
  )

  it.effect("of operators are refused in words where the owner takes no more", () =>
    Effect.gen(function* () {
      const { far, owner } = yield* processes
      const { engine } = yield* owner
      const { context } = internals(far)
      expect(yield* atOwner(context, 0, "status")).toBe("Serving")
      internals(engine).context.traffic.answers = maximumAnswers
      const refused = yield* Effect.flip(atOwner(context, 0, "report"))
      expect(refused).toMatchObject({
        _tag: "EngineRefused",
        message: expect.stringContaining("more waiting commands")
      })
    })
  )

  it.effect("are told at once what is too much, on either side", () =>
    Effect.gen(function* () {
      const { deployment, far, owner } = yield* processes
      const { engine } = yield* owner
      yield* far.ask(Counter, target, add(1))
      const there = internals(engine).context.traffic
      there.answers = maximumAnswers
      expect(yield* Effect.flip(far.ask(Counter, target, add(1)))).toMatchObject({ _tag: "Overloaded" })
      there.answers = 0
      const here = internals(far).context.traffic
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
