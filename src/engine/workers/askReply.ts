/**
 * Asks the reply of a job under an idempotency key of its own, until the answer is known or the patience ends
 * (docs/workers.md): so a reply that is asked again after a crash counts once.
 */
import { Cause, Clock, Duration, Effect, Exit, Schema } from "effect"
import { Pauses } from "../../common/backoff.ts"
import { describe } from "../describe.ts"
import { isRetryable, OnceError, PartitionStopped, Quarantined } from "../errors.ts"
import {
  firstReplyPauseMillis,
  type HeldJob,
  lastReplyPauseMillis,
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

export const askReply = Effect.fnUntraced(function* (
  { engine, worker }: WorkerContext,
  { id, organization }: HeldJob,
  round: number,
  { command, key }: NonNullable<StoredAnswer["reply"]>
): Effect.fn.Return<ReplyAnswer> {
  const { actor, windowMillis } = worker.reply ?? {}
  if (actor === undefined) return { isFinal: true, reason: "the worker has no reply any more" }
  const once = { key: onceKeyOf(id, round), digest: worker.name, windowMillis: windowMillis! }
  const pauses = new Pauses(firstReplyPauseMillis, lastReplyPauseMillis)
  const begun = yield* Clock.currentTimeMillis
  while (true) {
    const exit = yield* Effect.exit(
      Effect.suspend(() => engine.askOnce(actor, { organization, key }, actor.decodeCommand(command), once))
    )
    if (Exit.isSuccess(exit)) return "accepted"
    const error: unknown = Cause.squash(exit.cause)
    if (Cause.hasInterrupts(exit.cause)) return yield* Effect.interrupt
    if (!Cause.hasDies(exit.cause) && !isOnceError(error)) return "rejected"
    const reason = describe(error)
    if (isLasting(error)) return { isFinal: false, reason }
    if (!isRetryable(error, { isIdempotent: true })) return { isFinal: true, reason }
    if ((yield* Clock.currentTimeMillis) - begun >= replyPatienceMillis) return { isFinal: false, reason }
    yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
  }
})
