/** Coalesces the work of several accounts into one statement and one command (docs/handoff.md, 2). Needs no service. */
import { Clock, Duration, Effect, Latch } from "effect"
import type { PartitionClaim, TakenJob, WorkQueue } from "../../postgres/WorkQueue.ts"

/**
 * Waits a moment that is the same for all who wait, as long as the first of them says: what accounts are asked or told together shares frames, and their jobs share
 * statements.
 */
export const makeMoment = (): ((millis: number) => Effect.Effect<void>) => {
  let next: Latch.Latch | undefined
  return (millis) =>
    Effect.suspend(() => {
      if (next !== undefined) return next.await
      const latch = Latch.makeUnsafe(false)
      next = latch
      return Effect.ensuring(
        Effect.sleep(Duration.millis(millis)),
        Effect.sync(() => {
          next = undefined
          latch.openUnsafe()
        })
      )
    })
}

/** Takes jobs of several accounts in one statement; each gets its own. */
export const takeTogether = Effect.fnUntraced(function* (
  queue: Pick<WorkQueue, "takeFrom">,
  leaseMillis: number,
  all: ReadonlyArray<ReadonlyArray<PartitionClaim>>
) {
  const now = yield* Clock.currentTimeMillis
  const jobs = yield* queue.takeFrom(all.flat(), { now, leasedUntil: now + leaseMillis })
  const byGroup = Map.groupBy(jobs, ({ group }) => group)
  return all.map(([claim]): ReadonlyArray<TakenJob> => byGroup.get(claim?.group ?? "") ?? [])
})
