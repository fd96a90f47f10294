/** Defines a worker: its options, the outcome of its jobs, and the rows in which they are stored (docs/workers.md). */
import { Data, type Effect } from "effect"
import type { Actor, AnyActor, JsonCodec } from "../Actor.ts"
import { maximumOnceWindowMillis, minimumOnceWindowMillis } from "../limits.ts"
import type { PublishSource } from "../Publish.ts"
import type { LogRecord } from "../records.ts"
import { retryProblem, type WorkerRetry } from "./workerRules.ts"

/** An attempt at a job. See {@link Worker.make}. */
export interface WorkerAttempt {
  /**
   * The idempotency key for the call outside: the same at every attempt, in every process, and no other job's. 1 to 128
   * letters, digits, `-`, `_` and `.`.
   */
  readonly key: string
  /** From 1. */
  readonly attempt: number
  readonly organization: string
  /** The time of the record's frame, milliseconds since the Unix epoch. */
  readonly recordedAt: number
}

/** The end of a job, as its reply says it. See {@link Worker.make}. */
export type WorkerOutcome<A> =
  | { readonly _tag: "Done"; readonly value: A }
  /** `reason` is the last attempt's, at most 500 characters. The effect may have happened without an answer. */
  | { readonly _tag: "Failed"; readonly reason: string; readonly attempts: number }

/** The job whose outcome is replied. See {@link Worker.make}. */
export interface RepliedJob<Job> {
  readonly job: Job
  readonly key: string
  readonly organization: string
}

/** A command to an actor of the job's organization. See {@link Worker.make}. */
export interface WorkerReply<Command> {
  /** The actor's key; default "". */
  readonly key?: string
  readonly command: Command
}

/** How the outcome of a job becomes a command. See {@link Worker.make}. */
export interface ReplyOptions<Job, A, Command> {
  /** An actor of the engine, with a schema of its `reply`. */
  readonly actor: Pick<
    Actor<Command, never, never, unknown, unknown>,
    "_tag" | "kind" | "encodeCommand" | "decodeCommand"
  >
  /** The command that the outcome means; undefined if none. Pure. */
  readonly toCommand: (outcome: WorkerOutcome<A>, job: RepliedJob<Job>) => WorkerReply<Command> | undefined
  /** How long a repeated reply is recognized: 1 second to 30 days in milliseconds, default 7 days. */
  readonly windowMillis?: number
}

/** A worker, as the engine runs it. Made by `make`. See {@link Worker.make}. */
export interface Worker<out R = never> {
  readonly name: string
  readonly wants: (record: LogRecord) => boolean
  /** The job of a record as its schema writes it; undefined if none. Throws if `toJob` or the schema does. */
  readonly jobOf: (record: LogRecord) => unknown
  /** Begins an attempt at a job of that form. Throws if it cannot be read. */
  readonly run: (job: unknown, attempt: WorkerAttempt) => Effect.Effect<unknown, unknown, R>
  readonly isFinal: (error: unknown) => boolean
  readonly reply: ErasedReply | undefined
  readonly retry: WorkerRetry
  readonly timeoutMillis: number
  readonly concurrency: number
  readonly isOrdered: boolean
}

/** A worker's reply without its types. See {@link Worker.make}. */
export interface ErasedReply {
  readonly actor: AnyActor
  readonly windowMillis: number
  readonly toCommand: (outcome: WorkerOutcome<unknown>, job: RepliedJob<unknown>) => WorkerReply<unknown> | undefined
}

/** The definition of a worker. See {@link Worker.make}. */
export interface WorkerOptions<Source extends LogRecord, Job, A, E, R, Command> {
  /**
   * Unique in the engine, stored with the jobs and part of their keys: never rename it. 1 to 32 small letters, digits,
   * `_` and `-`, beginning with a letter.
   */
  readonly name: string
  /** The records that may cause jobs: `Publish.facts(actor)` or `Publish.events(types)`. */
  readonly from: PublishSource<Source>
  /** The schema of jobs, which are stored as JSON of at most 64 KiB. */
  readonly job: JsonCodec<Job>
  /** The job of a record; undefined if it causes none. Pure. */
  readonly toJob: (record: NoInfer<Source>) => NoInfer<Job> | undefined
  /** The effect outside. It is interrupted at its deadline, and may run again after any end: hand its key on. */
  readonly run: (job: NoInfer<Job>, attempt: WorkerAttempt) => Effect.Effect<A, E, R>
  /** The pauses between attempts; default `defaultRetry`. */
  readonly retry?: WorkerRetry
  /** Whether no other attempt can help after this error; `GiveUp` is final anyway. */
  readonly isFinal?: (error: NoInfer<E>) => boolean
  /** The command that an outcome becomes. */
  readonly reply?: ReplyOptions<NoInfer<Job>, NoInfer<A>, Command>
  /** The deadline of an attempt, 1 ms to 15 minutes; default 30 seconds. */
  readonly timeoutMillis?: number
  /** Concurrent attempts in a process, 1 to 1,024; default 16. One organization alone has half of them. */
  readonly concurrency?: number
  /**
   * Whether an organization's jobs go one after the other, in the order of the log; default false. One that has failed
   * for good does not hold up the next.
   */
  readonly isOrdered?: boolean
}

