/**
 * Keeps one server running: waits until it is ready, restarts it on the same port after an unexpected end, with growing
 * pauses, and stops it with its scope. The state can be read and watched, for /readyz and for people. Needs no service.
 */
import { Clock, Deferred, Effect, Schedule, type Scope, SubscriptionRef } from "effect"
import { Pauses } from "../common/backoff.ts"
import { keepBounded, logSince, logSize } from "./boundedLog.ts"
import { type ServerCommand, startChild } from "./childProcess.ts"
import { type ServerName, ServerStartFailed } from "./errors.ts"

export type ServerState =
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Running"; readonly pid: number; readonly sinceMillis: number; readonly restarts: number }
  | {
      readonly _tag: "Restarting"
      readonly restarts: number
      readonly sinceMillis: number
      /** How the last process ended, or why the last start failed. */
      readonly reason: string
    }
  | { readonly _tag: "Stopped" }

export interface ServerPlan {
  readonly server: ServerName
  readonly command: ServerCommand
  /** Runs before each start: removes what a killed process left behind. */
  readonly prepare: Effect.Effect<void, ServerStartFailed>
  /** One attempt to use the server. `retry` false ends the start: waiting would not help. */
  readonly ready: (pid: number) => Effect.Effect<void, { readonly reason: string; readonly retry: boolean }>
  /** The sentence in the log that explains a failed start, if there is one, and whether the port was taken. */
  readonly explain: (log: string) => { readonly reason: string | undefined; readonly portTaken: boolean }
  readonly progress: (line: string) => Effect.Effect<void>
}

export interface SupervisedServer {
  readonly state: SubscriptionRef.SubscriptionRef<ServerState>
}

/** The pause between two attempts to use a server that is starting. */
const readyPollMillis = 15

/** How often a slow start is reported; recovering much data takes time. */
const slowStartMillis = 5_000

/** The longest start. A server that recovers for longer has a problem that a person should look at. */
const readyTimeoutMillis = 300_000

const restartFirstPauseMillis = 100
const restartLongestPauseMillis = 10_000

/** A server that ran this long before it ended starts again with the first pause. */
const restartForgivenMillis = 60_000

/** Starts the server and returns when it is ready; from then on it is kept running until the scope closes. */
export const supervise = Effect.fnUntraced(function* (
  plan: ServerPlan
): Effect.fn.Return<SupervisedServer, ServerStartFailed, Scope.Scope> {
  const { server, command, progress } = plan
  const state = yield* SubscriptionRef.make<ServerState>({ _tag: "Starting" })
  const started = yield* Deferred.make<void, ServerStartFailed>()
  const failed = (reason: string, portTaken = false) =>
    new ServerStartFailed({ server, reason, portTaken, logFile: command.logFile })

  /** One life of the process: fails if it does not become ready, else returns how it ended. */
  const live = (restarts: number) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* plan.prepare
        const mark = yield* logSize(command.logFile)
        const child = yield* startChild(command).pipe(Effect.mapError((reason) => failed(reason)))
        const endedEarly = Effect.flatMap(child.ended, (how) =>
          Effect.flatMap(logSince(command.logFile, mark), (log) => {
            const { reason, portTaken } = plan.explain(log)
            return failed(reason ?? `it ended with ${how}`, portTaken)
          })
        )
        yield* waitUntilReady(plan, child.pid, failed).pipe(Effect.raceFirst(endedEarly))
        const sinceMillis = yield* Clock.currentTimeMillis
        yield* SubscriptionRef.set(state, { _tag: "Running", pid: child.pid, sinceMillis, restarts })
        yield* Deferred.succeed(started, undefined)
        const how = yield* child.ended
        return { how, lastedMillis: (yield* Clock.currentTimeMillis) - sinceMillis }
      })
    )

  const keepRunning = Effect.gen(function* () {
    const pauses = new Pauses(restartFirstPauseMillis, restartLongestPauseMillis)
    for (let restarts = 0; ; restarts++) {
      const reason = yield* live(restarts).pipe(
        Effect.map(({ how, lastedMillis }) => {
          if (lastedMillis >= restartForgivenMillis) pauses.reset()
          return `it ended unexpectedly with ${how}`
        }),
        // The caller judges a failed first start; a later one is tried again.
        Effect.catch((error) =>
          Effect.flatMap(Deferred.isDone(started), (running) =>
            running ? Effect.succeed(error.reason) : Effect.fail(error)
          )
        )
      )
      const sinceMillis = yield* Clock.currentTimeMillis
      yield* SubscriptionRef.set(state, { _tag: "Restarting", restarts: restarts + 1, reason, sinceMillis })
      const pauseMillis = pauses.afterFailure()
      yield* Effect.logWarning(`${server}: ${reason}; starting it again in ${pauseMillis} ms`)
      yield* Effect.sleep(pauseMillis)
    }
  }).pipe(
    Effect.catchTag("ServerStartFailed", (error) => Deferred.fail(started, error)),
    Effect.ensuring(SubscriptionRef.set(state, { _tag: "Stopped" }))
  )

  // The scope's end interrupts this fiber, which closes the scope of the current life and so stops the process.
  yield* Effect.forkScoped(keepRunning)
  yield* Effect.forkScoped(keepBounded(command.logFile))
  yield* Deferred.await(started).pipe(
    Effect.raceFirst(
      progress(`${server} is still starting (recovering its data) …`).pipe(
        Effect.repeat(Schedule.spaced(slowStartMillis)),
        Effect.delay(slowStartMillis),
        Effect.andThen(Effect.never)
      )
    )
  )
  return { state }
})

const waitUntilReady = (plan: ServerPlan, pid: number, failed: (reason: string) => ServerStartFailed) =>
  plan.ready(pid).pipe(
    Effect.retry({ schedule: Schedule.spaced(readyPollMillis), while: (error) => error.retry }),
    Effect.mapError((error) => failed(error.reason)),
    Effect.timeoutOrElse({
      duration: readyTimeoutMillis,
      orElse: () => failed(`it was not ready within ${readyTimeoutMillis / 1000} s`)
    })
  )
