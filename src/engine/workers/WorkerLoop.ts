/**
 * Takes the due jobs of a worker on the partitions of this process, and runs their attempts (docs/workers.md). It looks
 * when jobs were put in, when an attempt has ended, when the next job is due, and every few seconds: a partition may
 * have come from another process, whose jobs come back when their leases end.
 */
import { type Cause, Clock, Duration, Effect, Fiber } from "effect"
import { BoundedMap } from "../../common/BoundedMap.ts"
import { Shares } from "../../common/Shares.ts"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { countDeadlineMillis, lookupDeadlineMillis } from "../limits.ts"
import { type DueOrganization, type JobClaim, WorkerJobsUnavailable } from "../ports/WorkerJobs.ts"
import { deadline } from "../shell/deadline.ts"
import { Wakeup } from "../Wakeup.ts"
import { attemptJob } from "./attemptJob.ts"
import { type HeldJob, leaseMarginMillis, type WorkerContext } from "./WorkerContext.ts"
import { claimsOf } from "./workerRules.ts"

/** Organizations of a partition that one look reads. */
const pageSize = 256

/** The longest wait between two looks, while no partition serves, and after jobs that somebody else took first. */
const idleMillis = 5_000
const startMillis = 250
const passedOverMillis = 100

/** The wait after a look that has failed. */
const retryMillis = 2_000

/** How often the metrics count the rows, and how many times longer the pause is than the count. */
const figuresMillis = 10_000
const figuresShare = 20

/** How long a shutdown waits for attempts that it has interrupted. */
const interruptMillis = 6_000

/** Organizations whose turn is remembered. */
const maximumTurns = 10_000

const silent = () => new WorkerJobsUnavailable({ message: "the store of jobs does not answer" })

export class WorkerLoop {
  readonly name: string
  private readonly context: WorkerContext
  private readonly wakeup = new Wakeup()
  private readonly held: Shares
  private readonly turns = new BoundedMap<string, number>(maximumTurns)
  private readonly running = new Map<HeldJob, Fiber.Fiber<void>>()
  /** The organization behind which the next page of a partition begins; "" for the first. */
  private readonly places = new Map<number, string>()
  private turn = 0
  /** When the next job of the pages so far is due that is not due yet. */
  private nextDueAt = Number.POSITIVE_INFINITY
  /** Whether jobs of the pages so far were taken. */
  private hasTaken = false

  constructor(context: WorkerContext) {
    this.context = context
    this.name = context.worker.name
    this.held = new Shares(context.worker.concurrency)
  }

  /** Makes the loop look now. */
  notify(): void {
    this.wakeup.notify()
  }

  /** Works until it is interrupted; `close` then ends the attempts. */
  get work(): Effect.Effect<never> {
    const failed = `worker ${this.name} cannot take jobs, and tries again`
    return superviseLoop(
      Effect.suspend(() => this.round()),
      { failed, retryMillis }
    )
  }

  /** Shows the figures of the metrics from time to time. */
  get show(): Effect.Effect<never> {
    const { jobs, metrics, served } = this.context
    const figures = Effect.gen({ self: this }, function* () {
      const found = yield* deadline(jobs.figures(this.name, served()), countDeadlineMillis, silent)
      metrics.figures(found, this.running.size, yield* Clock.currentTimeMillis)
    })
    const unknown = (cause: Cause.Cause<WorkerJobsUnavailable>) =>
      Effect.logWarning(`worker ${this.name} could not count its jobs, so its metrics show older numbers`, cause)
    const once = Effect.gen(function* () {
      const [took] = yield* Effect.timed(Effect.catchCause(figures, unknown))
      // A count of many rows takes long, and must not keep the store busy.
      yield* Effect.sleep(Duration.millis(Math.max(figuresMillis, Duration.toMillis(took) * figuresShare)))
    })
    return Effect.forever(once)
  }

