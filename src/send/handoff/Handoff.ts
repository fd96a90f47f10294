/**
 * Hands accepted mail over (docs/handoff.md, 2), for the partitions that this process serves: at least once, and each account by itself. Batches of accounts
 * take their jobs from the work queue, which the SQL reactor fills. Needs `Engine`, `SqlClient`, `HandoffFeed`, `MessageContents` and `MailTransport`.
 */
import { Clock, Duration, Effect, FiberSet, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { steadily } from "../../common/steadily.ts"
import { Engine } from "../../engine/Engine.ts"
import { contactOf } from "../../platform/contacts.ts"
import { type DueLane, make as makeWorkQueue, maximumDuePage, type TakenJob } from "../../postgres/WorkQueue.ts"
import { SendAccount } from "../actors/index.ts"
import { engineAsks } from "../admissionAsks.ts"
import { MessageContents } from "../contents/MessageContents.ts"
import { MailTransport } from "../transport/MailTransport.ts"
import { returned } from "./delivering.ts"
import { type BatchResult, handOverEmails } from "./emails.ts"
import { HandoffFeed, type HandoffGroup } from "./HandoffFeed.ts"
import { HandoffMetrics } from "./HandoffMetrics.ts"
import { handoffLanes, partsOfGroup } from "./jobs.ts"
import {
  batchLimits,
  batchMillis,
  batchPlaces,
  countingMillis,
  deliverTimeoutMillis,
  handoffLeaseMillis,
  handoffScanMillis,
  maximumUnrecorded,
  troubleMillis
} from "./limits.ts"
import { handOverNotices } from "./noticeMails.ts"
import type { HandoffParts, HandoffSettings } from "./parts.ts"
import { goOn } from "./projection.ts"
import { sendJobsTable } from "./tables.ts"

export const defaultHandoffSettings: HandoffSettings = {
  batchPlaces,
  leaseMillis: handoffLeaseMillis,
  batchMillis,
  deliverTimeoutMillis,
  scanMillis: handoffScanMillis,
  troubleMillis,
  drainMillis: 5_000,
  noticesFrom: "Sluice <no-reply@sluice.invalid>"
}

/** Most groups that wait for a place; the next scan finds the others. */
const maximumWanting = 10_000

/** How often trouble is told at most, and that live mail waits. */
const toldMillis = 60_000
const waitingToldMillis = 60 * 60_000

/** Works on the jobs of a group that are due; answers whether there may be more. */
const workOn = (parts: HandoffParts, told: { at: number }) =>
  Effect.fnUntraced(function* (one: HandoffGroup) {
    const { queue, settings } = parts
    const { group, partition } = one
    const now = yield* Clock.currentTimeMillis
    const claims = Object.values(handoffLanes).map((lane) => ({ group, lane, limit: batchLimits[lane] }))
    const jobs = yield* queue.take(partition, claims, { now, leasedUntil: now + settings.leaseMillis })
    if (jobs.length === 0) return false
    const { isPaused, outcomes } = yield* resultOf(parts, one, jobs, told)
    yield* queue.settle(outcomes)
    // The lift may have come between the account's answer and the outcome, when the reactor found nothing to let go.
    if (isPaused) yield* lookAgain(parts, one)
    return true
  })

const resultOf = (
  parts: HandoffParts,
  { group }: HandoffGroup,
  jobs: ReadonlyArray<TakenJob>,
  told: { at: number }
) => {
  const [organization, purpose] = partsOfGroup(group)
  const { settings } = parts
  return Effect.suspend(
    (): Effect.Effect<BatchResult, unknown> =>
      purpose === "notices"
        ? handOverNotices(parts, organization, jobs)
        : handOverEmails(parts, organization, purpose, jobs)
  ).pipe(
    Effect.timeout(Duration.millis(settings.batchMillis)),
    Effect.catch((error) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (now >= told.at + toldMillis) {
          told.at = now
          yield* Effect.logWarning(`${jobs.length} mails of ${group} could not be handed over and wait`, error)
        }
        const outcomes = jobs.map((job) => returned(job, now + settings.troubleMillis))
        return { outcomes, isPaused: false }
      })
    )
  )
}

const lookAgain = Effect.fnUntraced(function* ({ asks, goOn }: HandoffParts, one: HandoffGroup) {
  const [organization, purpose] = partsOfGroup(one.group)
  const { trust } = yield* asks.state(organization, SendAccount, purpose)
  if (trust.stage !== "sending_paused") yield* goOn(one, yield* Clock.currentTimeMillis)
})

