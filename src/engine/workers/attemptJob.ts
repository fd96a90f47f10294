/**
 * Carries out an attempt at a job (docs/workers.md): the effect outside with its deadline, the step after it, and the
 * reply. An outcome that has a reply is stored before it is asked, so the job is not run again once its outcome may be
 * known to the actor.
 */
import { Cause, Clock, Duration, Effect, Exit, Random } from "effect"
import { backoff } from "../../common/backoff.ts"
import { describe } from "../describe.ts"
import { lookupDeadlineMillis } from "../limits.ts"
import { attemptOf, type WorkerJobOutcome, WorkerJobsUnavailable } from "../ports/WorkerJobs.ts"
import { deadline } from "../shell/deadline.ts"
import { askReply } from "./askReply.ts"
import {
  type HeldJob,
  minimumMarginMillis,
  replyHoldMillis,
  replyLeaseMillis,
  type WorkerContext
} from "./WorkerContext.ts"
import { type AttemptResult, mayTry, stepAfter } from "./workerRules.ts"
import { readStored, type StoredAnswer, type StoredJob, TryLater, type WorkerOutcome } from "./workerTypes.ts"

type Undecided = WorkerJobOutcome extends infer One
  ? One extends WorkerJobOutcome
    ? Omit<One, "id" | "attempt">
    : never
  : never

/** Tries of an outcome that the store does not take: while PostgreSQL restarts, an effect need not be repeated. */
const settleTries = { times: 3, schedule: backoff(500, 2_000) }

/** Records an outcome, with one try; false if the job is somebody else's by now, who then decides about it. */
const settleOnce = ({ jobs, worker }: WorkerContext, { attempt, id }: HeldJob, outcome: Undecided) =>
  Effect.suspend(() =>
    deadline(
      // Each outcome is whole with the two.
      jobs.settle(worker.name, { ...outcome, id, attempt } as WorkerJobOutcome),
      lookupDeadlineMillis,
      () => new WorkerJobsUnavailable({ message: "the store of jobs does not answer" })
    )
  ).pipe(Effect.uninterruptible)

/**
 * The same with several tries. The answer to one that has counted may be lost: another one then finds the job gone, or
 * failed. Until the lease ends nobody else can have taken it, so it is still this attempt's outcome.
 */
const settle = (context: WorkerContext, job: HeldJob, outcome: Undecided) =>
  Effect.suspend(() => {
    let isAnswerLost = false
    const lost = Effect.sync(() => {
      isAnswerLost = true
    })
    const once = Effect.tapError(settleOnce(context, job, outcome), () => lost)
    return Effect.gen(function* () {
      if (yield* Effect.retry(once, settleTries)) return true
      const isOver = outcome._tag === "Done" || outcome._tag === "Failed"
      return isOver && isAnswerLost && (yield* Clock.currentTimeMillis) < job.leasedUntil
    })
  }).pipe(Effect.uninterruptible)

/**
 * Gives a job back that was not tried, or whose attempt a shutdown has ended. There is one try: if its answer is lost,
 * the next taker has the job under the same number, and another try would take it from there. The lease ends anyway.
 */
const returnJob = (context: WorkerContext, job: HeldJob) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => settleOnce(context, job, { _tag: "Returned", dueAt: now }))

/** The same if a shutdown interrupts a part that has recorded nothing. */
const returning = <A, E>(context: WorkerContext, job: HeldJob, part: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.onInterrupt(part, () => Effect.ignore(returnJob(context, job)))

/** The result of an attempt, as the rules see it. A defect is an error like others. */
const resultOf = ({ worker }: WorkerContext, exit: Exit.Exit<unknown, unknown>): AttemptResult => {
  if (Exit.isSuccess(exit)) return { _tag: "Succeeded" }
  const error = Cause.squash(exit.cause)
  const reason = error instanceof Error && error.message !== "" ? error.message.slice(0, 500) : describe(error)
  return {
    _tag: "Failed",
    reason,
    isFinal: worker.isFinal(error),
    afterMillis: error instanceof TryLater ? error.afterMillis : undefined
  }
}

/** Runs the effect outside. Its time is bounded, and the lease lasts longer. */
const run = ({ worker }: WorkerContext, { attempt, id, organization }: HeldJob, stored: StoredJob) =>
  Effect.suspend(() =>
    worker.run(stored.job, { key: id, attempt: attemptOf(attempt), organization, recordedAt: stored.at })
  ).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(worker.timeoutMillis),
      orElse: () => Effect.fail(new Error(`it took longer than ${worker.timeoutMillis} ms`))
    }),
    Effect.exit
  )

/** The stored form after the end of a job: an operator who lets it begin anew gets a reply of its own. */
const nextRound = ({ at, job, round }: StoredJob): string => JSON.stringify({ at, job, round: round + 1 })

