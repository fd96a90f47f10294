/**
 * Runs the loop of a serving partition: asks the core for its next demand and carries it out (docs/architecture.md,
 * rules 2, 6, 7). Returns why it cannot continue.
 */
import { Duration, Effect, type Fiber, type Scope, type Tracer } from "effect"
import type { DraftedFrame } from "../../core/protocol.ts"
import { describe } from "../../describe.ts"
import { OutcomeUnknown, PartitionMoved, PartitionUnavailable } from "../../errors.ts"
import { identityOf } from "../../frame.ts"
import { retryAfterMillis } from "../../limits.ts"
import { type AppendOutcome, append } from "./append.ts"
import { clockBehind } from "./clockBehind.ts"
import type { Partition } from "./Partition.ts"

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

/** The reason why a life ends. */
export type LifeEnd =
  | { readonly _tag: "Closed" }
  | { readonly _tag: "Fenced"; readonly reason: string }
  | { readonly _tag: "Restart"; readonly reason: string }

/** How often the loop checks for a connection to the log. */
const logPollMillis = 100

/** How often the loop checks a clock that is behind. */
const clockPollMillis = 250

/** The longest sleep towards a timer, because the system's clock may be changed meanwhile. */
const maximumSleepMillis = 60_000

/** Serves until the partition is fenced, has to restart, or is closing and has nothing left to do. */
export const serve = Effect.fnUntraced(function* (partition: Partition): Effect.fn.Return<LifeEnd, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const alarm = new Alarm(() => partition.wakeup.notify())
  while (true) {
    partition.wakeup.clear()
    const ahead = partition.context.clockGuard.problem()
    if (ahead !== undefined) return { _tag: "Restart", reason: ahead }
    const demand = nextOf(partition)
    for (const warning of partition.brakeWarnings.take())
      yield* Effect.logWarning(`partition ${partition.id}: ${warning}`)
    let end: LifeEnd | undefined
    switch (demand._tag) {
      case "Wait":
        if (partition.isClosing && partition.core.intake.isDone) return { _tag: "Closed" }
        yield* waitForWork(partition, alarm, demand.millis, scope)
        break
      case "Yield":
        yield* Effect.yieldNow
        break
      case "Confirm":
        end = yield* confirm(partition)
        break
      case "Append":
        end = yield* appendFrame(partition, demand.frame)
        break
      case "ClockBehind":
        end = yield* waitForClock(partition, demand.millis)
        break
      case "Restart":
        end = demand
        break
    }
    if (end !== undefined) return end
    if (partition.restartWanted !== undefined) return { _tag: "Restart", reason: partition.restartWanted }
  }
})

/**
 * Asks the core for its next demand. A core with a failed assertion ends the life, and the next one starts from the
 * log.
 */
const nextOf = (partition: Partition) => {
  try {
    return partition.core.next(partition.turn())
  } catch (cause) {
    return { _tag: "Restart", reason: describe(cause) } as const
  }
}

const waitForWork = (partition: Partition, alarm: Alarm, millis: number, scope: Scope.Scope): Effect.Effect<void> => {
  if (millis === Number.POSITIVE_INFINITY) return partition.wakeup.wait
  const bounded = Math.min(Math.max(1, Math.ceil(millis)), maximumSleepMillis)
  const now = partition.context.clock.monotonicTimeNanosUnsafe()
  // An alarm that rings earlier only makes the loop check once more.
  if (alarm.ringsBy(now + BigInt(bounded) * 1_000_000n)) return partition.wakeup.wait
  return Effect.andThen(alarm.set(now, bounded, scope), partition.wakeup.wait)
}

/** Appends within a span of its own, which reactors that find the frame at this place link to. */
const tracedAppend = (
  { traces }: Partition,
  sequence: number,
  options: Tracer.SpanOptions,
  outcome: Effect.Effect<AppendOutcome>
) =>
  Effect.useSpan("sluice.drain", { ...options, root: true }, (span) => {
    traces.stored(sequence, span)
    return Effect.withParentSpan(outcome, span)
  })

/** Appends the core's frame. Returns why the life ends, if it does. */
const appendFrame = (partition: Partition, frame: DraftedFrame): Effect.Effect<LifeEnd | undefined> =>
  Effect.suspend(() => {
    const { id, metrics, context } = partition
    const { bytes, callers, decided, expectedLast, fence, header, records } = frame
    const begunAt = partition.now()
    metrics.drained(decided)
    metrics.mailbox(partition.core.probe.commands)
    const identity = identityOf(id, header.epoch, header.number)
    const outcome = append(partition.log!, { bytes, identity, expectedLast, fence }, partition.now)
    const attributes = { partition: id, commands: decided, records, bytes: bytes.length }
    const traced = context.isTraced
      ? tracedAppend(partition, expectedLast + 1, { attributes, links: partition.traces.linksTo(callers()) }, outcome)
      : outcome
    return Effect.flatMap(traced, (outcome) => {
      const now = partition.now()
      metrics.appended(outcome.branch, now.monotonic - begunAt.monotonic)
      if (outcome._tag !== "Stored") return notStored(partition, outcome)
      partition.followed(partition.core.appended(outcome.provenAt, now), bytes)
      if (outcome.provenAt !== undefined) return Effect.undefined
      partition.setStatus({ _tag: "Starting", reason: "it was fenced" })
      return Effect.succeed<LifeEnd>({ _tag: "Fenced", reason: "the log has gone on behind our frame" })
    })
  })

