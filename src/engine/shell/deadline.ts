/**
 * Gives every call to a store a deadline (docs/architecture.md, rule 16). A call that passes it is interrupted but not
 * awaited, because a statement that hangs also hangs while it is rolled back. Its late effects are harmless, because
 * checkpoints and cursors are compare-and-set.
 */
import { Duration, Effect, type Exit, Fiber } from "effect"

/** Fails with `onTimeout` when the effect takes longer. */
export const deadline = <A, E, R, F>(
  effect: Effect.Effect<A, E, R>,
  millis: number,
  onTimeout: () => F
): Effect.Effect<A, E | F, R> =>
  Effect.flatMap(Effect.forkDetach(effect, { startImmediately: true }), (fiber) => {
    const done = fiber.pollUnsafe()
    if (done !== undefined) return done as Exit.Exit<A, E>
    const ended = Effect.raceFirst(
      Effect.map(Fiber.await(fiber), (exit) => exit as Exit.Exit<A, E | F>),
      Effect.as(Effect.sleep(Duration.millis(millis)), undefined)
    )
    const abandon = Effect.sync(() => fiber.interruptUnsafe())
    return Effect.flatMap(
      Effect.onInterrupt(ended, () => abandon),
      (exit) =>
        exit ??
        Effect.andThen(
          abandon,
          Effect.suspend(() => Effect.fail(onTimeout()))
        )
    )
  })
