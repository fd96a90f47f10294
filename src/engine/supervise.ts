/**
 * Keeps a partition alive (architecture, rules 3, 4, 7, 12): recover, claim, serve, and begin anew after a fence or a fault, with a growing pause;
 * stop and say why when an operator is needed.
 */
import { Cause, Duration, Effect, Exit, Random } from "effect"
import { checkpoint, checkpointer } from "./checkpointing.ts"
import { claimAndReact, startReactors } from "./claiming.ts"
import { PartitionMoved } from "./errors.ts"
import { sweep } from "./eviction.ts"
import { JournalRefused } from "./Journal.ts"
import { fenceWindowMillis, maximumFences } from "./limits.ts"
import { loader } from "./loading.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"
import { RecoveryRefused, recover } from "./recovery.ts"
import { type LifeEnd, serve } from "./serve.ts"
import { feedSignals } from "./signalFeed.ts"

/** The pause before a new life, doubled from the first to the last while lives keep failing. */
const firstPauseMillis = 50
const lastPauseMillis = 10_000

/** A life that served so long has succeeded: the pause starts from the first again. */
const settledNanos = 30_000_000_000n

/** A log that does not fit its witnesses is looked at so often, in case a server answered from an old state. */
const refusalsUntilStop = 3
const refusalPauseMillis = 1_000

/** How often placement is asked while the partition is not owned. */
const ownershipPollMillis = 500

/** Runs a partition until it is closed or interrupted. Never ends otherwise, also when it has stopped. */
export const supervise = (partition: Partition): Effect.Effect<void> =>
  Effect.onExit(run(partition), () =>
    Effect.sync(() => {
      partition.setStatus({ _tag: "Closed" })
      partition.failAll(partition.notServing())
    })
  )

const run = Effect.fnUntraced(function* (partition: Partition) {
  let pauseMillis = firstPauseMillis
  let refusals = 0
  let fences: ReadonlyArray<bigint> = []
  let first = true
  while (true) {
    if (!first) yield* awaitOwnership(partition)
    first = false
    if (partition.closing) return
    const begunAt = partition.nanos()
    const exit = yield* Effect.exit(life(partition))
    if (partition.nanos() - begunAt > settledNanos) pauseMillis = firstPauseMillis
    partition.metrics.restart()
    if (Exit.isSuccess(exit)) {
      const end: LifeEnd = exit.value
      refusals = 0
      if (end._tag === "Closed") return
      partition.setStatus({ _tag: "Starting", reason: end.reason })
      if (end._tag === "Fenced") {
        partition.metrics.fence()
        partition.failWaiting(new PartitionMoved({ partition: partition.id }))
        const now = partition.nanos()
        fences = [...fences, now].filter((at) => now - at < BigInt(fenceWindowMillis) * 1_000_000n)
        yield* Effect.logWarning(
          `partition ${partition.id} was fenced (${end.reason}), ${fences.length} times in a minute`
        )
        if (fences.length >= maximumFences) {
          return yield* stop(
            partition,
            `it was fenced ${fences.length} times within a minute: two processes own it. Find the second one before you restart this one`
          )
        }
        continue
      }
      // commands wait for the next life; what asks a lane wants to know now
      partition.lanes.failWaiting(partition.notServing())
      yield* Effect.logWarning(`partition ${partition.id} restarts: ${end.reason}`)
    } else {
      const cause: Cause.Cause<unknown> = exit.cause
      if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
      const error = Cause.squash(cause)
      partition.setStatus({ _tag: "Starting", reason: describe(error) })
      partition.failAll(partition.notServing())
      if (error instanceof JournalRefused) return yield* stop(partition, error.message)
      if (error instanceof RecoveryRefused) {
        refusals++
        if (refusals >= refusalsUntilStop) return yield* stop(partition, error.message)
        yield* partition.pause(refusalPauseMillis)
        continue
      }
      refusals = 0
      yield* Effect.logWarning(`partition ${partition.id} could not go on and recovers`, cause)
    }
    yield* partition.pause(yield* Random.nextIntBetween(Math.ceil(pauseMillis / 2), pauseMillis))
    pauseMillis = Math.min(pauseMillis * 2, lastPauseMillis)
  }
})

