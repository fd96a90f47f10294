/**
 * Asks the reply of a job under an idempotency key of its own, until the answer is known or the patience ends
 * (docs/workers.md): so a reply that is asked again after a crash counts once.
 */
import { Cause, Clock, Duration, Effect, Exit, Schema } from "effect"
import { Pauses } from "../../common/backoff.ts"
import { describe } from "../describe.ts"
import { isRetryable, OnceError, PartitionStopped, Quarantined } from "../errors.ts"
import { placeOfJob } from "./jobsReactor.ts"
import {
  firstReplyPauseMillis,
  type HeldJob,
  lastReplyPauseMillis,
  replyDoubtMillis,
  replyPatienceMillis,
  type WorkerContext
} from "./WorkerContext.ts"
import type { StoredAnswer } from "./workerTypes.ts"

/** The answer to a reply, or why there is none. A rejection by the actor's rule is an answer. */
export type ReplyAnswer = "accepted" | "rejected" | { readonly isFinal: boolean; readonly reason: string }

const isOnceError = Schema.is(OnceError)

/** Whether an operator has to repair the place of the actor: the reply can be asked after that. */
const isLasting = Schema.is(Schema.Union([PartitionStopped, Quarantined]))

/** The idempotency key of a reply; the prefix keeps it apart from those of the program. */
const onceKeyOf = (id: string, round: number): string => `sluice.worker ${id} ${round}`

/** A wall clock that is set forward would end a doubt too early. */
const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/**
 * Whether the owner of a job's partition in this process has read the job's record. An owner that was replaced before
 * the record was stored decides against an older state for some seconds: it would reject the end of an order that it
 * has not seen placed, and the order would be open for ever. Nothing else that it decides is stored.
 */
const knowsRecord = ({ readThrough }: WorkerContext, id: string): boolean => {
  const place = placeOfJob(id)
  return place !== undefined && (readThrough(place.partition) ?? -1) >= place.sequence
}

export const askReply = Effect.fnUntraced(function* (
  context: WorkerContext,
  { id, leasedUntil, organization }: HeldJob,
  round: number,
  { command, key }: NonNullable<StoredAnswer["reply"]>
): Effect.fn.Return<ReplyAnswer> {
  const { engine, worker } = context
  const { actor, windowMillis } = worker.reply ?? {}
  if (actor === undefined) return { isFinal: true, reason: "the worker has no reply any more" }
  const once = { key: onceKeyOf(id, round), digest: worker.name, windowMillis: windowMillis! }
  const pauses = new Pauses(firstReplyPauseMillis, lastReplyPauseMillis)
  const begun = yield* monotonicMillis
  while (true) {
    // A suspended process that wakes after its lease must not ask: the next attempt has asked long ago, and the actor
    // may have forgotten the key.
    if ((yield* Clock.currentTimeMillis) >= leasedUntil) return { isFinal: false, reason: "its lease has ended" }
    const hasRead = knowsRecord(context, id)
    const asked = yield* monotonicMillis
    const exit = yield* Effect.exit(
      Effect.suspend(() => engine.askOnce(actor, { organization, key }, actor.decodeCommand(command), once))
    )
    if (Exit.isSuccess(exit)) return "accepted"
    const error: unknown = Cause.squash(exit.cause)
    if (Cause.hasInterrupts(exit.cause)) return yield* Effect.interrupt
    const isRejected = !Cause.hasDies(exit.cause) && !isOnceError(error)
    if (isRejected && ((hasRead && knowsRecord(context, id)) || asked - begun >= replyDoubtMillis)) return "rejected"
    const reason = describe(error)
    if (isLasting(error)) return { isFinal: false, reason }
    if (!isRejected && !isRetryable(error, { isIdempotent: true })) return { isFinal: true, reason }
    if ((yield* monotonicMillis) - begun >= replyPatienceMillis) return { isFinal: false, reason }
    yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
  }
})
