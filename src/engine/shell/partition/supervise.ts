/**
 * Keeps a partition alive (docs/architecture.md, rules 3, 4, 7, 12): it recovers, claims and serves, and begins again
 * after a fence or a fault, with a growing pause. When an operator is needed it stops and says why.
 */
import { Cause, Duration, Effect, Exit, Random } from "effect"
import { Pauses } from "../../../common/backoff.ts"
import { describe } from "../../describe.ts"
import { PartitionMoved } from "../../errors.ts"
import { fencedRestMillis, fenceWindowMillis, maximumFences, reactorsCloseMillis } from "../../limits.ts"
import { JournalRefused } from "../../ports/Journal.ts"
import { followIngests } from "../ingest/followIngest.ts"
import { sendMessages } from "../outbox/sendMessages.ts"
import { ownsNow } from "../ownsNow.ts"
import { react } from "../reactors/react.ts"
import { feedSignals, parkFailedSignals } from "../signals/feedSignals.ts"
import { readCheckpoints } from "../stores/readCheckpoints.ts"
import { checkpoint, writeCheckpoints } from "../stores/writeCheckpoints.ts"
import { clockBehind } from "./clockBehind.ts"
import type { Partition } from "./Partition.ts"
import { claim, RecoveryRefused, recover } from "./recover.ts"
import { type LifeEnd, serve } from "./serve.ts"

/** The pause before a new life, doubled from the first to the last while lives keep failing. */
const firstPauseMillis = 50
const lastPauseMillis = 10_000

/** How long a life must serve to count as a success, after which the pause is the first one again. */
const settledMillis = 30_000

/**
 * How often a log that does not fit its witnesses is checked before the partition stops, in case a server answered from
 * an old state.
 */
const refusalsUntilStop = 3
const refusalPauseMillis = 1_000

/** How often to ask placement while the partition is not ours, and to check a clock that is behind. */
const pollMillis = 500

/**
 * Runs a partition until it is closed or interrupted. It does not end otherwise, not even when the partition has
 * stopped.
 */
export const supervise = (partition: Partition): Effect.Effect<void> =>
  Effect.onExit(run(partition), () =>
    Effect.sync(() => {
      partition.setStatus({ _tag: "Closed" })
      partition.core.failAll(partition.notServing())
      partition.core.leave()
    })
  )

/** Times of fences within the window. */
class Fences {
  private times: ReadonlyArray<number> = []

  /** Notes a fence; answers how many there were within the window. */
  add(monotonic: number): number {
    this.times = [...this.times, monotonic].filter((at) => monotonic - at < fenceWindowMillis)
    return this.times.length
  }
}

const run = Effect.fnUntraced(function* (partition: Partition) {
  const pauses = new Pauses(firstPauseMillis, lastPauseMillis)
  let refusals = 0
  const fences = new Fences()
  for (let lives = 0; ; lives++) {
    if (lives > 0) yield* awaitOwnership(partition)
    yield* awaitClock(partition)
    if (partition.isClosing) return
    const begunAt = partition.now().monotonic
    const exit = yield* Effect.exit(life(partition))
    if (partition.now().monotonic - begunAt > settledMillis) pauses.reset()
    partition.metrics.restart()
    if (Exit.isSuccess(exit)) {
      refusals = 0
      if (exit.value._tag === "Closed") return
      const isOver = yield* afterEnd(partition, exit.value, fences)
      if (isOver) return
      if (exit.value._tag === "Fenced") continue
    } else {
      const next = yield* afterFailure(partition, exit.cause, refusals)
      if (next === "stopped") return
      refusals = next
      if (refusals > 0) continue
    }
    const pauseMillis = pauses.afterFailure()
    yield* partition.pause(yield* Random.nextIntBetween(Math.ceil(pauseMillis / 2), pauseMillis))
  }
})

/** Handles a life that ended by itself. Returns whether the partition has stopped for good and needs an operator. */
const afterEnd = Effect.fnUntraced(function* (
  partition: Partition,
  end: Exclude<LifeEnd, { readonly _tag: "Closed" }>,
  fences: Fences
) {
  partition.setStatus({ _tag: "Starting", reason: end.reason })
  if (end._tag === "Restart") {
    // Commands wait for the next life; lane asks want an answer now.
    partition.core.failDrain(partition.notServing())
    partition.core.intake.failLanes(partition.notServing())
    // Requests of other processes were for this life: they may turn to another owner before the next one.
    if (partition.context.remote !== undefined) partition.core.intake.failWaiting(partition.notServing())
    yield* Effect.logWarning(`partition ${partition.id} restarts: ${end.reason}`)
    return false
  }
  partition.metrics.fence()
  // Answers without facts that waited for a proof of the ownership get none in this life.
  partition.core.failAll(new PartitionMoved({ partition: partition.id }))
  const count = fences.add(partition.now().monotonic)
  yield* Effect.logWarning(`partition ${partition.id} was fenced (${end.reason}), ${count} times in a minute`)
  if (count < maximumFences) return false
  if (partition.context.placement.isShared === true) {
    yield* rest(partition, count)
    return false
  }
  const isMended = yield* stop(
    partition,
    `it was fenced ${count} times within a minute: two processes own it. Find the second one before you restart this one`
  )
  return !isMended
})

