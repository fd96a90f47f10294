/**
 * Bounds how many transactions of reactors run concurrently in the process (docs/architecture.md, rule 11). A database
 * is quicker with few larger transactions than with many small ones side by side, and frames committed while a reactor
 * waits here join its next one.
 */
import { Duration, Effect, Exit, Fiber, Scope, Semaphore } from "effect"

/**
 * How long a transaction keeps its place, milliseconds. A longer one is itself waiting (for a lock, or for a reactor's
 * own call), so it continues without a place and delays no other partition.
 */
export const placeMillis = 50

export class TransactionPlaces {
  private readonly places: Semaphore.Semaphore

  constructor(count: number) {
    this.places = Semaphore.makeUnsafe(count)
  }

  /** Runs the work once there is a place for it. */
  within<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Scope.make(), (place) => {
        // The lease or the end of the work gives it back, whichever is first, and neither can be interrupted while it
        // does.
        const leave = Effect.uninterruptible(Scope.close(place, Exit.void))
        const lease = Effect.andThen(Effect.sleep(Duration.millis(placeMillis)), leave)
        return restore(Scope.provide(this.places.takeScoped(1), place)).pipe(
          Effect.andThen(Effect.forkChild(Effect.interruptible(lease))),
          Effect.flatMap((fiber) => Effect.onExit(restore(work), () => Fiber.interrupt(fiber))),
          Effect.onExit(() => leave)
        )
      })
    )
  }
}
