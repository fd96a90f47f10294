/**
 * Whether a relay can be reached (docs/handoff.md, 2.2): it is tried immediately, again while something is wrong with it, and now and then while nobody uses it. Needs no
 * service.
 */
import { Clock, Duration, Effect, Latch, type Scope } from "effect"
import { Pauses } from "../../../common/backoff.ts"
import { superviseLoop } from "../../../common/superviseLoop.ts"
import { firstProbeMillis, longestProbeMillis, probeMillis } from "./limits.ts"
import { type RelayTrouble, type SmtpError, troubleOf } from "./outcomes.ts"

/** Told of trouble, each time. */
export type OnTrouble = (kind: RelayTrouble) => void

/** Tries a relay: a connection, TLS and a login. */
export interface Verifier {
  verify(callback: (error: Error | null) => void): void
}

export interface Reachability {
  /** The fault, as a sentence; undefined while it takes mail. */
  readonly trouble: Effect.Effect<string | undefined>
  /** Something was wrong with the relay itself. */
  readonly inTrouble: (kind: RelayTrouble, reason: string) => Effect.Effect<void>
  /** It took a mail. */
  readonly inOrder: Effect.Effect<void>
  /** Tries the relay; whether it can be reached. */
  readonly probe: Effect.Effect<boolean>
}

/** One try: the error, if there was one. */
export const verified = (verifier: Verifier): Effect.Effect<SmtpError | undefined> =>
  Effect.callback<SmtpError | undefined>((resume) => {
    verifier.verify((error) => resume(Effect.succeed(error ?? undefined)))
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(probeMillis),
      orElse: () => Effect.succeed<SmtpError>({ code: "ETIMEDOUT" })
    })
  )

/** Watches a relay until the scope ends. `name` is for the log. */
export const watchRelay = (
  verifier: Verifier,
  name: string,
  quietMillis: number,
  onTrouble: OnTrouble
): Effect.Effect<Reachability, never, Scope.Scope> =>
  Effect.gen(function* () {
    let trouble: string | undefined = "the relay was not reached yet"
    let usedAt = Number.NEGATIVE_INFINITY
    const changed = Latch.makeUnsafe(false)

    const inTrouble = (kind: RelayTrouble, reason: string) =>
      Effect.suspend(() => {
        onTrouble(kind)
        const isNews = trouble !== reason
        trouble = reason
        changed.openUnsafe()
        return isNews ? Effect.logWarning(`live mail waits: ${reason} (${name})`) : Effect.void
      })

    const inOrder = Effect.gen(function* () {
      usedAt = yield* Clock.currentTimeMillis
      if (trouble === undefined) return
      trouble = undefined
      yield* Effect.logInfo(`the relay ${name} takes mail`)
    })

    const probe = Effect.flatMap(verified(verifier), (error) => {
      if (error === undefined) return Effect.as(inOrder, true)
      const { kind, reason } = troubleOf(error)
      return Effect.as(inTrouble(kind, reason), false)
    })

    const pauses = new Pauses(firstProbeMillis, longestProbeMillis)
    const watching = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      changed.closeUnsafe()
      const isReached = trouble === undefined && now - usedAt < quietMillis ? true : yield* probe
      if (isReached) {
        pauses.reset()
        // Tried as soon as something is wrong with it.
        yield* Effect.raceFirst(Effect.sleep(Duration.millis(quietMillis)), changed.await)
      } else yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
    })
    yield* Effect.forkScoped(
      superviseLoop(watching, { failed: "the relay could not be tried", retryMillis: firstProbeMillis })
    )
    return { trouble: Effect.sync(() => trouble), inTrouble, inOrder, probe }
  })
