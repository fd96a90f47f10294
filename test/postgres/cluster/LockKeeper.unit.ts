/** Locks at a server that is slow, silent or lost, on virtual time; two keepers share it, as two nodes do. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as LockKeeper from "../../../src/postgres/cluster/LockKeeper.ts"

const lookMillis = 500
const expiryMillis = 3_000
/** After this time effect/cluster gives up. */
const patienceMillis = 1_000

class Lost extends Error {}

/** A server that gives each lock to one session. */
class Server {
  readonly owners = new Map<number, symbol>()
  /** How long it takes for an answer. */
  delayMillis = 0
  opened = 0

  private answer<A>(session: { lost: boolean }, give: () => A): Effect.Effect<A, Lost> {
    const check = Effect.suspend(() => (session.lost ? Effect.fail(new Lost("the session is lost")) : Effect.void))
    const waited: Effect.Effect<void> = Effect.suspend(() => Effect.sleep(this.delayMillis))
    const untilLost: Effect.Effect<never, Lost> = Effect.andThen(check, Effect.sleep(10)).pipe(Effect.forever)
    return Effect.andThen(Effect.raceFirst(waited, untilLost), check).pipe(Effect.map(give))
  }

  readonly open: Effect.Effect<LockKeeper.LockConnection<Lost>, Lost, Scope.Scope> = Effect.gen(
    { self: this },
    function* () {
      const id = Symbol("session")
      const session = { lost: false }
      const end = () => {
        session.lost = true
        for (const [lock, owner] of this.owners) if (owner === id) this.owners.delete(lock)
      }
      yield* Effect.addFinalizer(() => Effect.sync(end))
      this.opened++
      const own = () => [...this.owners].flatMap(([lock, owner]) => (owner === id ? [lock] : []))
      return {
        look: this.answer(session, own),
        take: (locks) =>
          this.answer(session, () => {
            const free = locks.filter((lock) => !this.owners.has(lock))
            for (const lock of free) this.owners.set(lock, id)
            return free
          }),
        giveBack: (locks) =>
          this.answer(session, () => {
            for (const lock of locks) if (this.owners.get(lock) === id) this.owners.delete(lock)
          }),
        destroy: end
      }
    }
  )
}

const keeperOf = (server: Server) => LockKeeper.make({ open: server.open, lookMillis, expiryMillis })

/** Asks as effect/cluster does: it gives up, and asks again, for as long as it wants the locks. */
const asking = (keeper: LockKeeper.LockKeeper, locks: ReadonlyArray<number>, forMillis: number) =>
  Effect.gen(function* () {
    const asked = yield* Effect.forkChild(
      Effect.forever(
        Effect.andThen(Effect.ignore(Effect.timeout(keeper.acquire(locks), patienceMillis)), Effect.sleep(1))
      ),
      { startImmediately: true }
    )
    yield* TestClock.adjust(forMillis)
    yield* Fiber.interrupt(asked)
  })

/** One refresh of effect/cluster: the locks, or nothing because it gave up. */
const refreshed = (keeper: LockKeeper.LockKeeper, locks: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.exit(Effect.timeout(keeper.held(locks), patienceMillis)), {
      startImmediately: true
    })
    yield* TestClock.adjust(patienceMillis)
    return yield* Fiber.join(fiber)
  })

describe("locks at a server that is slow", () => {
  it.effect("are had and kept, although each answer takes longer than the caller waits", () =>
    Effect.gen(function* () {
      const server = new Server()
      server.delayMillis = 1_200
      const keeper = yield* keeperOf(server)
      yield* asking(keeper, [1, 2], 10_000)
      expect([...server.owners.keys()]).toEqual([1, 2])
      for (let second = 0; second < 60; second++) expect(yield* refreshed(keeper, [1, 2])).toEqual(Exit.succeed([1, 2]))
      expect(server.opened).toBe(1)
    })
  )

  it.effect("are had again after it was slower than a sign of life may be", () =>
    Effect.gen(function* () {
      const server = new Server()
      const keeper = yield* keeperOf(server)
      yield* asking(keeper, [1], 1_000)
      expect(yield* refreshed(keeper, [1])).toEqual(Exit.succeed([1]))
      server.delayMillis = 60_000
      yield* TestClock.adjust("20 seconds")
      expect(Exit.isFailure(yield* refreshed(keeper, [1]))).toBe(true)
      // The session was ended, so that another node can have the lock.
      expect([...server.owners.keys()]).toEqual([])
      server.delayMillis = 1_200
      yield* TestClock.adjust("1 minute")
      expect(yield* refreshed(keeper, [1])).toEqual(Exit.succeed([]))
      yield* asking(keeper, [1], 10_000)
      expect(yield* refreshed(keeper, [1])).toEqual(Exit.succeed([1]))
    })
  )
})

describe("locks that two nodes want", () => {
  it.effect("are one's until it gives them back", () =>
    Effect.gen(function* () {
      const server = new Server()
      const [one, two] = [yield* keeperOf(server), yield* keeperOf(server)]
      yield* asking(one, [1, 2], 1_000)
      // Whoever has locks names them each second.
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.ignore(one.held([2])), Effect.sleep("1 second"))))
      yield* asking(two, [1, 2], 1_000)
      expect(yield* refreshed(two, [1, 2])).toEqual(Exit.succeed([]))
      const released = yield* Effect.forkChild(one.release([1]), { startImmediately: true })
      // Before the server has it back.
      expect(yield* one.held([1, 2])).toEqual([2])
      yield* TestClock.adjust(lookMillis)
      yield* Fiber.join(released)
      yield* asking(two, [1, 2], 2_000)
      expect(yield* refreshed(two, [1, 2])).toEqual(Exit.succeed([1]))
      expect(yield* refreshed(one, [1, 2])).toEqual(Exit.succeed([2]))
      const all = yield* Effect.forkChild(one.release("all"), { startImmediately: true })
      yield* TestClock.adjust(lookMillis)
      yield* Fiber.join(all)
      expect([...server.owners.keys()]).toEqual([1])
    })
  )

  it.effect("and that came after their caller had given up are given back", () =>
    Effect.gen(function* () {
      const server = new Server()
      server.delayMillis = 800
      const keeper = yield* keeperOf(server)
      const asked = yield* Effect.forkChild(keeper.acquire([1]), { startImmediately: true })
      yield* TestClock.adjust(100)
      yield* Fiber.interrupt(asked)
      yield* TestClock.adjust("30 seconds")
      expect([...server.owners.keys()]).toEqual([])
      expect(server.opened).toBe(1)
    })
  )
})
