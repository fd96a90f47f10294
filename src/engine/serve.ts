/**
 * The loop of a serving partition: decide a drain, append its frame, then let the state advance and the replies go (architecture, rules 2, 5,
 * 6, 7). Ends with why it cannot go on.
 */
import { Effect, type Scope } from "effect"
import { Alarm } from "./Alarm.ts"
import { type AppendOutcome, append } from "./append.ts"
import { OutcomeUnknown, PartitionMoved, Unavailable } from "./errors.ts"
import { headAfter, identityOf } from "./frame.ts"
import { loadTimerPage } from "./loading.ts"
import type { Partition } from "./Partition.ts"

/** Why a life ends. */
export type LifeEnd =
  | { readonly _tag: "Closed" }
  | { readonly _tag: "Fenced"; readonly reason: string }
  | { readonly _tag: "Restart"; readonly reason: string }

/** Pause after the log took no frame, before timers and signals are tried again. */
const heldNanos = 1_000_000_000n

/** How long a failed renewal of the confirmation waits for its next try. */
const renewPauseNanos = 500_000_000n

const retryAfterMillis = 1_000

/** How often a log without a connection is looked at. */
const logPollMillis = 100

/** How often a clock that is behind is looked at. */
const clockPollMillis = 250

/** Serves until the partition is fenced, has to restart, or is closing and has nothing left to do. */
export const serve = Effect.fnUntraced(function* (partition: Partition): Effect.fn.Return<LifeEnd, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const alarm = new Alarm(() => partition.wakeup.notify())
  while (true) {
    switch (partition.step()) {
      case "idle": {
        if (partition.closing && partition.mailbox.size === 0) return { _tag: "Closed" }
        yield* waitForWork(partition, alarm, scope)
        break
      }
      case "yield":
        yield* Effect.yieldNow
        break
      case "page":
        yield* loadTimerPage(partition)
        break
      case "confirm": {
        const end = yield* confirm(partition)
        if (end !== undefined) return end
        break
      }
      case "append": {
        const appended = yield* appendFrame(partition)
        const end = appended === "away" ? yield* waitForLog(partition) : appended
        if (end !== undefined) return end
        break
      }
      case "clock":
        yield* waitForClock(partition)
        // nothing can be decided any more: who waited was told
        if (partition.closing && partition.currentTime() === undefined) return { _tag: "Closed" }
        break
      case "restart":
        return { _tag: "Restart", reason: partition.restartReason }
    }
    if (partition.restartWanted !== undefined) return { _tag: "Restart", reason: partition.restartWanted }
  }
})

const waitForWork = (partition: Partition, alarm: Alarm, scope: Scope.Scope): Effect.Effect<void> => {
  const now = partition.nanos()
  const heldFor = Number(partition.heldUntil - now) / 1e6
  const untilTimer = partition.nextWakeAt() - partition.parts.clock.currentTimeMillisUnsafe()
  const millis = heldFor > 0 ? Math.max(heldFor, untilTimer) : untilTimer
  if (millis === Number.POSITIVE_INFINITY && heldFor <= 0) return partition.wakeup.wait
  const bounded = Math.min(Math.max(1, Math.ceil(heldFor > 0 ? heldFor : millis)), maximumSleepMillis)
  // one that rings earlier only lets the loop look once more
  if (alarm.ringsBy(now + BigInt(bounded) * 1_000_000n)) return partition.wakeup.wait
  return Effect.andThen(alarm.set(now, bounded, scope), partition.wakeup.wait)
}

/** The longest sleep towards a timer: the system's clock may be set meanwhile. */
const maximumSleepMillis = 60_000

/** Appends what the drain built. Answers why the life ends, if it does, or that the log is away. */
const appendFrame = (partition: Partition): Effect.Effect<LifeEnd | "away" | undefined> =>
  Effect.suspend(() => {
    const { drain, head, parts } = partition
    const log = partition.log!
    const header = {
      epoch: head.epoch,
      number: head.number + 1,
      now: drain.draft.now,
      previousHash: head.hash,
      signalSequence: drain.signalSequence
    }
    const bytes = drain.draft.builder.encode(header)
    const identity = identityOf(partition.id, header.epoch, header.number)
    const startedAt = partition.nanos()
    // these rest on nothing of this frame; stale ones wait for it, because it confirms the ownership
    if (partition.isFresh(startedAt)) partition.answerImmediate()
    if (parts.sabotage.has("checkpoint-between-frames")) partition.takeSnapshot(true)
    if (parts.sabotage.has("reply-before-ack")) partition.answerWaiting()
    const outcome = append(log, { bytes, identity, expectedLast: head.sequence }, parts.sabotage)
    const traced = parts.isTraced
      ? Effect.withSpan(outcome, "sluice.drain", {
          attributes: {
            partition: partition.id,
            commands: drain.decidedCount,
            records: drain.draft.builder.count,
            bytes: bytes.length
          }
        })
      : outcome
    return Effect.map(traced, (outcome) => {
      partition.metrics.appended(outcome.branch, Number(partition.nanos() - startedAt) / 1e6)
      if (outcome._tag === "Committed") {
        partition.head = headAfter(head.sequence + 1, bytes, header)
        const { hash, sequence } = partition.head
        partition.witness = { sequence, hash }
        partition.confirmedAt = outcome.confirmedAtNanos
        drain.draft.commit(sequence, partition.memory, partition.timers)
        if (parts.reactors.length > 0) {
          partition.feed.push({
            sequence,
            hash,
            number: header.number,
            epoch: header.epoch,
            now: header.now,
            bytes: bytes.length,
            records: drain.draft.records
          })
        }
        partition.noteFrame(bytes.length)
        const at = partition.nanos()
        partition.answerWaiting()
        if (drain.immediate.length > 0 && partition.isFresh(at)) partition.answerImmediate()
        partition.lanes.retry()
        return undefined
      }
      return notCommitted(partition, outcome)
    })
  })

