/**
 * Hands accepted mail over (docs/handoff.md, 2), for the partitions that this process serves: at least once, each account by itself, and each of
 * its mails too. Jobs come from the work queue, which the SQL reactor fills. Needs `Engine`, `SqlClient`, `HandoffFeed`, `MessageContents` and `MailTransport`.
 */
import { Clock, Duration, Effect, FiberSet, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "../../common/BoundedMap.ts"
import * as GroupCommit from "../../common/groupCommit.ts"
import { isTraced } from "../../common/isTraced.ts"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { Engine } from "../../engine/Engine.ts"
import { contactOf } from "../../platform/contacts.ts"
import {
  type DueLane,
  type JobOutcome,
  make as makeWorkQueue,
  maximumDuePage,
  type PartitionClaim,
  type TakenJob
} from "../../postgres/WorkQueue.ts"
import { SendAccount } from "../account/actors/index.ts"
import { MessageContents } from "../emails/contents/MessageContents.ts"
import { engineAsks } from "../library/admissionAsks.ts"
import { makeAccountAlerts } from "./accountAlerts.ts"
import { returned } from "./attemptMail.ts"
import { beginEmails, type MailAttempt, type MailAttempts, type MailResult, recordEmails } from "./emails.ts"
import type { HandoffContext, HandoffSettings } from "./HandoffContext.ts"
import { HandoffFeed, type HandoffGroup } from "./HandoffFeed.ts"
import { HandoffGroups, type Room } from "./HandoffGroups.ts"
import { HandoffMetrics } from "./HandoffMetrics.ts"
import { partsOfGroup } from "./jobs.ts"
import {
  attemptMillis,
  countingPauseMillis,
  deliverTimeoutMillis,
  handoffLeaseMillis,
  handoffScanMillis,
  maximumUnderWay,
  maximumUnrecorded,
  recordMillis,
  refillMillis,
  restMillis,
  restMillisAfter,
  settledTogether,
  takingPlaces,
  troubleMillis
} from "./limits.ts"
import { MailTransport } from "./MailTransport.ts"
import { makeOrder } from "./Notices.ts"
import { beginNotices } from "./noticeMails.ts"
import { goOn } from "./projection.ts"
import { sendJobsTable } from "./tables.ts"
import { makeMoment, takeTogether } from "./takeTogether.ts"

export const defaultHandoffSettings: HandoffSettings = {
  takingPlaces,
  leaseMillis: handoffLeaseMillis,
  attemptMillis,
  deliverTimeoutMillis,
  scanMillis: handoffScanMillis,
  troubleMillis,
  drainMillis: 5_000,
  noticesFrom: "Sluice <no-reply@sluice.invalid>"
}

/** How often trouble is told at most, and that live mail waits. */
const toldMillis = 60_000
const waitingToldMillis = 60 * 60_000

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
  jobs: ReadonlyArray<TakenJob>,
  told: { at: number }
) => {
  const [organization, purpose] = partsOfGroup(group)
  const { settings } = parts
  return Effect.suspend(
    (): Effect.Effect<MailAttempts, unknown> =>
      purpose === "notices" ? beginNotices(parts, organization, jobs) : beginEmails(parts, organization, purpose, jobs)
  ).pipe(
    Effect.timeout(Duration.millis(settings.attemptMillis)),
    Effect.catch((error) =>
      Effect.map(tellTrouble(told, jobs.length, group, error), (now): MailAttempts => {
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

/** What an attempt has come to, as long as its job is this process's own. */
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

/** Looks for due jobs in the queue. */
const scan = Effect.fnUntraced(function* ({ queue }: HandoffContext, groups: HandoffGroups, partition: number) {
  let after: DueLane | undefined
  for (;;) {
    const page: ReadonlyArray<DueLane> = yield* queue.due(partition, { after, limit: maximumDuePage })
    const now = yield* Clock.currentTimeMillis
    groups.want(page.filter(({ dueAt }) => dueAt <= now).map(({ group }) => ({ partition, group })))
    after = page.at(-1)
    if (page.length < maximumDuePage) return
  }
})

/** Counts the queue now and then: the more there is to count, the more seldom. */
const counting = (parts: HandoffContext, partitions: Effect.Effect<ReadonlyArray<number>>) => {
  let counted: ReadonlySet<number> = new Set()
  return Effect.gen(function* () {
    const begunAt = yield* Clock.currentTimeMillis
    const own = new Set(yield* partitions)
    for (const partition of own) {
      const { oldestDueAt, pending } = yield* parts.queue.backlog(partition)
      const now = yield* Clock.currentTimeMillis
      const oldestSeconds = oldestDueAt === null ? 0 : Math.max(0, (now - oldestDueAt) / 1000)
      parts.metrics.backlog(partition, { pending, oldestSeconds })
    }
    // Partitions that are served elsewhere now are reported there.
    for (const partition of counted)
      if (!own.has(partition)) parts.metrics.backlog(partition, { pending: 0, oldestSeconds: 0 })
    counted = own
    yield* Effect.sleep(Duration.millis(countingPauseMillis((yield* Clock.currentTimeMillis) - begunAt)))
  })
}

/** The groups, with what takes, attempts and records their mails; each of it in a fiber of its own. */
const makeGroups = (parts: HandoffContext, run: (effect: Effect.Effect<void>) => unknown): HandoffGroups => {
  const { settings } = parts
  const told = { at: 0 }
  const recording = makeMoment()
  const resting = makeMoment()
  let rest = restMillis
  const take = Effect.fnUntraced(function* (one: HandoffGroup, room: Room) {
    const { group, partition } = one
    const jobs = yield* parts.take(
      room.flatMap((limit, lane) => (limit === 0 ? [] : [{ partition, group, lane, limit }]))
    )
    if (jobs.length === 0) return undefined
    return yield* begunOf(parts, one, jobs, told)
  })
  const takeAndGo = Effect.fnUntraced(function* (one: HandoffGroup, room: Room) {
    const takenAt = yield* Clock.currentTimeMillis
    const begun = yield* Effect.catchCause(take(one, room), (cause) =>
      Effect.as(Effect.logWarning(`mails of ${one.group} wait until their lease is over`, cause), undefined)
    )
    const { going = [], isPaused = false, outcomes = [] } = begun ?? {}
    if (begun !== undefined) rest = restMillisAfter((yield* Clock.currentTimeMillis) - takenAt)
    groups.taken(
      one,
      going.map(({ job }) => job.lane),
      begun !== undefined
    )
    for (const each of going)
      run(Effect.map(attemptedOf(parts, one, each, told), (attempted) => groups.ended(one, attempted)))
    yield* parts.settle(outcomes)
    // The lift may have come between the account's answer and the outcome, when the reactor found nothing to let go.
    if (isPaused) yield* lookAgain(parts, one)
  })
  const record = Effect.fnUntraced(function* (one: HandoffGroup) {
    for (;;) {
      // What ends in the same moment is told in one command.
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
    take: (one, room) =>
      run(
        Effect.catchCause(takeAndGo(one, room), (cause) =>
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
    restLater: (one) =>
      run(
        Effect.andThen(
          resting(rest),
          Effect.sync(() => groups.rested(one))
        )
      )
  })
  return groups
}

/** Starts the workers, which end with the scope. */
const start = (
  parts: HandoffContext,
  feed: HandoffFeed["Service"],
  partitions: Effect.Effect<ReadonlyArray<number>>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { settings, transport } = parts
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)()
    const groups = makeGroups(parts, run)
    const drain = Effect.suspend(() => {
      groups.isDraining = true
      return Effect.asVoid(Effect.timeoutOption(FiberSet.awaitEmpty(fibers), Duration.millis(settings.drainMillis)))
    })
    yield* Effect.addFinalizer(() => drain)
    groups.liveWaits = (yield* transport.live.waits) !== undefined
    yield* feed.attach({ committed: (some) => groups.want(some), drain })
    let toldAt = Number.NEGATIVE_INFINITY
    const scanning = Effect.gen(function* () {
      const reason = yield* transport.live.waits
      groups.liveWaits = reason !== undefined
      for (const partition of yield* partitions) yield* scan(parts, groups, partition)
      const now = yield* Clock.currentTimeMillis
      if (reason !== undefined && groups.hasWaiting && now >= toldAt + waitingToldMillis) {
        toldAt = now
        yield* Effect.logWarning(`mail is not handed over: ${reason}`)
      }
      yield* Effect.sleep(Duration.millis(settings.scanMillis))
    })
    const told = { retryMillis: settings.troubleMillis }
    yield* Effect.forkScoped(superviseLoop(scanning, { ...told, failed: "looking for mail that is due failed" }))
    yield* Effect.forkScoped(
      superviseLoop(counting(parts, partitions), { ...told, failed: "counting the mail that waits failed" })
    )
  })

/** The workers of this process. */
export const layerHandoff = (
  options: Partial<HandoffSettings> = {}
): Layer.Layer<never, never, Engine | SqlClient.SqlClient | HandoffFeed | MessageContents | MailTransport> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const engine = yield* Engine
      const sql = yield* SqlClient.SqlClient
      const partitions = Effect.map(engine.status, (all) =>
        all.filter(({ status }) => status._tag === "Serving").map(({ partition }) => partition)
      )
      const queue = yield* makeWorkQueue(sendJobsTable)
      const settings = { ...defaultHandoffSettings, ...options }
      const taking = yield* GroupCommit.make({
        write: (all: ReadonlyArray<ReadonlyArray<PartitionClaim>>) => takeTogether(queue, settings.leaseMillis, all),
        maximumBatch: settings.takingPlaces,
        maximumWaiting: settings.takingPlaces
      })
      const group = yield* GroupCommit.make({
        write: (all: ReadonlyArray<ReadonlyArray<JobOutcome>>) => Effect.as(queue.settle(all.flat()), all),
        maximumBatch: settledTogether,
        maximumWaiting: maximumUnderWay
      })
      const parts: HandoffContext = {
        settings,
        queue,
        isTraced: isTraced(yield* Effect.context<never>()),
        take: taking.submit,
        settle: (outcomes) => (outcomes.length === 0 ? Effect.void : Effect.asVoid(group.submit(outcomes))),
        asks: yield* engineAsks({}),
        contents: yield* MessageContents,
        transport: yield* MailTransport,
        metrics: new HandoffMetrics(yield* Effect.context<never>()),
        unrecorded: new BoundedMap(maximumUnrecorded),
        contactOf: (organization) => Effect.provideService(contactOf(organization), SqlClient.SqlClient, sql),
        alert: makeAccountAlerts({
          order: yield* makeOrder(settings.noticesFrom),
          contactOf: (organization) => Effect.provideService(contactOf(organization), SqlClient.SqlClient, sql)
        }),
        goOn: (one, at) => Effect.provideService(goOn([{ ...one, at }]), SqlClient.SqlClient, sql)
      }
      yield* start(parts, yield* HandoffFeed, partitions)
    })
  )
