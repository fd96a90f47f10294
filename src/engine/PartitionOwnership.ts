/**
 * Holds partitions that several nodes share (docs/architecture.md, "Placement"). The placement starts and ends `hold`;
 * this module decides whether the partition then starts or stops, because a hold ends in two cases: the partition goes
 * to another node, or its owner is temporarily unknown. In the second case it keeps serving under its log's fence,
 * until another node is seen to have taken it. Needs no service.
 */
import { Clock, Duration, Effect, FiberMap, Schedule, type Scope, Semaphore } from "effect"
import type { PlacementUnavailable } from "./ports/Placement.ts"

/** How often a partition with an uncertain owner looks its owner up. */
export const lookMillis = 250

/**
 * How long placement must have called a partition ours, while its note names another node, before we note it as ours
 * again: the other note may have arrived late. Longer than we need to learn that we have lost it.
 */
export const settledMillis = 6_000

export interface PartitionOwnershipOptions {
  /** Runs the partition until it is interrupted. */
  readonly serve: (partition: number) => Effect.Effect<void>
  /** Whether another node has taken the partition, by a fresh look-up. */
  readonly isTaken: (partition: number) => Effect.Effect<boolean, PlacementUnavailable>
  /** Records that this node has taken the partition, visible to the others. Tried again until it succeeds. */
  readonly take: (partition: number) => Effect.Effect<void, unknown>
  /** Whether a partition whose placement ends may still be this node's. */
  readonly isUncertain: (partition: number) => boolean
}

export interface PartitionOwnership {
  /** Holds a partition until it is interrupted. */
  readonly hold: (partition: number) => Effect.Effect<never>
  /** Whether the partition is this node's, by a fresh look-up. */
  readonly owns: (partition: number) => Effect.Effect<boolean, PlacementUnavailable>
  /** The node leaves: from now on every end of a hold stops its partition. */
  leave: () => void
}

/** Warns once that a partition cannot be recorded as ours: meanwhile no node serves it. */
const told = <A, E>(partition: number, take: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let hasFailed = false
  return Effect.tapError(take, (cause) => {
    if (hasFailed) return Effect.void
    hasFailed = true
    return Effect.logWarning(`partition ${partition} is placed here, and cannot be noted as taken`, cause)
  })
}

/** Makes the ownership of this node. All partitions stop with the scope. */
export const make = Effect.fnUntraced(function* (
  options: PartitionOwnershipOptions
): Effect.fn.Return<PartitionOwnership, never, Scope.Scope> {
  const { isTaken, isUncertain, serve, take } = options
  const clock = yield* Clock.Clock
  const fibers = yield* FiberMap.make<number, void>()
  const run = yield* FiberMap.runtime(fibers)<never>()
  /** Partitions that are ours according to their placement. */
  const held = new Set<number>()
  /** The time at which each of these was recorded as another node's, on the monotonic clock. */
  const disputed = new Map<number, number>()
  /** One semaphore per partition: a new hold starts only after the previous one has stopped. */
  const turns = new Map<number, Semaphore.Semaphore>()
  let hasLeft = false

  const inTurn = (partition: number, effect: Effect.Effect<void>): Effect.Effect<void> => {
    const turn = turns.get(partition) ?? Semaphore.makeUnsafe(1)
    turns.set(partition, turn)
    return turn.withPermits(1)(effect)
  }

  /** Hands the partition over; completes when it has stopped. */
  const stop = (partition: number) => inTurn(partition, FiberMap.remove(fibers, partition))

  /** The partition still serves if only the sight of its lock had been lost. */
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

  /** Stops partitions that other nodes took while this node could not see its locks. */
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
