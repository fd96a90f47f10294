/**
 * Gives statements deadlines at little cost: one supervised fiber checks all of them at intervals, because a timer for
 * each would cost as much as some statements. A late statement is given up immediately: its fiber is interrupted and
 * ends by itself, and closes its connection if the server does not answer the cancellation either (the client waits 5 s
 * for that). Needs a scope.
 */
import { Clock, Context, Duration, Effect, type Exit, Fiber, Latch, type Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { answerMarginMillis } from "./config.ts"
import { connectionError } from "./errors.ts"

/** How often deadlines are checked. A statement may be given up later by this much. */
export const lookIntervalMillis = 50

/** How long a statement may wait for its answer, when it differs from the configuration: see `withStatementTimeout`. */
const AnswerTimeout = Context.Reference<number | undefined>("sluice/postgres/AnswerTimeout", {
  defaultValue: () => undefined
})

/**
 * Gives the statements of a transaction another timeout than the configured one, on the server and here, for work that
 * is known to take long or to wait long for a lock. Use it inside the transaction, around everything up to its end.
 */
export const withStatementTimeout = <A, E, R>(
  sql: SqlClient.SqlClient,
  timeoutMillis: number,
  statements: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError, R> =>
  Effect.andThen(sql.unsafe(`SET LOCAL statement_timeout = ${timeoutMillis}`), statements).pipe(
    Effect.provideService(AnswerTimeout, timeoutMillis + answerMarginMillis)
  )

export interface DeadlineOptions {
  /** Wait for a connection. */
  readonly connectTimeoutMillis: number
  /** Wait for the answer to a statement. */
  readonly answerTimeoutMillis: number
}

/** The waits of an effect, one after the other. Each call begins a new wait. */
export interface WaitHandle {
  readonly connection: () => void
  /** `whenLate` runs when the answer does not come in time, to end what an interruption does not end. */
  readonly answer: (whenLate?: Effect.Effect<void>) => void
}

export interface Deadlines {
  /** Runs an effect and gives it up when it is late. The effect tells by its handle what it waits for. */
  readonly watched: <A, E, R>(
    run: (waiting: WaitHandle) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SqlError.SqlError, R>
}

/** Starts the fiber that checks deadlines. */
export const make = Effect.fnUntraced(function* (
  options: DeadlineOptions
): Effect.fn.Return<Deadlines, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const live = new Set<Watched>()
  const something = Latch.makeUnsafe(false)

  const look = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const one of live) if (now >= one.dueAt) one.giveUp()
    if (live.size === 0) something.closeUnsafe()
  })
  yield* something.await.pipe(
    Effect.andThen(Effect.sleep(Duration.millis(lookIntervalMillis))),
    Effect.andThen(look),
    Effect.forever,
    Effect.forkScoped
  )

  const watched = <A, E, R>(run: (waiting: WaitHandle) => Effect.Effect<A, E, R>) =>
    Effect.withFiber<A, E | SqlError.SqlError, R>((parent) =>
      Effect.callback((resume) => {
        const one = new Watched(clock, options, parent.getRef(AnswerTimeout))
        const fiber = Effect.runForkWith(parent.context as Context.Context<R>)(run(one))
        const early = fiber.pollUnsafe()
        if (early !== undefined) {
          resume(early)
          return
        }
        live.add(one)
        if (!something.isOpen()) something.openUnsafe()
        fiber.addObserver((exit: Exit.Exit<A, E>) => {
          live.delete(one)
          resume(exit)
        })
        one.giveUp = () => {
          live.delete(one)
          resume(Effect.fail(one.late()))
          fiber.interruptUnsafe()
          if (one.whenLate !== undefined) Effect.runForkWith(parent.context)(one.whenLate)
        }
        return Effect.suspend(() => {
          live.delete(one)
          return Fiber.interrupt(fiber)
        })
      })
    )
  return { watched }
})

class Watched implements WaitHandle {
  readonly clock: Clock.Clock
  readonly options: DeadlineOptions
  readonly answerTimeoutMillis: number
  isConnected = false
  dueAt = Number.POSITIVE_INFINITY
  whenLate: Effect.Effect<void> | undefined
  giveUp: () => void = () => {}

  constructor(clock: Clock.Clock, options: DeadlineOptions, answerTimeoutMillis: number | undefined) {
    this.clock = clock
    this.options = options
    this.answerTimeoutMillis = answerTimeoutMillis ?? options.answerTimeoutMillis
  }

  connection = (): void => {
    this.dueAt = this.clock.currentTimeMillisUnsafe() + this.options.connectTimeoutMillis
  }

  answer = (whenLate?: Effect.Effect<void>): void => {
    this.isConnected = true
    this.whenLate = whenLate
    this.dueAt = this.clock.currentTimeMillisUnsafe() + this.answerTimeoutMillis
  }

  late(): SqlError.SqlError {
    return this.isConnected
      ? connectionError(`PostgreSQL did not answer within ${this.answerTimeoutMillis} ms`, "execute")
      : connectionError(
          `No connection to PostgreSQL came free within ${this.options.connectTimeoutMillis} ms`,
          "connect"
        )
  }
}
