/**
 * Takes, attempts and records the mails of accounts (docs/handoff.md, 2), each step in a fiber of its own. The schedule
 * is that of `HandoffGroups`. Needs no service but a Clock.
 */
import { Clock, Duration, Effect } from "effect"
import type { JobOutcome, TakenJob } from "../../postgres/WorkQueue.ts"
import { SendAccount } from "../account/actors/index.ts"
import { returned } from "./attemptMail.ts"
import { beginEmails, type MailAttempt, type MailAttempts, type MailResult, recordEmails } from "./emails.ts"
import type { HandoffContext } from "./HandoffContext.ts"
import { HandoffGroups, type Room } from "./HandoffGroups.ts"
import type { HandoffGroup } from "./HandoffWorkers.ts"
import { handoffLanes, partsOfGroup } from "./jobs.ts"
import { offeredRestMillis, recordMillis, refillMillis, restMillis, restMillisAfter } from "./limits.ts"
import type { MailJob } from "./MailTasks.ts"
import { beginNotices } from "./noticeMails.ts"
import { makeMoment } from "./takeTogether.ts"

/** The shortest time between two reports of trouble. */
const toldMillis = 60_000

/** Tells now and then of mails that could not go, whatever their number. */
const tellTrouble = Effect.fnUntraced(function* (told: { at: number }, mails: number, group: string, error: unknown) {
  const now = yield* Clock.currentTimeMillis
  if (now >= told.at + toldMillis) {
    told.at = now
    yield* Effect.logWarning(`${mails} mails of ${group} could not be handed over and wait`, error)
  }
  return now
})

/** Which of the mails that were taken go. */
const begunOf = (
  parts: HandoffContext,
  { group }: HandoffGroup,
  jobs: ReadonlyArray<MailJob>,
  told: { at: number }
) => {
  const [organization, purpose] = partsOfGroup(group)
  const { settings } = parts
  return Effect.suspend(
    (): Effect.Effect<MailAttempts, unknown> =>
      purpose === "notices" ? beginNotices(parts, organization, jobs) : beginEmails(parts, organization, purpose, jobs)
  ).pipe(
    Effect.timeout(Duration.millis(settings.attemptMillis)),
    Effect.catchCause((cause) =>
      Effect.map(tellTrouble(told, jobs.length, group, cause), (now): MailAttempts => {
        const outcomes = jobs.map((job) => returned(job, now + settings.troubleMillis))
        return { outcomes, isPaused: false, going: [] }
      })
    )
  )
}

/** An attempt in a span of its own, where anybody sees it. It links to what has made mail of the account due. */
const traced = <A>(
  { isTraced }: HandoffContext,
  { cause, partition }: HandoffGroup,
  job: TakenJob,
  attempt: Effect.Effect<A>
) =>
  isTraced
    ? Effect.withSpan(attempt, "sluice.mail.attempt", {
        root: true,
        attributes: { partition, attempt: job.attempt, job: job.id },
        links: cause === undefined ? [] : [{ span: cause, attributes: {} }]
      })
    : attempt

/** Makes an attempt, as long as its job is this process's own. */
const attemptedOf = (parts: HandoffContext, one: HandoffGroup, { attempt, job }: MailAttempt, told: { at: number }) =>
  Clock.currentTimeMillis.pipe(
    Effect.flatMap((now) => {
      const { attemptMillis, leaseMillis } = parts.settings
      const left = job.leasedUntil - leaseMillis + attemptMillis - now
      return Effect.timeout(attempt, Duration.millis(Math.max(0, left)))
    }),
    Effect.catchCause((cause) =>
      Effect.map(
        tellTrouble(told, 1, one.group, cause),
        (now): MailResult => ({ job, reports: [], outcome: returned(job, now + parts.settings.troubleMillis) })
      )
    ),
    (attempted) => traced(parts, one, job, attempted)
  )

/** Records what attempts have come to. What cannot be recorded now comes again, and is known to have been handed over. */
const recordAll = Effect.fnUntraced(
  function* (parts: HandoffContext, { group }: HandoffGroup, ended: ReadonlyArray<MailResult>, told: { at: number }) {
    const [organization, purpose] = partsOfGroup(group)
    const { deliverTimeoutMillis, leaseMillis, troubleMillis } = parts.settings
    const outcomes = yield* recordEmails(parts, organization, purpose === "test" ? "test" : "live", ended).pipe(
      // While the jobs are still this process's own.
      Effect.timeout(Duration.millis(leaseMillis - deliverTimeoutMillis)),
      Effect.catch((error) =>
        Effect.map(tellTrouble(told, ended.length, group, error), (now) =>
          ended.map(({ job }) => returned(job, now + troubleMillis))
        )
      )
    )
    yield* parts.settle(outcomes)
  },
  (effect, _parts, { group }) =>
    Effect.catchCause(effect, (cause) => Effect.logWarning(`mails of ${group} wait until their lease is over`, cause))
)