/** One life: from recovery until `serve` ends. The fibers around the loop end with it. */
const life = (partition: Partition) =>
  Effect.scoped(
    Effect.gen(function* () {
      partition.setStatus({ _tag: "Starting", reason: "it is recovering" })
      yield* recover(partition)
      while (partition.currentTime() === undefined) {
        partition.setStatus({
          _tag: "ClockBehind",
          reason: `the clock is more than a minute behind the last frame; set it right, or accept it with \`sluice recover --partition ${partition.id} --accept-clock\``
        })
        partition.failWaiting(partition.notServing())
        if (partition.closing) return { _tag: "Closed" } as LifeEnd
        yield* partition.pause(ownershipPollMillis)
      }
      if (!partition.parts.sabotage.has("no-claim-frame")) {
        const end = yield* claimAndReact(partition)
        if (end !== undefined) return end
      } else {
        partition.confirmedAt = partition.nanos()
        yield* startReactors(partition)
      }
      // without a witness a young log that loses its frames would look like a new one at the next start
      if (partition.newestCheckpoint === undefined) partition.checkpointDue = true
      const { hash, sequence } = partition.head
      partition.witness = { sequence, hash }
      yield* Effect.forkScoped(essential(partition, "loading", loader(partition)))
      yield* Effect.forkScoped(essential(partition, "checkpointing", checkpointer(partition)))
      yield* Effect.forkScoped(essential(partition, "signals", feedSignals(partition)))
      yield* Effect.forkScoped(essential(partition, "maintenance", maintain(partition)))
      partition.setStatus({ _tag: "Serving" })
      const end = yield* serve(partition)
      if (end._tag === "Closed") yield* checkpoint(partition)
      return end
    })
  )

/** A fiber without which the partition is not whole: when it dies the partition restarts. */
const essential = (partition: Partition, what: string, effect: Effect.Effect<void, unknown>): Effect.Effect<void> =>
  Effect.catchCause(effect, (cause) =>
    Effect.sync(() => {
      if (Cause.hasInterruptsOnly(cause)) return
      partition.restartWanted = `${what}: ${describe(Cause.squash(cause))}`
      partition.wakeup.notify()
    })
  )

/** Sees to checkpoints by time, and to idle actors. */
const maintain = Effect.fnUntraced(function* (partition: Partition) {
  const { checkpointMillis, idleMillis } = partition.parts.config
  let sweepAt = partition.nanos() + BigInt(idleMillis) * 1_000_000n
  while (true) {
    yield* Effect.sleep(Duration.millis(Math.min(checkpointMillis, idleMillis)))
    const now = partition.parts.clock.currentTimeMillisUnsafe()
    if (partition.head.sequence > (partition.newestCheckpoint?.sequence ?? 0)) {
      partition.checkpointDue = true
      partition.wakeup.notify()
    }
    partition.metrics.checkpointAge(now - (partition.newestCheckpoint?.now ?? now))
    if (partition.nanos() >= sweepAt) {
      // a state that has ended by a time that was told stays ended, also when the clock steps back
      sweep(partition, partition.currentTime() ?? partition.head.now)
      sweepAt = partition.nanos() + BigInt(idleMillis) * 1_000_000n
    }
  }
})

const awaitOwnership = Effect.fnUntraced(function* (partition: Partition) {
  while (!partition.closing) {
    const owns = yield* Effect.option(partition.parts.placement.owns(partition.id))
    if (owns._tag === "Some" && owns.value) return
    partition.setStatus({
      _tag: "NotOwned",
      reason: owns._tag === "Some" ? "another process owns it" : "whether it is owned here cannot be said now"
    })
    // who waited for the next life would wait for as long as the other process has the partition
    partition.failWaiting(partition.notServing())
    yield* partition.pause(ownershipPollMillis)
  }
})

/** Stops for good: who asks is told why. */
const stop = Effect.fnUntraced(function* (partition: Partition, reason: string) {
  partition.setStatus({ _tag: "Stopped", reason })
  partition.failWaiting(partition.notServing())
  yield* Effect.logError(`partition ${partition.id} has stopped: ${reason}`)
  while (!partition.closing) yield* partition.pause(ownershipPollMillis)
})