const notStored = (
  partition: Partition,
  outcome: Exclude<AppendOutcome, { readonly _tag: "Stored" }>
): Effect.Effect<LifeEnd | undefined> =>
  Effect.suspend(() => {
    const { core, id } = partition
    const now = partition.now()
    switch (outcome._tag) {
      case "Fenced": {
        // Before the callers are answered: a caller that asks again immediately must not find a partition that seems to
        // serve.
        partition.setStatus({ _tag: "Starting", reason: "it was fenced" })
        const moved = new PartitionMoved({ partition: id })
        core.failDrain(moved, outcome.certain ? moved : new OutcomeUnknown({ partition: id }))
        if (outcome.branch === "log-behind" && partition.witness === undefined) partition.sawEnd(core.head)
        return Effect.succeed<LifeEnd>({ _tag: "Fenced", reason: outcome.branch })
      }
      case "Unknown": {
        const reason = "its log does not answer"
        partition.setStatus({ _tag: "Starting", reason })
        core.failDrain(
          new PartitionUnavailable({ partition: id, reason, retryAfterMillis }),
          new OutcomeUnknown({ partition: id })
        )
        return Effect.succeed<LifeEnd>({
          _tag: "Restart",
          reason: "the outcome of an append was not known in time"
        })
      }
      case "Not sent": {
        partition.setStatus({ _tag: "Starting", reason: "there is no connection to its log" })
        core.notAppended({ _tag: "Not sent" }, partition.notServing(), now)
        return waitForLog(partition)
      }
      default: {
        const isFencedOff = outcome._tag === "Fenced off"
        const full = outcome.branch === "full"
        const reason = full ? "its log is full" : "its log refuses a frame as too large, see the server's limits"
        const error = isFencedOff
          ? new PartitionUnavailable({ partition: id, reason, retryAfterMillis })
          : new OutcomeUnknown({ partition: id })
        const fence = core.notAppended(isFencedOff ? outcome : { _tag: "Refused" }, error, now)
        if (fence !== undefined) partition.followed(fence)
        return Effect.undefined
      }
    }
  })

/**
 * Asks the leader whether the log ends with our head (docs/architecture.md, rule 6); the core gives the answers that
 * waited for it.
 */
const confirm = Effect.fnUntraced(function* (partition: Partition): Effect.fn.Return<LifeEnd | undefined> {
  const begunAt = partition.now()
  const state = yield* Effect.option(partition.log!.state)
  const log = state._tag === "Some" ? state.value : undefined
  if (log !== undefined) partition.metrics.fill(log.bytes, log.maximumBytes)
  if (partition.core.confirmed(log, begunAt, partition.now())) return undefined
  partition.setStatus({ _tag: "Starting", reason: "it was fenced" })
  const moved = new PartitionMoved({ partition: partition.id })
  partition.core.failDrain(moved, moved)
  return {
    _tag: "Fenced",
    reason: `the log stands at ${log?.lastSequence}, not at our ${partition.core.head.sequence}`
  }
})

/**
 * Stops serving while there is no connection to the log, and answers callers so immediately. Nothing of ours is under
 * way, so the memory stays valid if the log still ends with our head afterwards.
 */
const waitForLog = Effect.fnUntraced(function* (partition: Partition): Effect.fn.Return<LifeEnd | undefined> {
  partition.core.intake.failWaiting(partition.notServing())
  yield* Effect.logWarning(`partition ${partition.id} does not serve: there is no connection to its log`)
  while (true) {
    // Nothing can be stored any more, and the waiting callers were answered.
    if (partition.isClosing) return { _tag: "Closed" }
    if (partition.restartWanted !== undefined) return { _tag: "Restart", reason: partition.restartWanted }
    partition.wakeup.clear()
    yield* partition.pause(logPollMillis)
    const begunAt = partition.now()
    const end = yield* confirm(partition)
    if (end !== undefined) return end
    if (partition.core.wasSeenSince(begunAt)) break
  }
  partition.setStatus({ _tag: "Serving" })
  return undefined
})

/** Stops serving while the clock is behind (docs/architecture.md, rule 7), and answers callers so. */
const waitForClock = Effect.fnUntraced(function* (partition: Partition, behindMillis: number) {
  const { wall } = partition.now()
  const reason = clockBehind(partition.id, wall + behindMillis, wall)
  partition.setStatus({ _tag: "ClockBehind", reason })
  const error = partition.notServing()
  partition.core.failDrain(error)
  partition.core.intake.failWaiting(error)
  yield* Effect.logWarning(`partition ${partition.id} does not serve: ${reason}`)
  while (partition.core.isClockBehind(partition.now())) {
    // Nothing can be decided any more, and the waiting callers were answered.
    if (partition.isClosing) return { _tag: "Closed" } as LifeEnd
    yield* partition.pause(clockPollMillis)
  }
  partition.setStatus({ _tag: "Serving" })
  return undefined
})
