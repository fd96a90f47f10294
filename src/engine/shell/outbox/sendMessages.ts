/**
 * Sends a partition's messages to the organizations that receive them (docs/outbox.md). Each receiver has a lane: a
 * batch of its messages is delivered, and the next one when all of it is done. A temporary failure is retried and
 * delays only its receiver; a final one parks the message. The outbox's cursor is before the first message that is
 * neither done nor parked.
 */
import { Cause, Deferred, Duration, Effect, Exit, Option, type Scope, Semaphore } from "effect"
import {
  firstMessageRetryMillis,
  lastMessageRetryMillis,
  maximumParkedMessages,
  maximumParkedNames,
  maximumSentReceivers,
  messageHoldMillis,
  outboxCursorMillis,
  parkedMessageRetryMillis,
  transactionDeadlineMillis
} from "../../limits.ts"
import { outboxName } from "../../outbox.ts"
import type { LogPosition } from "../../ports/Checkpoints.ts"
import { CursorMoved, CursorsUnavailable, type ReactorTransaction } from "../../ports/Cursors.ts"
import { Wakeup } from "../../Wakeup.ts"
import { deadline } from "../deadline.ts"
import type { Courier, Partition } from "../partition/Partition.ts"
import { lookup, showParked } from "../reactors/parkRecords.ts"
import { deliver } from "../remote/deliverMessages.ts"
import { deliverParked, failedWith, isForNow, isWaiting, parkedOf, settled, waitingText } from "./deliverParked.ts"
import type { OutboxLane, WaitingMessage } from "./Outbox.ts"
import { outboxStart, readMessages } from "./readMessages.ts"

/** The pause before sending starts again, doubled from the first to the last. */
const firstPauseMillis = 50
const lastPauseMillis = 5_000

/** Sends for as long as the life lasts. Never fails: errors are logged, and sending starts again at the cursor. */
export const sendMessages = Effect.fnUntraced(function* (partition: Partition) {
  let pauseMillis = firstPauseMillis
  for (let run = 0; ; run++) {
    const begunAt = partition.now().monotonic
    const exit = yield* Effect.exit(Effect.scoped(new Sender(partition).run(run > 0)))
    partition.sendBy(undefined)
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
      yield* Effect.logWarning(`the outbox of partition ${partition.id} starts over`, exit.cause)
    }
    if (partition.now().monotonic - begunAt > lastPauseMillis) pauseMillis = firstPauseMillis
    yield* Effect.sleep(Duration.millis(pauseMillis))
    pauseMillis = Math.min(pauseMillis * 2, lastPauseMillis)
  }
})

class Sender implements Courier {
  private readonly partition: Partition
  /** The cursor's place; `attempted` is the target of a move without an answer. */
  private durable: LogPosition = { sequence: 0, hash: "" }
  private attempted: LogPosition | undefined = undefined
  /** One transaction at a time moves the cursor. */
  private readonly cursorTurn = Semaphore.makeUnsafe(1)
  private readonly receiverTurns = Semaphore.makeUnsafe(maximumSentReceivers)
  /** Receivers that may have parked messages; a transaction checks it. */
  private readonly parked = new Set<string>()
  /** Whether there are too many to remember, so that any receiver may have some. */
  private isAnyParked = false
  /** Of these, receivers whose parked messages may only be waiting for them. */
  private readonly waiting = new Set<string>()
  private readonly waitingWakeup = new Wakeup()
  /** Ends the run: the cursor is not at the expected place, or a fiber has died. */
  private readonly over = Deferred.makeUnsafe<never, unknown>()

  constructor(partition: Partition) {
    this.partition = partition
  }

  /** Sends until the cursor is wrong. `isAnew`: the messages in memory do not count, the cursor is read again. */
  readonly run = Effect.fnUntraced(function* (this: Sender, isAnew: boolean) {
    const { partition } = this
    const { outbox, context } = partition
    if (isAnew)
      outbox.begin(yield* outboxStart(partition, yield* lookup(context.cursors.read(partition.id, outboxName))))
    this.durable = outbox.cursor
    // After the cursor is read: messages that it has passed are done, or parked by now.
    const page = { limit: maximumParkedNames + 1 }
    const found = yield* lookup(context.cursors.parkedOrganizations(partition.id, outboxName, page))
    for (const { organization } of found) {
      this.suspect(organization)
      this.waiting.add(organization)
    }
    yield* showParked(partition, outboxName)
    partition.sendBy(this)
    yield* this.fork(this.moveCursor)
    yield* this.fork(this.retryWaiting)
    return yield* Effect.raceFirst(this.follow, Deferred.await(this.over))
  })