const lookAgain = Effect.fnUntraced(function* ({ asks, goOn }: HandoffContext, one: HandoffGroup) {
  const [organization, purpose] = partsOfGroup(one.group)
  const { trust } = yield* asks.state(organization, SendAccount, purpose)
  if (trust.stage !== "sending_paused") yield* goOn(one, yield* Clock.currentTimeMillis)
})

/** The same after outcomes, where some of them wait for the end of a pause. */
export const lookAgainAfter = (parts: HandoffContext, one: HandoffGroup, outcomes: ReadonlyArray<JobOutcome>) =>
  outcomes.some((outcome) => outcome._tag === "Returned" && outcome.lane === handoffLanes.paused)
    ? lookAgain(parts, one)
    : Effect.void

const nothingBegun: MailAttempts = { outcomes: [], isPaused: false, going: [] }

/**
 * Takes mails of a group. Those that wait in memory go first, and leave half of the room to those in the queue. What
 * memory has is taken also while the queue cannot be asked.
 */
export const takeJobs = Effect.fnUntraced(function* (
  { settings, take, tasks }: Pick<HandoffContext, "settings" | "take" | "tasks">,
  { group, partition }: HandoffGroup,
  room: Room,
  isQueued: boolean
) {
  const now = yield* Clock.currentTimeMillis
  const most = room[handoffLanes.first] ?? 0
  const offered = tasks.take(group, isQueued ? Math.ceil(most / 2) : most, now + settings.leaseMillis)
  if (!isQueued) return { jobs: offered, queued: 0 }
  const claims = room.flatMap((free, lane) => {
    const limit = lane === handoffLanes.first ? free - offered.length : free
    return limit <= 0 ? [] : [{ partition, group, lane, limit }]
  })
  const queued = yield* Effect.catchCause(take(claims), (cause) =>
    Effect.as(Effect.logWarning(`mails of ${group} cannot be taken from the queue and wait there`, cause), [])
  )
  // An attempt of an earlier life of the partition goes on: its outcome settles the new job of its email, which is taken
  // until then.
  return { jobs: [...offered, ...queued.filter(({ id }) => !tasks.isUnderWay(id, now))], queued: queued.length }
})

/** The groups, with what takes, attempts and records their mails; each of it in a fiber of its own. */
export const makeGroups = (parts: HandoffContext, run: (effect: Effect.Effect<void>) => unknown): HandoffGroups => {
  const { settings } = parts
  const told = { at: 0 }
  const recording = makeMoment()
  const resting = makeMoment()
  let rest = restMillis
  const takeAndGo = Effect.fnUntraced(function* (one: HandoffGroup, room: Room, isQueued: boolean) {
    const takenAt = yield* Clock.currentTimeMillis
    const { jobs, queued } = yield* takeJobs(parts, one, room, isQueued)
    const begun = jobs.length === 0 ? nothingBegun : yield* begunOf(parts, one, jobs, told)
    const { going, isPaused, outcomes } = begun
    if (queued > 0) rest = restMillisAfter((yield* Clock.currentTimeMillis) - takenAt)
    groups.taken(
      one,
      going.map(({ job }) => job.lane),
      { isQueued: queued > 0, isOffered: parts.tasks.waitingOf(one.group) > 0 }
    )
    for (const each of going)
      run(Effect.map(attemptedOf(parts, one, each, told), (attempted) => groups.ended(one, attempted)))
    yield* parts.settle(outcomes)
    // The lift may have come between the account's answer and the outcome, when the reactor found nothing to let go.
    if (isPaused) yield* lookAgain(parts, one)
  })
  const record = Effect.fnUntraced(function* (one: HandoffGroup) {
    for (;;) {
      // Results of the same moment share one command.
      yield* recording(recordMillis)
      const ended = groups.toRecord(one)
      if (ended.length === 0) return
      yield* recordAll(parts, one, ended, told)
      groups.recorded(
        one,
        ended.map(({ job }) => job.lane)
      )
    }
  })
  const groups = new HandoffGroups({
    takingPlaces: settings.takingPlaces,
    leave: ({ group }) => parts.tasks.leave(group),
    take: (one, room, isQueued) =>
      run(
        Effect.catchCause(takeAndGo(one, room, isQueued), (cause) =>
          Effect.logWarning(`mails of ${one.group} wait until their lease is over`, cause)
        )
      ),
    record: (one) => run(record(one)),
    refillLater: () =>
      run(
        Effect.andThen(
          Effect.sleep(Duration.millis(refillMillis)),
          Effect.sync(() => groups.refill())
        )
      ),
    restLater: (one, isQueued) =>
      run(
        Effect.andThen(
          isQueued ? resting(rest) : Effect.sleep(Duration.millis(offeredRestMillis)),
          Effect.sync(() => groups.rested(one))
        )
      )
  })
  return groups
}
