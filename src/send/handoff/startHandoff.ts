/**
 * Starts the mail workers of a process on their ports (docs/handoff.md, 2): what is offered, what the queue has, what is
 * due there later. `Handoff.ts` has the real ports.
 */
import { Clock, Duration, Effect, FiberSet, type Scope } from "effect"
import * as GroupCommit from "../../common/groupCommit.ts"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { type DueLane, type JobOutcome, maximumDuePage, type PartitionClaim } from "../../postgres/WorkQueue.ts"
import type { HandoffContext } from "./HandoffContext.ts"
import type { HandoffFeed } from "./HandoffFeed.ts"
import type { HandoffGroups } from "./HandoffGroups.ts"
import type { HandoffGroup } from "./HandoffWorkers.ts"
import { countingPauseMillis, maximumUnderWay, settledTogether } from "./limits.ts"
import type { MailTasks } from "./MailTasks.ts"
import { lookAgainAfter, makeGroups } from "./makeGroups.ts"
import { takeTogether } from "./takeTogether.ts"

/** The time between two notices that live mail waits. */
const waitingToldMillis = 60 * 60_000

const noPartitions: ReadonlySet<number> = new Set()

/** The partitions that hold jobs. Without a partition there is nothing to ask. */
const holdingAmong = ({ queue }: HandoffContext, partitions: ReadonlyArray<number>) =>
  partitions.length === 0 ? Effect.succeed(noPartitions) : queue.holding(partitions)

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
    const holding = yield* holdingAmong(parts, [...own])
    for (const partition of own) {
      const { oldestDueAt, pending } = holding.has(partition)
        ? yield* parts.queue.backlog(partition)
        : { oldestDueAt: null, pending: 0 }
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

/** How often it is looked whether the queue has the job of a mail. */
const queuedLookMillis = 10

/** Waits until the queue has the job of a mail, which its frame's transaction writes. */
const untilInQueue = (tasks: MailTasks, id: string): Effect.Effect<void> =>
  Effect.suspend(() =>
    tasks.isInQueue(id)
      ? Effect.void
      : Effect.andThen(Effect.sleep(Duration.millis(queuedLookMillis)), untilInQueue(tasks, id))
  )

/** The ports of the workers. */
export type HandoffPorts = Omit<HandoffContext, "take" | "settle" | "note" | "tasks">

/** The context of the workers: what several accounts ask of the queue at the same time shares statements. */
const contextOf = Effect.fnUntraced(function* (ports: HandoffPorts, tasks: MailTasks) {
  const { queue, settings } = ports
  const taking = yield* GroupCommit.make({
    write: (all: ReadonlyArray<ReadonlyArray<PartitionClaim>>) => takeTogether(queue, settings.leaseMillis, all),
    maximumBatch: settings.takingPlaces,
    maximumWaiting: settings.takingPlaces
  })
  const settling = yield* GroupCommit.make({
    write: (all: ReadonlyArray<ReadonlyArray<JobOutcome>>) => Effect.as(queue.settle(all.flat()), all),
    maximumBatch: settledTogether,
    maximumWaiting: maximumUnderWay
  })
  const settleQueued = (outcomes: ReadonlyArray<JobOutcome>) =>
    outcomes.length === 0 ? Effect.void : Effect.asVoid(settling.submit(outcomes))
  return {
    ...ports,
    tasks,
    take: taking.submit,
    settle: (outcomes) => Effect.suspend(() => settleQueued(tasks.end(outcomes))),
    note: (outcomes) =>
      Effect.andThen(
        Effect.forEach(outcomes, ({ id }) => untilInQueue(tasks, id), { discard: true }),
        settleQueued(outcomes)
      )
  } satisfies HandoffContext
})

/** Starts the workers, which end with the scope. */
export const startHandoff = (
  ports: HandoffPorts,
  feed: HandoffFeed["Service"],
  partitions: Effect.Effect<ReadonlyArray<number>>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const parts: HandoffContext = yield* contextOf(ports, feed.tasks)
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
    /** A lift that came before the outcome found nothing to release. */
    const settleLate = (one: HandoffGroup, outcome: JobOutcome) =>
      Effect.catchCause(Effect.andThen(parts.settle([outcome]), lookAgainAfter(parts, one, [outcome])), (cause) =>
        Effect.logWarning(`mails of ${one.group} wait until their lease is over`, cause)
      )
    yield* feed.attach({
      committed: (some) => groups.want(some),
      offered: (some) => groups.offered(some),
      roomOf: (group) => groups.freeOf(group),
      late: (one, outcome) => void run(settleLate(one, outcome)),
      drain
    })
    let toldAt = Number.NEGATIVE_INFINITY
    const scanning = Effect.gen(function* () {
      const reason = yield* transport.live.waits
      groups.liveWaits = reason !== undefined
      parts.metrics.unrecorded(parts.tasks.unrecorded)
      for (const partition of yield* holdingAmong(parts, yield* partitions)) yield* scan(parts, groups, partition)
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