  /** Forks a fiber that ends with the run, and ends the run when it dies. */
  private fork(effect: Effect.Effect<void, unknown>): Effect.Effect<void, never, Scope.Scope> {
    const watched = Effect.catchCause(effect, (cause) =>
      Effect.sync(() => {
        if (!Cause.hasInterruptsOnly(cause)) Deferred.doneUnsafe(this.over, Exit.failCause(cause))
      })
    )
    return Effect.asVoid(Effect.forkScoped(watched))
  }

  /** Gives each lane with messages a fiber, and reads frames from the log that were not taken in from memory. */
  private readonly follow = Effect.suspend(() => this.followNow())
  private readonly followNow = Effect.fnUntraced(function* (this: Sender) {
    const { core, metrics, outbox } = this.partition
    while (true) {
      for (const lane of outbox.takeResting()) yield* this.fork(this.send(lane))
      metrics.outbox(outbox.count, outbox.oldest, this.partition.now().wall)
      if (outbox.readThrough.sequence < core.head.sequence && outbox.isRoomy) yield* readMessages(this.partition)
      else yield* outbox.work.wait
    }
  })

  /** Sends the messages of a lane, in order. */
  private readonly send = Effect.fnUntraced(function* (this: Sender, lane: OutboxLane) {
    const { outbox } = this.partition
    let pauseMillis = firstMessageRetryMillis
    let failingSince: number | undefined
    while (lane.queue.length > 0) {
      if ((this.isAnyParked || this.parked.has(lane.receiver)) && (yield* this.parkBehind(lane))) continue
      const { done, error } = yield* this.sendBatch(lane)
      if (done > 0) {
        pauseMillis = firstMessageRetryMillis
        failingSince = undefined
      }
      if (error === undefined) continue
      const now = this.partition.now().monotonic
      failingSince ??= now
      const isHeld = now - failingSince >= messageHoldMillis || !outbox.hasRoom || this.partition.wantsPositions
      if (!isForNow(error)) yield* this.park(lane, failedWith(error))
      else if (isHeld) {
        const text = waitingText(error)
        yield* this.park(lane, { first: text, others: text })
        this.look(lane.receiver)
      } else {
        yield* Effect.sleep(Duration.millis(pauseMillis))
        pauseMillis = Math.min(pauseMillis * 2, lastMessageRetryMillis)
      }
    }
    outbox.rest(lane)
  })

  private readonly sendBatch = Effect.fnUntraced(function* (this: Sender, lane: OutboxLane) {
    const { id, metrics, outbox, context } = this.partition
    const batch = lane.batch()
    const delivered = yield* this.receiverTurns.withPermit(deliver(context, id, lane.receiver, batch))
    const result = settled(delivered)
    metrics.messages(batch, delivered.slice(0, result.done))
    outbox.done(lane, result.done)
    metrics.outbox(outbox.count, outbox.oldest, this.partition.now().wall)
    return result
  })

  look(receiver: string): void {
    this.waiting.add(receiver)
    this.waitingWakeup.notify()
  }

  private suspect(receiver: string): void {
    if (this.parked.size < maximumParkedNames) this.parked.add(receiver)
    else this.isAnyParked = true
  }

  /**
   * Parks the first messages of a lane. A store that is away is tried again, since later messages must not be sent
   * first.
   */
  private readonly park = Effect.fnUntraced(function* (
    this: Sender,
    lane: OutboxLane,
    errors: { readonly first: string; readonly others: string }
  ) {
    const { cursors } = this.partition.context
    const messages = lane.queue.slice(0, maximumParkedMessages)
    this.suspect(lane.receiver)
    const parked = yield* this.transact(cursors.park(parkedOf(this.partition, messages, errors)))
    if (Option.isNone(parked)) return yield* Effect.sleep(Duration.millis(lastPauseMillis))
    yield* this.parkedNow(lane, messages)
    const [, sequence, index] = messages[0]!.origin
    yield* Effect.logError(
      `the outbox parks messages to ${lane.receiver} from frame ${sequence}, record ${index} on: ${errors.first}`
    )
  })

  /**
   * Parks the first messages of a lane behind others that are parked already; returns false if none is parked any more.
   */
  private readonly parkBehind = Effect.fnUntraced(function* (this: Sender, lane: OutboxLane) {
    const { id, context } = this.partition
    const { cursors } = context
    const messages = lane.queue.slice(0, maximumParkedMessages)
    const still = yield* this.transact(
      Effect.flatMap(cursors.parkedAmong(id, outboxName, [lane.receiver]), (among) =>
        among.size === 0 ? Effect.succeed(false) : Effect.as(cursors.park(parkedOf(this.partition, messages)), true)
      )
    )
    if (Option.isNone(still)) {
      yield* Effect.sleep(Duration.millis(lastPauseMillis))
      return true
    }
    if (still.value) {
      yield* this.parkedNow(lane, messages)
      // Messages read again after a restart may be done already and yet precede the one that failed.
      this.look(lane.receiver)
    } else this.parked.delete(lane.receiver)
    return still.value
  })

