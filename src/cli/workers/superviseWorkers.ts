/**
 * Supervises the workers of `sluice serve --workers`: starts a process for each, restarts those that end, and stops
 * them one after the other, so that each hands its partitions to the rest. They share their listeners by
 * `node:cluster`, whose connections go to the workers in turn, and not by sockets of their own (`reusePort`): that
 * needs Node 23.1 and not every system has it, kept connections are the rule and cost the same, and a share is even
 * (docs/cluster.md has the figures). A connection being handed to a worker that is killed gets no answer. Needs no
 * service.
 */
import type { Worker } from "node:cluster"
import { Clock, Data, Duration, Effect, type Scope } from "effect"
import { Pauses } from "../../common/backoff.ts"
import { mergedMetrics } from "./mergedMetrics.ts"
import { type FromWorker, isOurs, type Ready, type ToWorker, type WorkerSeat, workerVariable } from "./messages.ts"

/** Pauses before a worker that has ended is started again. */
const firstPauseMillis = 100
const longestPauseMillis = 10_000

/** A worker that lived so long before it ended is started again with the first pause. */
const forgivenMillis = 60_000

/** Starts of a worker in a row that may fail while no other one serves. */
const maximumFailures = 5

/** How long a worker has to hand its partitions over and to answer what it was asked. */
const stopMillis = 15_000

/** How long a worker has to say its metrics. */
const collectMillis = 1_000

export interface WorkersOptions {
  readonly count: number
  readonly seatOf: (number: number) => WorkerSeat
  /** A worker serves, for the first time or again. */
  readonly serves: (number: number, ready: Ready) => Effect.Effect<void>
  /** All of them serve for the first time. */
  readonly allServe: (announcement: string) => Effect.Effect<void>
  readonly progress: (line: string) => Effect.Effect<void>
}

/** A worker cannot start. Its own words come before this sentence. */
export class WorkerNotStarted extends Data.TaggedError("WorkerNotStarted")<{
  readonly number: number
  readonly how: string
}> {
  override get message(): string {
    return `Worker ${this.number} ended with ${this.how} before it served, for the reason above; the other workers are stopped`
  }
}

/** One process in a seat. */
interface Life {
  readonly worker: Worker
  readonly ready: Promise<Ready>
  readonly ended: Promise<string>
  isServing: boolean
}

class Workers {
  /** The living, by number. */
  readonly lives = new Map<number, Life>()
  private readonly fork: (number: number) => Worker
  private readonly options: WorkersOptions
  private readonly collects = new Map<number, (text: string) => void>()
  private asked = 0
  private gathering: Promise<string> | undefined = undefined

  constructor(fork: (number: number) => Worker, options: WorkersOptions) {
    this.fork = fork
    this.options = options
  }

  start(number: number): Life {
    const worker = this.fork(number)
    let tellReady: (ready: Ready) => void = () => {}
    const ready = new Promise<Ready>((resolve) => {
      tellReady = resolve
    })
    const ended = new Promise<string>((resolve) => {
      worker.once("exit", (code, signal) => {
        if (this.lives.get(number) === life) this.lives.delete(number)
        resolve(signal === null ? `code ${code}` : signal)
      })
    })
    const life: Life = { worker, ready, ended, isServing: false }
    this.lives.set(number, life)
    // A message to a process that has just ended.
    worker.on("error", () => {})
    worker.on("message", (message: unknown) => {
      if (isOurs(message)) this.heard(number, life, message as FromWorker, tellReady)
    })
    return life
  }

  private heard(number: number, life: Life, message: FromWorker, tellReady: (ready: Ready) => void): void {
    if (message.sluice === "sit") tell(life, { sluice: "seat", seat: this.options.seatOf(number) })
    else if (message.sluice === "own") this.collects.get(message.id)?.(message.text)
    else if (message.sluice === "ready") {
      life.isServing = true
      tellReady(message.ready)
    } else {
      // Concurrent callers get the same text.
      this.gathering ??= this.gather().finally(() => {
        this.gathering = undefined
      })
      void this.gathering.then((text) => tell(life, { sluice: "collected", id: message.id, text }))
    }
  }