/**
 * Fails a job for good: no other attempt can help. `reason` is shown to operators and replied, so keep secrets out of
 * it. Made by `giveUp`. See {@link Worker.giveUp}.
 */
export class GiveUp extends Data.TaggedError("GiveUp")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/**
 * Fails an attempt: the next one comes after `afterMillis` at the earliest. Made by `tryLater`. See
 * {@link Worker.tryLater}.
 */
export class TryLater extends Data.TaggedError("TryLater")<{
  readonly reason: string
  readonly afterMillis: number
}> {
  override get message(): string {
    return this.reason
  }
}

/** The stored form of a job. */
export interface StoredJob {
  /** The time of the record's frame. */
  readonly at: number
  /** The job as its schema writes it. */
  readonly job: unknown
  /** How often an operator has let it begin anew: each time has a reply of its own. */
  readonly round: number
  /** Set once the outcome is known: the job is not run again. */
  readonly answer?: StoredAnswer
}

/** An outcome that is stored before it is replied. */
export interface StoredAnswer {
  /** Why the job has failed; absent if it is done. */
  readonly failure?: string
  /** The reply that is still to be asked; absent if there is none. */
  readonly reply?: { readonly key: string; readonly command: unknown }
}

/** Reads a stored job; undefined if somebody has written something else there. */
export const readStored = (payload: string): StoredJob | undefined => {
  try {
    const stored = JSON.parse(payload) as StoredJob | null
    return typeof stored?.round === "number" && "job" in stored ? stored : undefined
  } catch {
    return undefined
  }
}

/** The largest job as JSON, in UTF-16 units. */
export const maximumJobLength = 64 * 1024

const maximumWorkers = 64
const maximumConcurrency = 1_024
const maximumTimeoutMillis = 15 * 60_000

const isWhole = (value: number, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && value >= least && value <= most

const workerProblem = ({ concurrency, name, reply, retry, timeoutMillis }: Worker<unknown>): string | undefined => {
  if (!/^[a-z][a-z0-9_-]{0,31}$/.test(name))
    return `its name must be 1 to 32 small letters, digits, _ and -, beginning with a letter`
  if (!isWhole(concurrency, 1, maximumConcurrency)) return `concurrency is 1 to ${maximumConcurrency}`
  if (!isWhole(timeoutMillis, 1, maximumTimeoutMillis)) return `timeoutMillis is 1 to ${maximumTimeoutMillis}`
  if (reply !== undefined && reply.actor.options.reply === undefined)
    return `the actor of its replies, ${reply.actor.kind}, has no schema of its reply, so none can be remembered`
  if (reply !== undefined && !isWhole(reply.windowMillis, minimumOnceWindowMillis, maximumOnceWindowMillis))
    return `windowMillis is ${minimumOnceWindowMillis} to ${maximumOnceWindowMillis}`
  return retryProblem(retry)
}

/** Why an engine with these actors cannot have these workers; undefined if it can. */
export const workersProblem = (
  workers: ReadonlyArray<Worker<unknown>>,
  actors: ReadonlyArray<AnyActor>
): string | undefined => {
  if (workers.length > maximumWorkers) return `${workers.length} workers are more than ${maximumWorkers}`
  const names = new Set<string>()
  for (const worker of workers) {
    const { name, reply } = worker
    const problem = workerProblem(worker)
    if (problem !== undefined) return `worker "${name}": ${problem}`
    if (names.has(name)) return `two workers are named ${name}`
    names.add(name)
    if (reply !== undefined && !actors.includes(reply.actor))
      return `worker "${name}": ${reply.actor.kind} is not among the engine's actors`
  }
  return undefined
}