/** The end of a job: it goes, or waits for an operator. */
const end = Effect.fnUntraced(function* (
  context: WorkerContext,
  job: HeldJob,
  stored: StoredJob,
  failure: string | undefined
) {
  const { metrics } = context
  const ended = yield* settle(
    context,
    job,
    failure === undefined ? { _tag: "Done" } : { _tag: "Failed", error: failure, payload: nextRound(stored) }
  )
  if (!ended) return
  if (failure === undefined) metrics.finished()
  else metrics.gaveUp()
})

/** Fails a job for a reason that is not its effect's. It stays as it is stored. */
const failAs = Effect.fnUntraced(function* (context: WorkerContext, job: HeldJob, payload: string, error: string) {
  if (yield* settle(context, job, { _tag: "Failed", error, payload })) context.metrics.gaveUp()
})

/** Asks the reply of a stored outcome, then ends the job. */
const answer = Effect.fnUntraced(function* (
  context: WorkerContext,
  job: HeldJob,
  stored: StoredJob & { readonly answer: StoredAnswer }
) {
  const { failure, reply } = stored.answer
  const asked =
    reply === undefined ? "accepted" : yield* returning(context, job, askReply(context, job, stored.round, reply))
  if (typeof asked === "string") {
    if (asked === "rejected") context.metrics.replyRejected()
    return yield* end(context, job, stored, failure)
  }
  if (asked.isFinal) return yield* failAs(context, job, JSON.stringify(stored), `its reply failed: ${asked.reason}`)
  const now = yield* Clock.currentTimeMillis
  yield* settle(context, job, { _tag: "Again", dueAt: now + replyHoldMillis, error: asked.reason })
})

/** The reply of an outcome, as it is stored. Throws if `toCommand` does, or if the schema refuses the command. */
const replyOf = (
  { worker: { reply } }: WorkerContext,
  { id, organization }: HeldJob,
  { job }: StoredJob,
  outcome: WorkerOutcome<unknown>
): StoredAnswer["reply"] => {
  const meant = reply?.toCommand(outcome, { job, key: id, organization })
  if (reply === undefined || meant === undefined) return undefined
  return { key: meant.key ?? "", command: reply.actor.encodeCommand(meant.command) }
}

/** Concludes a job whose outcome is known. */
const conclude = Effect.fnUntraced(function* (
  context: WorkerContext,
  job: HeldJob,
  stored: StoredJob,
  outcome: WorkerOutcome<unknown>
) {
  const failure = outcome._tag === "Failed" ? outcome.reason : undefined
  const replied = yield* Effect.exit(Effect.sync(() => replyOf(context, job, stored, outcome)))
  if (Exit.isFailure(replied)) {
    const reason = describe(Cause.squash(replied.cause))
    return yield* failAs(context, job, JSON.stringify(stored), `its reply failed: ${reason}`)
  }
  const reply = replied.value
  if (reply === undefined) return yield* end(context, job, stored, failure)
  const answered = { ...stored, answer: { ...(failure === undefined ? {} : { failure }), reply } }
  const now = yield* Clock.currentTimeMillis
  const leasedUntil = now + replyLeaseMillis
  const isOurs = yield* settle(context, job, { _tag: "Kept", leasedUntil, payload: JSON.stringify(answered) })
  // Without the lease somebody else has the job, and may come to another outcome.
  if (isOurs) yield* answer(context, { ...job, leasedUntil }, answered)
})

/** Carries out an attempt. Fails if the store does not take the outcome: the job comes back when its lease ends. */
export const attemptJob = Effect.fnUntraced(function* (context: WorkerContext, job: HeldJob) {
  const { metrics, worker } = context
  const stored = readStored(job.payload)
  if (stored === undefined) return yield* failAs(context, job, job.payload, "the stored job cannot be read")
  const begun = yield* Clock.currentTimeMillis
  if (begun + minimumMarginMillis + (stored.answer === undefined ? worker.timeoutMillis : 0) > job.leasedUntil)
    return void (yield* returnJob(context, job))
  if (stored.answer !== undefined) return yield* answer(context, job, { ...stored, answer: stored.answer })
  const attempt = attemptOf(job.attempt)
  if (!mayTry(attempt, worker.retry)) {
    const reason = "its last attempt ended without an outcome"
    return yield* conclude(context, job, stored, { _tag: "Failed", reason, attempts: attempt - 1 })
  }
  const exit = yield* returning(context, job, run(context, job, stored))
  const now = yield* Clock.currentTimeMillis
  const random = yield* Random.next
  const step = stepAfter(attempt, resultOf(context, exit), worker.retry, { now, random })
  if (step._tag === "Again") {
    const { dueAt, reason } = step
    if (yield* settle(context, job, { _tag: "Again", dueAt, error: reason })) metrics.again()
    return
  }
  const outcome: WorkerOutcome<unknown> =
    step._tag === "Finish"
      ? { _tag: "Done", value: Exit.isSuccess(exit) ? exit.value : undefined }
      : { _tag: "Failed", reason: step.reason, attempts: attempt }
  yield* conclude(context, job, stored, outcome)
})