  private readonly parkedNow = Effect.fnUntraced(function* (
    this: Sender,
    lane: OutboxLane,
    messages: ReadonlyArray<WaitingMessage>
  ) {
    this.partition.outbox.done(lane, messages.length)
    this.partition.metrics.parked(outboxName, messages.length)
    yield* showParked(this.partition, outboxName)
  })

  /** Delivers parked messages that only wait for their receivers. */
  private readonly retryWaiting = Effect.suspend(() => this.retryNow())
  private readonly retryNow = Effect.fnUntraced(function* (this: Sender) {
    const { id, context } = this.partition
    while (true) {
      while (this.waiting.size === 0) yield* this.waitingWakeup.wait
      yield* Effect.sleep(Duration.millis(parkedMessageRetryMillis))
      for (const receiver of [...this.waiting]) {
        const first = yield* Effect.option(lookup(context.cursors.parked(id, outboxName, receiver, 1)))
        if (Option.isNone(first)) break
        const [record] = first.value
        if (record === undefined || !isWaiting(record)) {
          this.waiting.delete(receiver)
          continue
        }
        const exit = yield* Effect.exit(
          deliverParked(this.partition, receiver, Number.POSITIVE_INFINITY, () => Effect.void)
        )
        // It fails for good: an operator has to look.
        if (Exit.isSuccess(exit) && exit.value.error !== undefined && !isForNow(exit.value.error))
          this.waiting.delete(receiver)
      }
    }
  })

  /**
   * Moves the cursor over finished messages, so that a restart does not send them again. It moves late: one transaction
   * covers many.
   */
  private readonly moveCursor = Effect.suspend(() => this.moveNow())
  private readonly moveNow = Effect.fnUntraced(function* (this: Sender) {
    const { metrics, outbox } = this.partition
    while (true) {
      yield* outbox.progress.wait
      yield* Effect.sleep(Duration.millis(outboxCursorMillis))
      yield* this.save
      metrics.outbox(outbox.count, outbox.oldest, this.partition.now().wall)
    }
  })

  /** Moves the cursor to the last safe place. If that fails now, it is moved later. */
  readonly save = Effect.suspend(() =>
    this.partition.outbox.doneThrough.sequence > this.durable.sequence
      ? Effect.asVoid(this.transact(Effect.void))
      : Effect.void
  )

  /**
   * Runs effects and the cursor's move over the finished messages in one transaction; does nothing if the store does
   * not answer.
   */
  private readonly transact = <A>(effects: Effect.Effect<A, CursorsUnavailable, ReactorTransaction>) =>
    this.cursorTurn.withPermit(this.transactNow(effects))

  private readonly transactNow = Effect.fnUntraced(function* <A>(
    this: Sender,
    effects: Effect.Effect<A, CursorsUnavailable, ReactorTransaction>
  ): Effect.fn.Return<Option.Option<A>> {
    const { id, metrics, outbox, context } = this.partition
    const late = () => new CursorsUnavailable({ message: "a transaction of the outbox took too long" })
    const moved = Effect.gen({ self: this }, function* () {
      if (this.attempted !== undefined) yield* this.findCursor(this.attempted)
      const to = outbox.doneThrough
      this.attempted = to
      const move = { partition: id, reactor: outboxName, from: this.durable, to }
      const done = yield* deadline(context.cursors.transact(move, effects), transactionDeadlineMillis, late)
      this.durable = to
      this.attempted = undefined
      metrics.cursorLag(outboxName, this.partition.core.head.sequence - to.sequence)
      return done
    })
    const exit = yield* Effect.exit(moved)
    if (Exit.isSuccess(exit)) return Option.some(exit.value)
    if (Cause.hasInterrupts(exit.cause)) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
    const error = Cause.squash(exit.cause)
    if (error instanceof CursorMoved) {
      Deferred.doneUnsafe(this.over, Exit.fail(error))
      return Option.none()
    }
    yield* Effect.logWarning(`the cursor of the outbox of partition ${id} was not moved`, exit.cause)
    return Option.none()
  })

  /** Finds the cursor after a move whose answer was lost: at its old place, or at the new one. */
  private readonly findCursor = Effect.fnUntraced(function* (this: Sender, attempted: LogPosition) {
    const { id, context } = this.partition
    const found = yield* lookup(context.cursors.read(id, outboxName))
    const isAt = (place: LogPosition) => place.sequence === found.sequence && place.hash === found.hash
    if (!isAt(this.durable) && !isAt(attempted))
      return yield* new CursorMoved({ partition: id, reactor: outboxName, expected: this.durable, found })
    if (isAt(attempted)) this.durable = attempted
    this.attempted = undefined
  })
}
