/**
 * A node's hold on partitions that several nodes share (docs/architecture.md, "Placement"). What places them starts and ends `hold`; whether a
 * partition then starts or stops is decided here, because its placement ends it in two cases that mean different things: it goes to another node, or
 * nobody knows at the moment whose it is. In the second case it serves on under its log's fence, until another node is seen to have taken it. Needs no
 * service.
 */
import { Clock, Duration, Effect, FiberMap, Schedule, type Scope, Semaphore } from "effect"
import type { PlacementUnavailable } from "./ports/Placement.ts"

/** How often a partition that may be another node's looks whose it is. */
export const lookMillis = 250

/**
 * How long a partition must have been ours, as far as its placement knows, and noted as another node's, before it is noted as ours again: a note
 * of another node may have arrived late. Longer than it takes to learn that it is not ours any more.
 */
export const settledMillis = 6_000

export interface PartitionOwnershipOptions {
  /** Runs the partition until it is interrupted. */
  readonly serve: (partition: number) => Effect.Effect<void>
  /** Whether another node has taken the partition, looked up afresh. */
  readonly isTaken: (partition: number) => Effect.Effect<boolean, PlacementUnavailable>
  /** Notes that this node has taken the partition, where the others see it. Tried again until it succeeds. */
  readonly take: (partition: number) => Effect.Effect<void, unknown>
  /** Whether a partition whose placement ends may still be this node's. */
  readonly isUncertain: (partition: number) => boolean
}

export interface PartitionOwnership {
  /** Holds a partition until it is interrupted. */
  readonly hold: (partition: number) => Effect.Effect<never>
  /** Whether the partition is this node's, looked up afresh. */
  readonly owns: (partition: number) => Effect.Effect<boolean, PlacementUnavailable>
  /** From now on every end of a hold stops its partition: the node leaves. */
  leave: () => void
}

/** Tells once that a partition cannot be noted as ours: while that goes on nobody serves it. */
const told = <A, E>(partition: number, take: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let hasFailed = false
  return Effect.tapError(take, (cause) => {
    if (hasFailed) return Effect.void
    hasFailed = true
    return Effect.logWarning(`partition ${partition} is placed here, and cannot be noted as taken`, cause)
  })
}

/** Makes a tenure. All partitions stop with the scope. */
export const make = Effect.fnUntraced(function* (
  options: PartitionOwnershipOptions
): Effect.fn.Return<PartitionOwnership, never, Scope.Scope> {
  const { isTaken, isUncertain, serve, take } = options
  const clock = yield* Clock.Clock
  const fibers = yield* FiberMap.make<number, void>()
  const run = yield* FiberMap.runtime(fibers)<never>()
  /** Those that are ours as far as their placement knows. */
  const held = new Set<number>()
  /** Since when each of these has been noted as another node's, on the monotonic clock. */
  const disputed = new Map<number, number>()
  /** A partition that comes back waits until it has gone. */
  const turns = new Map<number, Semaphore.Semaphore>()
  let hasLeft = false

  const inTurn = (partition: number, effect: Effect.Effect<void>): Effect.Effect<void> => {
    const turn = turns.get(partition) ?? Semaphore.makeUnsafe(1)
    turns.set(partition, turn)
    return turn.withPermits(1)(effect)
  }

  /** Hands the partition over; returns when it has ended. */
  const stop = (partition: number) => inTurn(partition, FiberMap.remove(fibers, partition))

  /** The partition serves already where only the sight of its lock had been lost. */
  const begin = (partition: number) =>
    Effect.andThen(
      Effect.orDie(Effect.retry(told(partition, take(partition)), Schedule.spaced(Duration.millis(lookMillis)))),
      inTurn(
        partition,
        Effect.sync(() => {
          held.add(partition)
          disputed.delete(partition)
          run(partition, serve(partition), { onlyIfMissing: true })
        })
      )
    )

  const end = (partition: number) =>
    Effect.suspend(() => {
      held.delete(partition)
      disputed.delete(partition)
      return isUncertain(partition) && !hasLeft ? Effect.void : stop(partition)
    })

  /** Stops partitions that other nodes have taken while this one did not see its locks. */
  const look = Effect.suspend(() => {
    const unseen = [...fibers].map(([partition]) => partition).filter((partition) => !held.has(partition))
    return Effect.forEach(
      unseen,
      (partition) =>
        Effect.flatMap(isTaken(partition), (isGone) =>
          isGone && !held.has(partition) ? stop(partition) : Effect.void
        ),
      { discard: true }
    )
  }).pipe(Effect.ignore)

  const monotonic = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

  const owns = (partition: number): Effect.Effect<boolean, PlacementUnavailable> => {
    if (!held.has(partition)) return Effect.succeed(false)
    return Effect.flatMap(isTaken(partition), (isGone) => {
      if (!isGone || !held.has(partition)) {
        disputed.delete(partition)
        return Effect.succeed(held.has(partition))
      }
      const since = disputed.get(partition) ?? monotonic()
      disputed.set(partition, since)
      if (monotonic() - since < settledMillis) return Effect.succeed(false)
      return Effect.as(Effect.option(take(partition)), false)
    })
  }

  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(Duration.millis(lookMillis)), look)))

  return {
    hold: (partition) => Effect.onExit(Effect.andThen(begin(partition), Effect.never), () => end(partition)),
    owns,
    leave: () => {
      hasLeft = true
    }
  }
})