/** Which groups wait for a place, and which have one. */
class Groups {
  private readonly wanting = new Map<string, HandoffGroup>()
  private readonly busy = new Set<string>()
  private readonly places: number
  private readonly begin: (one: HandoffGroup) => void
  /** Whether live mail waits, because nothing takes it over. */
  liveWaits = true
  /** Whether there was live mail to hand over since it waits. */
  hasWaiting = false
  isDraining = false

  constructor(places: number, begin: (one: HandoffGroup) => void) {
    this.places = places
    this.begin = begin
  }

  want(groups: ReadonlyArray<HandoffGroup>): void {
    for (const one of groups) if (this.wanting.size < maximumWanting) this.wanting.set(one.group, one)
    this.pump()
  }

  /** Ends a batch. A group that may have more goes behind the others that wait. */
  end(one: HandoffGroup, hasMore: boolean): void {
    this.busy.delete(one.group)
    if (hasMore && !this.wanting.has(one.group)) this.wanting.set(one.group, one)
    this.pump()
  }

  private pump(): void {
    for (const [group, one] of this.wanting) {
      if (this.isDraining || this.busy.size >= this.places) return
      if (this.busy.has(group)) continue
      this.wanting.delete(group)
      // The scan finds it again.
      if (this.liveWaits && partsOfGroup(group)[1] !== "test") {
        this.hasWaiting = true
        continue
      }
      this.busy.add(group)
      this.begin(one)
    }
  }
}

/** Looks for due jobs in the queue. */
const scan = Effect.fnUntraced(function* ({ queue }: HandoffParts, groups: Groups, partition: number) {
  let after: DueLane | undefined
  for (;;) {
    const page: ReadonlyArray<DueLane> = yield* queue.due(partition, { after, limit: maximumDuePage })
    const now = yield* Clock.currentTimeMillis
    groups.want(page.filter(({ dueAt }) => dueAt <= now).map(({ group }) => ({ partition, group })))
    after = page.at(-1)
    if (page.length < maximumDuePage) return
  }
})

const counting = (parts: HandoffParts, partitions: Effect.Effect<ReadonlyArray<number>>) => {
  let counted: ReadonlySet<number> = new Set()
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const own = new Set(yield* partitions)
    for (const partition of own) {
      const { oldestDueAt, pending } = yield* parts.queue.backlog(partition)
      const oldestSeconds = oldestDueAt === null ? 0 : Math.max(0, (now - oldestDueAt) / 1000)
      parts.metrics.backlog(partition, { pending, oldestSeconds })
    }
    // Partitions that are served elsewhere now are reported there.
    for (const partition of counted)
      if (!own.has(partition)) parts.metrics.backlog(partition, { pending: 0, oldestSeconds: 0 })
    counted = own
    yield* Effect.sleep(Duration.millis(countingMillis))
  })
}

/** Starts the workers, which end with the scope. */
const start = (
  parts: HandoffParts,
  feed: HandoffFeed["Service"],
  partitions: Effect.Effect<ReadonlyArray<number>>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { settings, transport } = parts
    const batches = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(batches)()
    const work = workOn(parts, { at: 0 })
    const groups: Groups = new Groups(settings.batchPlaces, (one) => {
      run(
        work(one).pipe(
          Effect.catchCause((cause) =>
            Effect.as(Effect.logWarning(`mails of ${one.group} wait until their lease is over`, cause), false)
          ),
          Effect.map((hasMore) => groups.end(one, hasMore))
        )
      )
    })
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        groups.isDraining = true
        return Effect.timeoutOption(FiberSet.awaitEmpty(batches), Duration.millis(settings.drainMillis))
      })
    )
    groups.liveWaits = (yield* transport.live.waits) !== undefined
    yield* feed.attach((some) => groups.want(some))
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
    yield* Effect.forkScoped(steadily(scanning, { ...told, failed: "looking for mail that is due failed" }))
    yield* Effect.forkScoped(
      steadily(counting(parts, partitions), { ...told, failed: "counting the mail that waits failed" })
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
      const parts: HandoffParts = {
        settings: { ...defaultHandoffSettings, ...options },
        queue: yield* makeWorkQueue(sendJobsTable),
        asks: yield* engineAsks({}),
        contents: yield* MessageContents,
        transport: yield* MailTransport,
        metrics: new HandoffMetrics(yield* Effect.context<never>()),
        unrecorded: new BoundedMap(maximumUnrecorded),
        contactOf: (organization) => Effect.provideService(contactOf(organization), SqlClient.SqlClient, sql),
        goOn: (one, at) => Effect.provideService(goOn([{ ...one, at }]), SqlClient.SqlClient, sql)
      }
      yield* start(parts, yield* HandoffFeed, partitions)
    })
  )
