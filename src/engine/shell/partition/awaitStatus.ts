/**
 * Waits for statuses of partitions: all of them serve, or all of them are closed. Statuses are watched, not polled.
 */
import { Duration, Effect, Fiber } from "effect"
import { PartitionStopped } from "../../errors.ts"
import { handoverMillis } from "../../limits.ts"
import type { Status } from "./EngineContext.ts"
import type { Partition } from "./Partition.ts"

/** A partition may have stopped serving while we waited for another. */
export const awaitAllServing = (local: ReadonlyMap<number, Partition>): Effect.Effect<void, PartitionStopped> =>
  Effect.suspend(() => {
    const partitions = [...local.values()]
    return Effect.flatMap(Effect.forEach(partitions, awaitServing, { discard: true }), () =>
      partitions.every(({ status }) => status._tag === "Serving") ? Effect.void : awaitAllServing(local)
    )
  })

const awaitServing = (partition: Partition): Effect.Effect<void, PartitionStopped> =>
  awaitStatus(partition, (status) => {
    if (status._tag === "Serving") return Effect.void
    if (status._tag !== "Stopped" && status._tag !== "Closed") return undefined
    const reason = status._tag === "Stopped" ? status.reason : "it was shut down"
    return Effect.fail(new PartitionStopped({ partition: partition.id, reason }))
  })

/** Waits for a status. `judge` decides whether the wait ends with this one, and how. */
const awaitStatus = <E>(
  partition: Partition,
  judge: (status: Status) => Effect.Effect<void, E> | undefined
): Effect.Effect<void, E> =>
  Effect.callback<void, E>((resume) => {
    let stop: (() => void) | undefined
    let isOver = false
    stop = partition.watch((status) => {
      const end = isOver ? undefined : judge(status)
      if (end === undefined) return
      isOver = true
      stop?.()
      resume(end)
    })
    if (isOver) stop()
    return Effect.sync(() => stop?.())
  })

/**
 * Runs a partition. When it is interrupted, because it moves to another process, it accepts no more commands, finishes
 * the accepted ones and writes its checkpoint, but does not keep the next owner waiting for long.
 */
export const untilHandedOver = (partition: Partition, serving: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(Effect.forkDetach(serving, { startImmediately: true }), (fiber) =>
    Effect.onInterrupt(Fiber.join(fiber), () =>
      Effect.sync(() => partition.close()).pipe(
        Effect.andThen(Effect.timeoutOption(Fiber.await(fiber), Duration.millis(handoverMillis))),
        Effect.andThen(Fiber.interrupt(fiber))
      )
    )
  )

/** Accepts no more commands, finishes the accepted ones, writes the last checkpoints. */
export const closeAll = (local: ReadonlyMap<number, Partition>, shutdownMillis: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const partitions = [...local.values()]
    for (const partition of partitions) partition.close()
    const isClosed = (status: Status) => (status._tag === "Closed" ? Effect.void : undefined)
    return Effect.ignore(
      Effect.timeoutOption(
        Effect.forEach(partitions, (partition) => awaitStatus(partition, isClosed), {
          discard: true,
          concurrency: "unbounded"
        }),
        Duration.millis(shutdownMillis)
      )
    )
  })
