/**
 * Keeps locks of one session of PostgreSQL for effect/cluster. One fiber speaks with the server and looks at the locks
 * again and again; callers are answered from the last look. So a caller that gives up cancels nothing, and its next
 * question finds the work of the first one done. effect/cluster gives up after a second: if each attempt began again, a
 * node whose answers take longer would never have its partitions, although PostgreSQL answers. Only a server that is
 * silent for as long as other nodes wait for a sign of life costs the session and its locks. Needs no service.
 */
import { Cause, Clock, Data, Duration, Effect, Exit, Latch, type Scope } from "effect"

/** The locks of one session. Its statements take turns; each may take long. */
export interface LockConnection<E> {
  /** Gives a sign of life, and answers the locks that the session has. */
  readonly look: Effect.Effect<ReadonlyArray<number>, E>
  /** Tries to take locks that it does not have; answers those that it got. */
  readonly take: (locks: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, E>
  readonly giveBack: (locks: ReadonlyArray<number>) => Effect.Effect<void, E>
  /** Ends the session, and so its locks. Statements under way fail. */
  readonly destroy: (reason: string) => void
}

/** The server has not said for too long which locks there are. */
export class LocksUnseen extends Data.TaggedError("LocksUnseen")<{ readonly cause: unknown }> {
  override get message(): string {
    return `PostgreSQL does not say which locks this node has: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

export interface LockKeeper {
  /** Those of these locks that the session has, as a look says that is younger than the expiry. */
  readonly held: (locks: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, LocksUnseen>
  /** Asks for locks; answers those of them that the session has after the next attempt. */
  readonly acquire: (locks: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, LocksUnseen>
  /** Gives locks back, or all of them. A lost session has none. */
  readonly release: (locks: ReadonlyArray<number> | "all") => Effect.Effect<void>
}

export interface LockKeeperOptions<E> {
  readonly open: Effect.Effect<LockConnection<E>, E, Scope.Scope>
  /** The pause between two looks, and before a new session. */
  readonly lookMillis: number
  /** After this time without an answer the session is ended, and the last look says nothing any more. */
  readonly expiryMillis: number
}

/** A lock is tried for this many looks after it was asked for. Whoever still wants it asks each second. */
const wantedLooks = 3
/** A lock that nobody has named for this many looks is given back: its caller gave up, and wants it no longer. */
const namedLooks = 6

class Locks {
  readonly held = new Set<number>()
  /** How many looks a lock is still tried for. */
  readonly wanted = new Map<number, number>()
  /** How many looks a held lock is kept for without being named. */
  readonly named = new Map<number, number>()
  readonly unwanted = new Set<number>()

  name(locks: ReadonlyArray<number>): void {
    for (const lock of locks) this.named.set(lock, namedLooks)
  }

  want(locks: ReadonlyArray<number>): void {
    this.name(locks)
    for (const lock of locks) {
      this.wanted.set(lock, wantedLooks)
      this.unwanted.delete(lock)
    }
  }

  giveUp(locks: ReadonlyArray<number> | "all"): void {
    for (const lock of locks === "all" ? [...this.held, ...this.wanted.keys()] : locks) {
      this.wanted.delete(lock)
      this.named.delete(lock)
      if (this.held.has(lock)) this.unwanted.add(lock)
    }
  }

  of(locks: ReadonlyArray<number>): ReadonlyArray<number> {
    return locks.filter((lock) => this.held.has(lock) && !this.unwanted.has(lock))
  }

  gaveBack(locks: ReadonlyArray<number>): void {
    for (const lock of locks) {
      this.unwanted.delete(lock)
      this.held.delete(lock)
    }
  }

  /** Counts a look. */
  looked(found: ReadonlyArray<number>): void {
    this.held.clear()
    for (const lock of found) {
      this.held.add(lock)
      if (!this.named.has(lock)) this.unwanted.add(lock)
    }
    for (const left of [this.wanted, this.named])
      for (const [lock, looks] of left) {
        if (looks > 1) left.set(lock, looks - 1)
        else left.delete(lock)
      }
  }

  lost(): void {
    this.held.clear()
    this.unwanted.clear()
  }
}

/** Counts the rounds of statements, so that callers can wait for one. */
class Rounds {
  private begun = 0
  private ended = 0
  private ends = Latch.makeUnsafe(false)
  /** Opens when a caller waits for a round that has not begun. */
  readonly work = Latch.makeUnsafe(false)

  readonly begin = Effect.suspend(() => {
    this.begun++
    return this.work.close
  })

  readonly end = Effect.sync(() => {
    this.ended = this.begun
    const before = this.ends
    this.ends = Latch.makeUnsafe(false)
    before.openUnsafe()
  })

  /** Waits for the end of a round, or for `isOver`. One that is under way counts where only its look is wanted. */
  wait(isOver: () => boolean, countsUnderWay: boolean): Effect.Effect<void> {
    const round = countsUnderWay && this.begun > this.ended ? this.begun : this.begun + 1
    const wait: Effect.Effect<void> = Effect.suspend(() => this.ends.await).pipe(
      Effect.andThen(Effect.suspend(() => (this.ended >= round || isOver() ? Effect.void : wait)))
    )
    return Effect.andThen(this.work.open, wait)
  }
}

class Keeper<E> {
  private readonly options: LockKeeperOptions<E>
  private readonly clock: Clock.Clock
  private readonly locks = new Locks()
  private readonly rounds = new Rounds()
  /** When the last look began that was answered; undefined without a session. */
  private seenAt: number | undefined
  private failure: unknown = "it was not asked yet"

  constructor(options: LockKeeperOptions<E>, clock: Clock.Clock) {
    this.options = options
    this.clock = clock
  }

  /** One session after the other. */
  readonly keep: Effect.Effect<never> = Effect.suspend(() =>
    Effect.scoped(this.life).pipe(
      Effect.onExit((exit) =>
        Effect.suspend(() => {
          if (Exit.isFailure(exit)) this.failure = Cause.squash(exit.cause)
          this.seenAt = undefined
          this.locks.lost()
          return this.rounds.end
        })
      ),
      Effect.ignore,
      Effect.andThen(this.pause),
      Effect.forever
    )
  )

  readonly held: LockKeeper["held"] = (asked) =>
    Effect.suspend(() => {
      this.locks.name(asked)
      const answer = Effect.suspend(() => (this.isFresh ? Effect.succeed(this.locks.of(asked)) : this.unseen))
      return this.isFresh ? answer : Effect.andThen(this.rounds.wait(this.isLost, true), answer)
    })

  readonly acquire: LockKeeper["acquire"] = (asked) =>
    Effect.suspend(() => {
      this.locks.want(asked)
      const answer = Effect.suspend(() => (this.isLost() ? this.unseen : Effect.succeed(this.locks.of(asked))))
      return this.locks.of(asked).length === asked.length
        ? answer
        : Effect.andThen(this.rounds.wait(this.isLost, false), answer)
    })

  readonly release: LockKeeper["release"] = (asked) =>
    Effect.suspend(() => {
      this.locks.giveUp(asked)
      return this.locks.unwanted.size === 0 ? Effect.void : this.rounds.wait(this.isLost, false)
    })

  private readonly life = Effect.gen({ self: this }, function* () {
    const connection = yield* this.options.open
    while (true) {
      yield* this.rounds.begin
      yield* this.round(connection)
      yield* this.rounds.end
      yield* Effect.raceFirst(this.pause, this.rounds.work.await)
    }
  })

  /** Three statements at most; the bound is for each. */
  private readonly round = Effect.fnUntraced(function* (this: Keeper<E>, connection: LockConnection<E>) {
    const { locks } = this
    const { expiryMillis } = this.options
    const late = Effect.sleep(Duration.millis(expiryMillis)).pipe(
      Effect.andThen(
        Effect.sync(() => connection.destroy(`it did not answer within ${expiryMillis} ms which locks there are`))
      ),
      Effect.andThen(Effect.never)
    )
    const back = [...locks.unwanted]
    if (back.length > 0) {
      yield* Effect.raceFirst(connection.giveBack(back), late)
      locks.gaveBack(back)
    }
    const missing = [...locks.wanted.keys()].filter((lock) => !locks.held.has(lock))
    if (missing.length > 0)
      for (const lock of yield* Effect.raceFirst(connection.take(missing), late)) locks.held.add(lock)
    const at = this.monotonic
    locks.looked(yield* Effect.raceFirst(connection.look, late))
    this.seenAt = at
  })

  private get monotonic(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  private get isFresh(): boolean {
    return this.seenAt !== undefined && this.monotonic - this.seenAt < this.options.expiryMillis
  }

  private readonly isLost = (): boolean => this.seenAt === undefined

  private readonly pause = Effect.suspend(() => Effect.sleep(Duration.millis(this.options.lookMillis)))

  private readonly unseen = Effect.suspend(() => Effect.fail(new LocksUnseen({ cause: this.failure })))
}

/** Starts the fiber. The scope's end closes the session. */
export const make = <E>(options: LockKeeperOptions<E>): Effect.Effect<LockKeeper, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { acquire, held, keep, release } = new Keeper(options, yield* Clock.Clock)
    yield* Effect.forkScoped(keep)
    return { acquire, held, release }
  })
