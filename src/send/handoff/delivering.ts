/** One attempt at a transport: bounded in time, and known again where its success could not be recorded. */
import { Clock, Duration, Effect, Random } from "effect"
import type { Outcome, TakenJob } from "../../postgres/WorkQueue.ts"
import type { Envelope, HandoffAnswer, OutgoingMail, Transport } from "../transport/MailTransport.ts"
import { handoffLanes } from "./jobs.ts"
import { handoffDelaysMillis, handoffJitter } from "./limits.ts"
import type { HandoffParts } from "./parts.ts"

const accepted: HandoffAnswer = { _tag: "Accepted" }

/** Hands a mail over, unless this process has already done so. */
export const deliver = (
  { settings, unrecorded }: HandoffParts,
  transport: Transport,
  job: TakenJob,
  mail: OutgoingMail,
  envelope: Envelope
): Effect.Effect<HandoffAnswer> =>
  Effect.suspend(() => {
    if (unrecorded.get(job.id) === true) return Effect.succeed(accepted)
    return transport.deliver(mail, envelope).pipe(
      Effect.timeoutOrElse({
        duration: Duration.millis(settings.deliverTimeoutMillis),
        orElse: () =>
          Effect.succeed<HandoffAnswer>({
            _tag: "Temporary",
            code: "4.4.2",
            reason: `no answer within ${settings.deliverTimeoutMillis} ms`
          })
      }),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError(`handing over the mail ${mail.id} failed`, defect), {
          _tag: "Temporary",
          code: "4.3.0",
          reason: "the transport failed"
        } as const)
      ),
      Effect.tap(({ _tag }) =>
        Effect.sync(() => {
          if (_tag === "Accepted") unrecorded.set(job.id, true)
        })
      )
    )
  })

/** What becomes of a job after an answer. */
export const settledAs = (job: TakenJob, answer: HandoffAnswer): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const { attempt, id } = job
    const delay = handoffDelaysMillis[attempt - 1]
    if (answer._tag !== "Temporary" || delay === undefined) return { _tag: "Done", id, attempt }
    const now = yield* Clock.currentTimeMillis
    const part = 1 - handoffJitter * (yield* Random.next)
    const error = `${answer.code} ${answer.reason}`
    return { _tag: "Again", id, attempt, dueAt: now + Math.round(delay * part), lane: handoffLanes.again, error }
  })

/** A job that was not attempted: it waits a moment, in the same lane or another one. */
export const returned = ({ attempt, id }: TakenJob, dueAt: number, lane?: number): Outcome => ({
  _tag: "Returned",
  id,
  attempt,
  dueAt,
  lane
})