  private async gather(): Promise<string> {
    const numbers = Array.from({ length: this.options.count }, (_, index) => index + 1)
    const texts = await Promise.all(numbers.map((number) => this.collect(this.lives.get(number))))
    return mergedMetrics(new Map(numbers.map((number, index) => [number, texts[index]])))
  }

  private collect(life: Life | undefined): Promise<string | undefined> {
    if (life?.isServing !== true) return Promise.resolve(undefined)
    const id = ++this.asked
    return new Promise((resolve) => {
      const done = (text: string | undefined) => {
        clearTimeout(timer)
        this.collects.delete(id)
        resolve(text)
      }
      const timer = setTimeout(() => done(undefined), collectMillis)
      this.collects.set(id, done)
      tell(life, { sluice: "collect", id })
    })
  }
}

const tell = ({ worker }: Life, message: ToWorker): void => {
  if (worker.isConnected()) worker.send(message, undefined, () => {})
}

/**
 * Tells a worker to stop, and ends it where it does not in time. The time is not the fiber's: what stops cannot be
 * interrupted.
 */
const stop = async ({ ended, worker }: Life): Promise<void> => {
  worker.process.kill("SIGTERM")
  const timer = setTimeout(() => worker.process.kill("SIGKILL"), stopMillis)
  await ended
  clearTimeout(timer)
}

/** Stops the workers in order: the later ones take what an earlier one hands over. */
const stopAll = ({ lives }: Workers) =>
  Effect.forEach(
    [...lives].sort(([one], [other]) => one - other),
    ([, life]) => Effect.promise(() => stop(life)),
    { discard: true }
  )

/** Runs the workers until the scope ends, or until one cannot start. */
export const superviseWorkers = Effect.fnUntraced(function* (
  options: WorkersOptions
): Effect.fn.Return<never, WorkerNotStarted, Scope.Scope> {
  const { default: cluster } = yield* Effect.promise(() => import("node:cluster"))
  cluster.schedulingPolicy = cluster.SCHED_RR
  const workers = new Workers((number) => cluster.fork({ [workerVariable]: `${number}` }), options)
  yield* Effect.addFinalizer(() => stopAll(workers))
  const served = new Set<number>()

  const keep = Effect.fnUntraced(function* (number: number): Effect.fn.Return<never, WorkerNotStarted> {
    const pauses = new Pauses(firstPauseMillis, longestPauseMillis)
    let failures = 0
    while (true) {
      const startedAt = yield* Clock.currentTimeMillis
      const life = workers.start(number)
      const first = yield* Effect.promise(() => Promise.race([life.ready, life.ended]))
      if (typeof first === "object") {
        failures = 0
        yield* options.serves(number, first)
        const isLast = served.size < options.count && served.add(number).size === options.count
        if (isLast) yield* options.allServe(first.announcement)
      } else failures++
      const how = yield* Effect.promise(() => life.ended)
      const isAlone = ![...workers.lives.values()].some(({ isServing }) => isServing)
      if (failures > 0 && (served.size < options.count || (isAlone && failures >= maximumFailures)))
        return yield* new WorkerNotStarted({ number, how })
      yield* options.progress(`Worker ${number} ended with ${how}, and is started again`)
      if ((yield* Clock.currentTimeMillis) - startedAt >= forgivenMillis) pauses.reset()
      yield* Effect.sleep(Duration.millis(pauses.afterFailure()))
    }
  })
  const numbers = Array.from({ length: options.count }, (_, index) => index + 1)
  yield* Effect.forEach(numbers, keep, { concurrency: "unbounded", discard: true })
  return yield* Effect.never
})
