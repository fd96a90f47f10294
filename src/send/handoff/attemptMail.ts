/** Makes one attempt at a transport: bounded in time, and recognized again if its success could not be recorded. */
import { Clock, Duration, Effect, Random } from "effect"
import type { JobOutcome, TakenJob } from "../../postgres/WorkQueue.ts"
import type { HandoffContext } from "./HandoffContext.ts"
import { handoffLanes } from "./jobs.ts"
import { accountWaitMillis, handoffDelaysMillis, handoffJitter } from "./limits.ts"
import type { Envelope, HandoffAnswer, OutgoingMail, PartAnswer, Transport } from "./MailTransport.ts"

/** Hands a mail over, unless this process has already done so. */
export const deliver = (
  { settings, unrecorded }: HandoffContext,
  transport: Transport,
  job: TakenJob,
  mail: OutgoingMail,
  envelope: Envelope
): Effect.Effect<HandoffAnswer> =>
  Effect.suspend(() => {
    const before = unrecorded.get(job.id)
    if (before !== undefined) return Effect.succeed(before)
    return transport.deliver(mail, envelope).pipe(
      Effect.timeoutOrElse({
        duration: Duration.millis(settings.deliverTimeoutMillis),
        // Nobody can say how far it has come.
        orElse: () =>
          Effect.succeed<HandoffAnswer>({
            _tag: "Unknown",
            reason: `No answer within ${settings.deliverTimeoutMillis} ms`
          })
      }),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError(`handing over the mail ${mail.id} failed`, defect), {
          _tag: "Temporary",
          code: "4.3.0",
          reason: "The transport failed"
        } as const)
      ),
      Effect.tap((answer) =>
        Effect.sync(() => {
          if (answer._tag === "Accepted" || answer._tag === "Parted") unrecorded.set(job.id, answer)
        })
      )
    )
  })

/** Whether it may be tried again. */
export const isOpen = ({ _tag }: PartAnswer): boolean =>
  _tag === "Temporary" || _tag === "Unknown" || _tag === "Account" || _tag === "Waits"

/** The words of an answer for the job's row. */
const errorOf = (answer: PartAnswer): string =>
  answer._tag === "Temporary"
    ? `${answer.code} ${answer.reason}`
    : answer._tag === "Unknown"
      ? `unknown outcome: ${answer.reason}`
      : answer._tag

/** The fate of a job after answers that leave something to do, or leave nothing. */
export const settledAs: (
  job: TakenJob,
  answers: ReadonlyArray<PartAnswer>,
  more: {
    readonly waitMillis: number
    /** How often the relay has refused the account before. */
    readonly refusals?: number | undefined
    readonly payload?: string | undefined
  }
) => Effect.Effect<JobOutcome> = Effect.fnUntraced(function* (job, answers, more) {
  const { attempt, id } = job
  const { payload, refusals = 0, waitMillis } = more
  const now = yield* Clock.currentTimeMillis
  const tried = answers.find(({ _tag }) => _tag === "Temporary" || _tag === "Unknown")
  if (tried === undefined) {
    // A mail that was not attempted, or refused for the account's sake, uses up none of its attempts.
    if (answers.some(({ _tag }) => _tag === "Account"))
      return {
        _tag: "Returned",
        id,
        attempt,
        dueAt: now + accountWaitMillis(refusals),
        lane: handoffLanes.again,
        payload
      }
    const waits = answers.some(({ _tag }) => _tag === "Waits")
    return waits ? { _tag: "Returned", id, attempt, dueAt: now + waitMillis, payload } : { _tag: "Done", id, attempt }
  }
  const delay = handoffDelaysMillis[attempt - 1]
  if (delay === undefined) return { _tag: "Done", id, attempt }
  const part = 1 - handoffJitter * (yield* Random.next)
  const dueAt = now + Math.round(delay * part)
  return { _tag: "Again", id, attempt, dueAt, lane: handoffLanes.again, error: errorOf(tried), payload }
})

/** A job that was not attempted: it waits a moment, in the same lane or another one. */
export const returned = ({ attempt, id }: TakenJob, dueAt: number, lane?: number): JobOutcome => ({
  _tag: "Returned",
  id,
  attempt,
  dueAt,
  lane
})