  /** Waits for the attempts at most that long, then interrupts them: they give their jobs back. */
  close(millis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ended = Effect.forEach([...this.running.values()], Fiber.await, { discard: true })
      // An attempt that cannot be interrupted must not hold up the shutdown; its lease ends.
      const interrupted = Effect.suspend(() => Fiber.interruptAll(this.running.values()))
      return Effect.andThen(
        Effect.timeoutOption(ended, Duration.millis(millis)),
        Effect.asVoid(Effect.timeoutOption(interrupted, Duration.millis(interruptMillis)))
      )
    })
  }

  /** Takes due jobs of the next page, or waits. */
  private readonly round = Effect.fnUntraced(function* (this: WorkerLoop) {
    const { concurrency, isOrdered } = this.context.worker
    if (this.held.used >= concurrency) return yield* this.wakeup.wait
    this.wakeup.clear()
    const due = yield* this.look()
    const now = yield* Clock.currentTimeMillis
    for (const { dueAt } of due) if (dueAt > now) this.nextDueAt = Math.min(this.nextDueAt, dueAt)
    const { capacity, used } = this.held
    const held = {
      capacity,
      used,
      of: (organization: string) => this.held.of(organization),
      turnOf: (organization: string) => this.turns.get(organization) ?? 0
    }
    const claims = claimsOf(due, held, { isOrdered, now })
    const taken = claims.length === 0 ? 0 : yield* this.take(claims)
    if (taken > 0) this.hasTaken = true
    if (this.places.size > 0) return
    // Where there was no slot for them, more may be due: on this page or an earlier one.
    if (this.hasTaken) {
      this.hasTaken = false
      return
    }
    const idle = this.context.served().length === 0 ? startMillis : idleMillis
    const millis = claims.length > 0 ? passedOverMillis : Math.min(idle, this.nextDueAt - now)
    yield* Effect.raceFirst(this.wakeup.wait, Effect.sleep(Duration.millis(millis)))
  })

  /** Reads the next page of each partition. */
  private readonly look = Effect.fnUntraced(function* (
    this: WorkerLoop
  ): Effect.fn.Return<ReadonlyArray<DueOrganization>, WorkerJobsUnavailable> {
    const { jobs, served, worker } = this.context
    const { places } = this
    const all = served()
    for (const partition of places.keys()) if (!all.includes(partition)) places.delete(partition)
    if (places.size === 0) this.nextDueAt = Number.POSITIVE_INFINITY
    // While some have a next page, the others have been read to their ends.
    const asked = places.size === 0 ? all : [...places.keys()]
    if (asked.length === 0) return []
    const partitions = asked.map((partition) => ({ partition, after: places.get(partition) ?? "" }))
    const options = { isOrdered: worker.isOrdered, limit: pageSize }
    const due = yield* deadline(jobs.due(this.name, partitions, options), lookupDeadlineMillis, silent)
    const byPartition = Map.groupBy(due, ({ partition }) => partition)
    for (const partition of asked) {
      const page = byPartition.get(partition) ?? []
      if (page.length < pageSize) places.delete(partition)
      else places.set(partition, page.at(-1)!.organization)
    }
    return due
  })

  /** Takes jobs and begins their attempts. An interruption between the two would leave them until their leases end. */
  private take(claims: ReadonlyArray<JobClaim>): Effect.Effect<number, WorkerJobsUnavailable> {
    const { jobs, worker } = this.context
    return Effect.uninterruptible(
      Effect.gen({ self: this }, function* () {
        const now = yield* Clock.currentTimeMillis
        const leasedUntil = now + worker.timeoutMillis + leaseMarginMillis
        const lease = { now, leasedUntil, isOrdered: worker.isOrdered }
        const taken = yield* deadline(jobs.take(this.name, claims, lease), lookupDeadlineMillis, silent)
        for (const job of taken) yield* this.begin({ ...job, leasedUntil })
        return taken.length
      })
    )
  }

  private begin(job: HeldJob): Effect.Effect<void> {
    const { changed, metrics } = this.context
    this.held.take(job.organization)
    this.turns.set(job.organization, ++this.turn)
    const attempt = Effect.catchCause(attemptJob(this.context, job), (cause) =>
      Effect.logWarning(`worker ${this.name} could not record an attempt, and repeats it later`, cause)
    )
    const ended = Effect.sync(() => {
      this.running.delete(job)
      this.held.give(job.organization)
      metrics.running(this.running.size)
      changed()
      this.wakeup.notify()
    })
    // The fiber starts in a later turn, when it is in the map.
    return Effect.map(Effect.forkDetach(Effect.interruptible(Effect.ensuring(attempt, ended))), (fiber) => {
      this.running.set(job, fiber)
      metrics.running(this.running.size)
    })
  }
}
