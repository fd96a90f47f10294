/**
 * The sleep towards a partition's next timer. It is kept from one wait of the loop to the next, because most drains leave that timer where it
 * was, and a sleep raced against the news of every wait would cost three fibers each time.
 */
import { Duration, Effect, type Fiber, type Scope } from "effect"

export class Alarm {
  private sleeper: Fiber.Fiber<void> | undefined = undefined
  private ringsAt = 0n
  private readonly ring: () => void

  constructor(ring: () => void) {
    this.ring = ring
  }

  /** Whether the alarm rings at this monotonic time or before. */
  ringsBy(nanos: bigint): boolean {
    return this.sleeper !== undefined && this.ringsAt <= nanos
  }

  /**
   * Sets the alarm to ring once, `millis` after the monotonic time `now`, in place of what it was set to before. It
   * ends silently with the scope.
   */
  set(now: bigint, millis: number, scope: Scope.Scope): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.sleeper?.interruptUnsafe()
      this.sleeper = undefined
      this.ringsAt = now + BigInt(Math.ceil(millis)) * 1_000_000n
      const sleep = Effect.map(Effect.sleep(Duration.millis(millis)), () => {
        this.sleeper = undefined
        this.ring()
      })
      return Effect.map(Effect.forkIn(sleep, scope, { startImmediately: true }), (sleeper) => {
        this.sleeper = sleeper
      })
    })
  }
}