const notCommitted = (
  partition: Partition,
  outcome: Exclude<AppendOutcome, { readonly _tag: "Committed" }>
): LifeEnd | "away" | undefined => {
  const { drain, id } = partition
  switch (outcome._tag) {
    case "Fenced": {
      // before the callers hear of it: who asks again at once must not find a partition that seems to serve
      partition.setStatus({ _tag: "Starting", reason: "it was fenced" })
      const error = outcome.certain ? new PartitionMoved({ partition: id }) : new OutcomeUnknown({ partition: id })
      drain.abandon(error)
      partition.failImmediate(new PartitionMoved({ partition: id }))
      if (outcome.branch === "log-behind") partition.witness ??= partition.head
      return { _tag: "Fenced", reason: outcome.branch }
    }
    case "Unknown": {
      partition.setStatus({ _tag: "Starting", reason: "its log does not answer" })
      drain.abandon(new OutcomeUnknown({ partition: id }))
      partition.failImmediate(new Unavailable({ partition: id, reason: "its log does not answer", retryAfterMillis }))
      return { _tag: "Restart", reason: "the outcome of an append was not known in time" }
    }
    case "Away": {
      partition.setStatus({ _tag: "Starting", reason: "there is no connection to its log" })
      const error = partition.notServing()
      drain.abandon(error)
      if (partition.isFresh(partition.nanos())) partition.answerImmediate()
      else partition.failImmediate(error)
      return "away"
    }
    default: {
      const reason =
        outcome._tag === "Full" ? "its log is full" : "its log refuses a frame as too large, see the server's limits"
      const error = new Unavailable({ partition: id, reason, retryAfterMillis })
      drain.abandon(error)
      partition.heldUntil = partition.nanos() + heldNanos
      // facts cannot be stored, but what needs none is still answered from the durable state
      if (partition.isFresh(partition.nanos())) partition.answerImmediate()
      else partition.failImmediate(error)
      partition.checkpointDue = true
      return undefined
    }
  }
}

/** Asks the leader whether the head is still ours (rule 6), then gives the answers that waited for it. */
const confirm = Effect.fnUntraced(function* (partition: Partition): Effect.fn.Return<LifeEnd | undefined> {
  const startedAt = partition.nanos()
  const state = yield* Effect.option(partition.log!.state)
  if (state._tag === "Some") {
    if (state.value.lastSequence !== partition.head.sequence) {
      partition.setStatus({ _tag: "Starting", reason: "it was fenced" })
      partition.failImmediate(new PartitionMoved({ partition: partition.id }))
      return {
        _tag: "Fenced",
        reason: `the log stands at ${state.value.lastSequence}, not at our ${partition.head.sequence}`
      }
    }
    partition.confirmedAt = startedAt
    partition.metrics.fill(state.value.bytes, state.value.maximumBytes)
  } else {
    partition.renewNotBefore = partition.nanos() + renewPauseNanos
  }
  if (partition.isFresh(partition.nanos())) {
    partition.answerImmediate()
    partition.lanes.retry()
    return undefined
  }
  const error = new Unavailable({ partition: partition.id, reason: "its log does not answer", retryAfterMillis })
  partition.failImmediate(error)
  partition.lanes.failWaiting(error)
  return undefined
})

/**
 * Does not serve while there is no connection to the log; who asks meanwhile is told at once. Nothing of ours is under way, so what is in memory
 * goes on to be good where the log still ends with our head.
 */
const waitForLog = Effect.fnUntraced(function* (partition: Partition): Effect.fn.Return<LifeEnd | undefined> {
  partition.failWaiting(partition.notServing())
  yield* Effect.logWarning(`partition ${partition.id} does not serve: there is no connection to its log`)
  const { confirmedAt } = partition
  while (partition.confirmedAt === confirmedAt) {
    // nothing can be stored any more: who waited was told
    if (partition.closing) return { _tag: "Closed" }
    if (partition.restartWanted !== undefined) return { _tag: "Restart", reason: partition.restartWanted }
    partition.wakeup.clear()
    yield* partition.pause(logPollMillis)
    const end = yield* confirm(partition)
    if (end !== undefined) return end
  }
  partition.setStatus({ _tag: "Serving" })
  partition.lanes.retry()
  return undefined
})

/** Does not serve while the clock is behind (rule 7); who asks meanwhile is told. */
const waitForClock = Effect.fnUntraced(function* (partition: Partition) {
  const behind = partition.head.now - partition.parts.clock.currentTimeMillisUnsafe()
  const reason = `the clock is ${Math.ceil(behind / 1000)} s behind the last frame; set it right, or accept it with \`sluice recover --partition ${partition.id} --accept-clock\``
  partition.setStatus({ _tag: "ClockBehind", reason })
  partition.failWaiting(partition.notServing())
  partition.failImmediate(partition.notServing())
  yield* Effect.logWarning(`partition ${partition.id} does not serve: ${reason}`)
  while (partition.currentTime() === undefined && !partition.closing) {
    yield* partition.pause(clockPollMillis)
  }
  if (!partition.closing) partition.setStatus({ _tag: "Serving" })
})
