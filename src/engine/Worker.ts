/**
 * Defines workers: effects outside (a payment, an HTTP call) because of a stored fact or event, at least once and under
 * one idempotency key, with their outcome as a command (docs/workers.md). Workers are given to the engine in `workers`.
 */
import { Clock, Effect, Schema } from "effect"
import type { AnyActor } from "./Actor.ts"
import { Engine } from "./Engine.ts"
import { EngineRefused } from "./errors.ts"
import { attemptOf, type WorkerJobsUnavailable } from "./ports/WorkerJobs.ts"
import type { LogRecord } from "./records.ts"
import { internals } from "./shell/partition/internals.ts"
import { settleWorkers } from "./workers/settleWorkers.ts"
import type { WorkerRetry } from "./workers/workerRules.ts"
import {
  type ErasedReply,
  GiveUp,
  type RepliedJob,
  type ReplyOptions,
  readStored,
  TryLater,
  type Worker,
  type WorkerAttempt,
  type WorkerOptions,
  type WorkerOutcome,
  type WorkerReply
} from "./workers/workerTypes.ts"

export type {
  ErasedReply,
  RepliedJob,
  ReplyOptions,
  Worker,
  WorkerAttempt,
  WorkerOptions,
  WorkerOutcome,
  WorkerReply,
  WorkerRetry
}
export { GiveUp, TryLater }

const minuteMillis = 60_000

/**
 * The pauses of a worker that names none: nine attempts within some nine hours.
 *
 * @example
 * ```ts
 * import { Worker } from "sluice"
 *
 * // a tenth attempt, a day later
 * export const patient = { pausesMillis: [...Worker.defaultRetry.pausesMillis, 24 * 3_600_000] }
 * ```
 */
export const defaultRetry: WorkerRetry = {
  pausesMillis: [
    1_000,
    5_000,
    30_000,
    2 * minuteMillis,
    10 * minuteMillis,
    30 * minuteMillis,
    120 * minuteMillis,
    360 * minuteMillis
  ]
}

const defaultTimeoutMillis = 30_000
const defaultConcurrency = 16
const defaultWindowMillis = 7 * 24 * 3_600_000

/** A reply without its types: it is only given jobs and outcomes of its own worker. */
const erasedReply = <Job, A, Command>(
  { actor, toCommand, windowMillis = defaultWindowMillis }: ReplyOptions<Job, A, Command>,
  decode: (encoded: unknown) => Job
): ErasedReply => ({
  // A value with the tag and the codecs of an actor is one; its other types do not matter here.
  actor: actor as unknown as AnyActor,
  windowMillis,
  toCommand: (outcome, { job, ...rest }) => toCommand(outcome as WorkerOutcome<A>, { ...rest, job: decode(job) })
})

/**
 * Defines a worker (docs/workers.md). Each record for which `toJob` gives a job causes exactly one; `run` is tried
 * until it succeeds, gives up, or has no attempts left. The outcome becomes a command, which counts once.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Actor, Engine, Publish, Worker } from "sluice"
 *
 * const Order = Actor.make({
 *   kind: "order",
 *   command: Schema.Union([Schema.Struct({ cents: Schema.Int }), Schema.Struct({ receipt: Schema.String })]),
 *   fact: Schema.Union([Schema.Struct({ cents: Schema.Int }), Schema.Struct({ receipt: Schema.String })]),
 *   state: Schema.String,
 *   reply: Schema.Void,
 *   initial: () => "",
 *   evolve: (receipt, fact) => ("receipt" in fact ? fact.receipt : receipt),
 *   decide: (_, command) => Actor.decided({ facts: [command] })
 * })
 *
 * const charge = Worker.make({
 *   name: "charge",
 *   from: Publish.facts(Order),
 *   job: Schema.Struct({ order: Schema.String, cents: Schema.Int }),
 *   toJob: ({ fact, key }) => ("cents" in fact ? { order: key, cents: fact.cents } : undefined),
 *   // a call of a payment service, with `key` as its idempotency key
 *   run: ({ cents }, { key }) => Effect.succeed(`${cents} under ${key.slice(0, 6)}`),
 *   reply: {
 *     actor: Order,
 *     toCommand: (outcome, { job }) =>
 *       outcome._tag === "Done" ? { key: job.order, command: { receipt: outcome.value } } : undefined
 *   }
 * })
 *
 * const program = Effect.gen(function* () {
 *   const engine = yield* Engine.Engine
 *   yield* engine.ask(Order, { organization: "acme", key: "1" }, { cents: 300 })
 *   yield* Worker.settled
 *   return yield* engine.state(Order, { organization: "acme", key: "1" })
 * })
 * const layer = Engine.layerMemory({ actors: [Order], workers: [charge] })
 * console.log(await Effect.runPromise(Effect.provide(program, layer))) // 300 under charge
 * ```
 */
export const make = <Source extends LogRecord, Job, A, E = never, R = never, Command = never>(
  options: WorkerOptions<Source, Job, A, E, R, Command>
): Worker<R> => {
  const { concurrency = defaultConcurrency, from, isFinal, isOrdered = false, name, reply, run, toJob } = options
  const codec = Schema.toCodecJson(options.job)
  const decode = Schema.decodeUnknownSync(codec)
  const encode = Schema.encodeUnknownSync(codec)
  return {
    name,
    concurrency,
    isOrdered,
    retry: options.retry ?? defaultRetry,
    timeoutMillis: options.timeoutMillis ?? defaultTimeoutMillis,
    wants: from.wants,
    jobOf: (record) => {
      // The source wants records of this type alone.
      const job = toJob(record as Source)
      return job === undefined ? undefined : encode(job)
    },
    run: (job, attempt) => run(decode(job), attempt),
    // It is only called with failures of `run`.
    isFinal: (error) => error instanceof GiveUp || isFinal?.(error as E) === true,
    reply: reply === undefined ? undefined : erasedReply(reply, decode)
  }
}

