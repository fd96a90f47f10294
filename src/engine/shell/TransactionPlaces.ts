/**
 * Bounds how many transactions of reactors run at once in the process (docs/architecture.md, rule 11). A database is quicker with few larger
 * transactions than with many small ones side by side, and what is committed while a reactor waits here joins its next one.
 */
import { Duration, Effect, Fiber, Semaphore } from "effect"

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
      Effect.flatMap(restore(this.places.take(1)), () => {
        let isHeld = true
        const leave = Effect.suspend(() => {
          if (!isHeld) return Effect.void
          isHeld = false
          return Effect.asVoid(this.places.release(1))
        })
        const lease = Effect.andThen(Effect.sleep(Duration.millis(placeMillis)), leave)
        return Effect.flatMap(Effect.forkChild(Effect.interruptible(lease)), (fiber) =>
          Effect.onExit(restore(work), () => Effect.andThen(leave, Fiber.interrupt(fiber)))
        )
      })
    )
  }
}
