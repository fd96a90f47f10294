/** Hands a node's partitions over: runs the work that must be done before, and returns its locks. Needs no service. */
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import type * as PartitionOwnership from "../../engine/PartitionOwnership.ts"
import type { Membership } from "./Membership.ts"

/** How long a node that leaves waits until its partitions are handed over and its locks given back. */
const leaveMillis = 5_000

/** The handover of a node. */
export interface Handover extends Pick<Membership["Service"], "beforeLeave" | "hasLeft"> {
  /** Hands all partitions over. Another run has nothing left to do. */
  readonly giveBack: Effect.Effect<void>
}

/** The handover of a node whose locks are given back as `membership` closes. */
export const makeHandover = (
  membership: Scope.Closeable,
  tenure: () => PartitionOwnership.PartitionOwnership | undefined
): Handover => {
  const before = new Set<Effect.Effect<void>>()
  let hasLeft = false
  const runBefore = Effect.suspend(() => {
    const all = [...before]
    before.clear()
    return Effect.all(all, { concurrency: "unbounded", discard: true })
  })
  return {
    hasLeft: () => hasLeft,
    beforeLeave: (effect) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => before.add(effect)),
          () => Effect.sync(() => before.delete(effect))
        )
      ),
    giveBack: Effect.gen(function* () {
      yield* runBefore
      hasLeft = true
      tenure()?.leave()
      // effect/cluster gives its locks back only when it sees them, and waits for that without an end. What it does not
      // give back expires.
      const closing = yield* Effect.forkDetach(Scope.close(membership, Exit.void), { startImmediately: true })
      yield* Effect.timeoutOption(Fiber.await(closing), Duration.millis(leaveMillis))
    })
  }
}