/**
 * Fails a job for good: the outside says no, and would say it again. Operators see the reason, and the reply has it, so
 * keep secrets out of it.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Worker } from "sluice"
 *
 * export const checked = (status: number) => (status === 402 ? Worker.giveUp("the card was declined") : Effect.void)
 * ```
 */
export const giveUp = (reason: string): Effect.Effect<never, GiveUp> => Effect.fail(new GiveUp({ reason }))

/**
 * Fails an attempt, and asks for a pause of at least that long before the next one: a `Retry-After` of the outside.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Worker } from "sluice"
 *
 * export const checked = (status: number) => (status === 429 ? Worker.tryLater("it is busy", 60_000) : Effect.void)
 * ```
 */
export const tryLater = (reason: string, afterMillis: number): Effect.Effect<never, TryLater> =>
  Effect.fail(new TryLater({ reason, afterMillis }))

/** A job that has failed for good. See {@link Worker.list}. */
export interface FailedJob {
  /** The idempotency key of its effect outside. */
  readonly key: string
  readonly partition: number
  readonly organization: string
  /** The job as its schema writes it; undefined if the row cannot be read. */
  readonly job: unknown
  readonly attempts: number
  /** The last attempt's, or that of the reply. */
  readonly error: string
}

/** A page of failed jobs. See {@link Worker.list}. */
export interface FailedJobs {
  /** In the order of their keys. */
  readonly jobs: ReadonlyArray<FailedJob>
  readonly hasMore: boolean
}

/** The failed jobs that are meant: one, those of an organization, both, or all. See {@link Worker.retry}. */
export interface FailedSelection {
  readonly key?: string
  readonly organization?: string
}

/** Most failed jobs of one page, and of one act. */
const maximumPage = 1_000

const unnamed = (worker: string) => new EngineRefused({ message: `no worker is named ${worker}` })

/** The workers of the engine, if one has that name. */
const workersOf = (worker: string) =>
  Effect.flatMap(Engine, (engine) => {
    const { workers } = internals(engine)
    const isKnown = workers?.loops.some(({ name }) => name === worker) === true
    return workers === undefined || !isKnown ? Effect.fail(unnamed(worker)) : Effect.succeed(workers)
  })

/**
 * Lists the failed jobs of a worker, of all partitions, in pages of at most 1,000.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Worker } from "sluice"
 *
 * // whether somebody must look
 * export const isStuck = Effect.map(Worker.list("charge", { limit: 1 }), ({ jobs }) => jobs.length > 0)
 * ```
 */
export const list = (
  worker: string,
  page: { readonly organization?: string; readonly after?: string; readonly limit: number }
): Effect.Effect<FailedJobs, EngineRefused | WorkerJobsUnavailable, Engine> =>
  Effect.gen(function* () {
    const { jobs } = yield* workersOf(worker)
    if (!Number.isInteger(page.limit) || page.limit < 1)
      return yield* new EngineRefused({ message: `a page has 1 to ${maximumPage} jobs, not ${page.limit}` })
    const limit = Math.min(page.limit, maximumPage)
    const found = yield* jobs.failed(worker, { ...page, limit: limit + 1 })
    return {
      jobs: found.slice(0, limit).map(({ attempts, error, id, organization, partition, payload }) => {
        const job = readStored(payload)?.job
        return { key: id, partition, organization, job, attempts: attemptOf(attempts), error }
      }),
      hasMore: found.length > limit
    }
  })

const selectionOf = ({ key, organization }: FailedSelection) => ({ id: key, organization, limit: maximumPage })

/**
 * Lets failed jobs be tried again, with all their attempts and the same keys: one, those of an organization, or all, at
 * most 1,000 at a call. Returns their number. A job whose reply has failed is only replied again. The outcome is
 * replied even if a failure was replied before.
 *
 * @example
 * ```ts
 * import { Worker } from "sluice"
 *
 * // after the payment service is back
 * export const repaired = Worker.retry("charge", { organization: "acme" })
 * ```
 */
export const retry = (
  worker: string,
  selection: FailedSelection = {}
): Effect.Effect<number, EngineRefused | WorkerJobsUnavailable, Engine> =>
  Effect.gen(function* () {
    const { jobs, loops } = yield* workersOf(worker)
    const retried = yield* jobs.retry(worker, selectionOf(selection), yield* Clock.currentTimeMillis)
    for (const loop of loops) loop.notify()
    return retried
  })

/**
 * Gives up failed jobs, at most 1,000 at a call. Returns their number. Nothing is replied.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Worker } from "sluice"
 *
 * // somebody has paid by hand
 * export const paid = (key: string) => Effect.map(Worker.dismiss("charge", { key }), (dismissed) => dismissed === 1)
 * ```
 */
export const dismiss = (
  worker: string,
  selection: FailedSelection
): Effect.Effect<number, EngineRefused | WorkerJobsUnavailable, Engine> =>
  Effect.flatMap(workersOf(worker), ({ jobs }) => jobs.dismiss(worker, selectionOf(selection)))

/**
 * Waits until every record stored so far has caused its jobs, and all of them are done or have failed, with the records
 * and jobs that their replies cause, on the partitions of this process: for tests.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Worker } from "sluice"
 *
 * // For tests: the effects outside that an act causes.
 * export const afterwards = <A, E, R>(act: Effect.Effect<A, E, R>) => Effect.tap(act, () => Worker.settled)
 * ```
 */
export const settled: Effect.Effect<void, WorkerJobsUnavailable, Engine> = Effect.flatMap(Engine, (engine) =>
  settleWorkers(internals(engine))
)