/**
 * Handles a life that failed. Returns how many recoveries in a row were refused, or that the partition has stopped for
 * good.
 */
const afterFailure = Effect.fnUntraced(function* (partition: Partition, cause: Cause.Cause<unknown>, refusals: number) {
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
  const error = Cause.squash(cause)
  partition.setStatus({ _tag: "Starting", reason: describe(error) })
  partition.core.failAll(partition.notServing())
  const isRefusal = error instanceof RecoveryRefused
  if (error instanceof JournalRefused || (isRefusal && refusals + 1 >= refusalsUntilStop)) {
    return (yield* stop(partition, error.message)) ? 0 : ("stopped" as const)
  }
  if (!isRefusal) {
    yield* Effect.logWarning(`partition ${partition.id} could not go on and recovers`, cause)
    return 0
  }
  yield* partition.pause(refusalPauseMillis)
  return refusals + 1
})

/** One life: from recovery until `serve` ends. The fibers around the loop end with it. */
const life = (partition: Partition) =>
  Effect.scoped(
    Effect.gen(function* () {
      partition.setStatus({ _tag: "Starting", reason: "it is recovering" })
      yield* recover(partition)
      while (partition.core.isClockBehind(partition.now())) {
        const reason = clockBehind(partition.id, partition.core.head.now, partition.now().wall)
        partition.setStatus({ _tag: "ClockBehind", reason })
        partition.core.intake.failWaiting(partition.notServing())
        if (partition.isClosing) return { _tag: "Closed" } as LifeEnd
        if (yield* partition.pauseToMend(pollMillis))
          return { _tag: "Restart", reason: "an operator has accepted the clock" } as LifeEnd
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => partition.closeTasks()))
      const end = yield* claimAndReact(partition)
      if (end !== undefined) return end
      // Without a witness, a young log that lost its frames would look like a new one at the next start.
      if (partition.core.newestCheckpoint === undefined) partition.core.wantCheckpoint()
      yield* Effect.forkScoped(essential(partition, "reading", readCheckpoints(partition)))
      yield* Effect.forkScoped(essential(partition, "checkpointing", writeCheckpoints(partition)))
      yield* Effect.forkScoped(essential(partition, "signals", feedSignals(partition)))
      yield* Effect.forkScoped(essential(partition, "ingests", followIngests(partition)))
      yield* Effect.forkScoped(essential(partition, "parking signals", parkFailedSignals(partition)))
      yield* Effect.forkScoped(essential(partition, "maintenance", maintain(partition)))
      partition.setStatus({ _tag: "Serving" })
      const served = yield* serve(partition)
      if (served._tag === "Closed") {
        yield* finishReactors(partition)
        yield* checkpoint(partition)
      }
      return served
    })
  )

/** Gives the reactors that waited by their pace a moment to finish. */
const finishReactors = ({ heldBack, heldBackWakeup }: Partition): Effect.Effect<void> => {
  const done = Effect.suspend((): Effect.Effect<void> => {
    heldBackWakeup.clear()
    return heldBack.size === 0 ? Effect.void : Effect.andThen(heldBackWakeup.wait, done)
  })
  return Effect.ignore(Effect.timeoutOption(done, Duration.millis(reactorsCloseMillis)))
}

/** Forks a fiber that the partition cannot do without: when it dies, the partition restarts. */
const essential = (partition: Partition, what: string, effect: Effect.Effect<void, unknown>): Effect.Effect<void> =>
  Effect.catchCause(effect, (cause) =>
    Effect.sync(() => {
      if (!Cause.hasInterruptsOnly(cause)) partition.restart(`${what}: ${describe(Cause.squash(cause))}`)
    })
  )

/** The share by which timed checkpoints may come earlier, so that partitions started together do not write together. */
const checkpointJitter = 0.25

