/**
 * Bounds how many transactions of reactors run at once in the process (docs/architecture.md, rule 11). A database is quicker with few larger
 * transactions than with many small ones side by side, and what is committed while a reactor waits here joins its next one.
 */
import { Duration, Effect, Exit, Fiber, Scope, Semaphore } from "effect"

/**
 * How long a transaction keeps its place, milliseconds. One that takes longer is waiting for something itself (a lock, a reactor's own call), so it goes on without
 * one and holds up no other partition.
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
        // Whoever comes first gives it back, the lease or the end of the work, and neither can be interrupted while it does.
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