/** Asks for timed checkpoints and sweeps idle actors. */
const maintain = Effect.fnUntraced(function* (partition: Partition) {
  const { checkpointMillis, idleMillis } = partition.context.config
  let checkpointAt = partition.now().monotonic
  let sweepAt = checkpointAt + idleMillis
  while (true) {
    const early = checkpointJitter * (yield* Random.next)
    checkpointAt = partition.now().monotonic + checkpointMillis * (1 - early)
    while (partition.now().monotonic < checkpointAt) {
      const wake = Math.min(checkpointAt, sweepAt)
      yield* Effect.sleep(Duration.millis(Math.max(1, Math.ceil(wake - partition.now().monotonic))))
      const now = partition.now()
      if (now.monotonic < sweepAt) continue
      partition.core.sweep(idleMillis, now)
      partition.metrics.actorCount(partition.core.probe.counts.actors)
      sweepAt = now.monotonic + idleMillis
    }
    partition.core.wantCheckpoint()
    const now = partition.now().wall
    partition.metrics.checkpointAge(now - (partition.core.newestCheckpoint?.now ?? now))
  }
})

/**
 * Begins no life by a clock that is ahead of others: its frames would keep the partition away once the clock is set
 * right.
 */
const awaitClock = Effect.fnUntraced(function* (partition: Partition) {
  while (!partition.isClosing) {
    const reason = partition.context.clockGuard.problem()
    if (reason === undefined) return
    partition.setStatus({ _tag: "NotOwned", reason })
    partition.core.intake.failWaiting(partition.notServing())
    yield* partition.pause(pollMillis)
  }
})

const awaitOwnership = Effect.fnUntraced(function* (partition: Partition) {
  while (!partition.isClosing) {
    const owns = yield* ownsNow(partition)
    if (owns === true) return
    const reason = owns === false ? "another process owns it" : "whether it is owned here cannot be said now"
    partition.setStatus({ _tag: "NotOwned", reason })
    // Otherwise callers would wait for as long as the other process has the partition.
    partition.core.intake.failWaiting(partition.notServing())
    yield* partition.pause(pollMillis)
  }
})

/** Leaves the log to its other writer for a while: two owners that take it from each other would serve no caller. */
const rest = Effect.fnUntraced(function* (partition: Partition, count: number) {
  const reason = `it was fenced ${count} times within a minute, and rests for ${fencedRestMillis / 1000} s`
  partition.setStatus({ _tag: "NotOwned", reason })
  yield* Effect.logError(
    `partition ${partition.id}: ${reason}. Other nodes take it and give it up again: look whether one of them, or PostgreSQL, is too busy`
  )
  const until = partition.now().monotonic + fencedRestMillis
  while (!partition.isClosing && partition.now().monotonic < until) {
    partition.core.intake.failWaiting(partition.notServing())
    yield* partition.pause(pollMillis)
  }
})

/**
 * Stops the partition and answers callers with the reason. Returns whether an operator has mended it, so that it
 * continues.
 */
const stop = Effect.fnUntraced(function* (partition: Partition, reason: string) {
  partition.setStatus({ _tag: "Stopped", reason })
  partition.core.intake.failWaiting(partition.notServing())
  yield* Effect.logError(`partition ${partition.id} has stopped: ${reason}`)
  while (!partition.isClosing) {
    if (!(yield* partition.pauseToMend(pollMillis))) continue
    partition.setStatus({ _tag: "Starting", reason: "an operator has recovered it" })
    // The frames seen by this process may be among those given up.
    partition.forgetEnd()
    return true
  }
  return false
})

/** The pause between claims into a full log. */
const fullLogPauseMillis = 1_000

/** Makes the reactors and the outbox follow the log, until the life ends. */
const startReactors = (partition: Partition) =>
  Effect.andThen(
    Effect.forEach(partition.context.reactors, (reactor) => Effect.forkScoped(react(partition, reactor)), {
      discard: true
    }),
    Effect.forkScoped(sendMessages(partition))
  )

/**
 * Claims a recovered partition and starts its reactors; while the log is full, reactors and checkpoints make room
 * first. Returns why the life ends, if it does.
 */
export const claimAndReact = Effect.fnUntraced(function* (partition: Partition) {
  if (yield* claim(partition)) {
    yield* startReactors(partition)
    return undefined
  }
  const reason = "its log is full; it serves when reactors and checkpoints have made room, or when max_bytes is raised"
  partition.setStatus({ _tag: "Starting", reason })
  // Otherwise the callers of this life would wait for as long as the log is full.
  partition.core.intake.failWaiting(partition.notServing())
  yield* Effect.logWarning(`partition ${partition.id} does not serve: ${reason}`)
  yield* startReactors(partition)
  for (let attempt = 0; !partition.isClosing; attempt++) {
    // When two checkpoints and the cursors free too little, one checkpoint must be enough.
    yield* checkpoint(partition, attempt > 0)
    if (partition.restartWanted !== undefined) {
      return { _tag: "Restart", reason: partition.restartWanted } as LifeEnd
    }
    if (yield* claim(partition)) return undefined
    yield* partition.pause(fullLogPauseMillis)
    if ((yield* ownsNow(partition)) !== true) return { _tag: "Restart", reason } as LifeEnd
  }
  return { _tag: "Closed" } as LifeEnd
})
