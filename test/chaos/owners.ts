/**
 * The processes that run the engine, and what happens to them: one owns the partitions, is killed or stopped for a while, and a second
 * one takes over. Whichever is current gets the callers.
 */
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { placementLock } from "../../src/postgres/PlacementPostgres.ts"
import type { Callers } from "./callers.ts"
import type { ProcessFault } from "./plan.ts"
import type { WorkerSettings } from "./protocol.ts"
import type { Server } from "./servers.ts"
import { WorkerProcess } from "./workerProcess.ts"

/** A condition that has not come after this long never will. */
export const patienceMillis = 120_000
const lookMillis = 10

/** Asks sent to a stopped owner, of each kind. */
const probes = 256

/** Bookings that must be acknowledged before the callers count as served. */
const progress = 1_000

export interface OwnersOptions {
  readonly settings: WorkerSettings
  readonly callers: Callers
  readonly postgres: Server
  readonly nats: Server
  /** How long a stopped owner is stopped. */
  readonly pauseMillis: number
  readonly violation: (text: string) => void
}

export class Owners {
  readonly all: Array<WorkerProcess> = []
  /** Starts that ended before the engine was there, as a server was away. */
  failedStarts = 0
  private readonly options: OwnersOptions
  private current: WorkerProcess | undefined
  private count = 0

  constructor(options: OwnersOptions) {
    this.options = options
  }

  /** Waits for a condition; a process that ends by itself meanwhile is a violation. */
  until(what: string, condition: () => boolean): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      while (!condition()) {
        this.lookForEnds()
        yield* Effect.sleep(lookMillis)
      }
    }).pipe(
      Effect.timeoutOrElse({
        duration: patienceMillis,
        orElse: () => Effect.die(new Error(`waited ${patienceMillis / 1000} s until ${what}\n${this.describe()}`))
      })
    )
  }

  /** What the processes are doing and have logged, for the message of a failure. */
  describe(): string {
    return this.all
      .filter((worker) => worker.end === undefined || !worker.ending)
      .map((worker) => {
        const state = worker.end === undefined ? worker.partitions.join() : `ended with ${worker.end}`
        return `${worker.name}: ${state}\n${worker.log}`
      })
      .join("\n")
  }

  /** Starts a first owner. */
  begin = Effect.gen({ self: this }, function* () {
    this.become(yield* this.start())
    yield* this.served
  })

  /** Waits until callers are acknowledged again, on every partition. */
  readonly served: Effect.Effect<void> = Effect.suspend(() => {
    const { callers } = this.options
    const before = [...callers.acknowledged]
    const total = callers.acknowledgedCount
    return this.until(
      "every partition acknowledges decisions again",
      () =>
        this.current?.serves === true &&
        callers.acknowledgedCount >= total + progress &&
        callers.acknowledged.every((count, partition) => count > before[partition]!)
    )
  })

  /** Asks that wait at the current owner. */
  get waitingAsks(): number {
    return this.current?.waitingAsks ?? 0
  }

  apply(fault: ProcessFault): Effect.Effect<void, never, SqlClient.SqlClient> {
    switch (fault._tag) {
      case "KillOwner":
        return this.killOwner
      case "PauseOwner":
        return this.pauseOwner
      case "ReplaceOwner":
        return this.replaceOwner(fault)
    }
  }

  /** Ends the owner in order and starts another one. */
  readonly restart: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const owner = this.leave()
    yield* Effect.promise(() => owner.stop())
    this.become(yield* this.start())
    yield* this.until("the restarted process serves", () => this.current?.serves === true)
  })

  /** The process that owns the partitions. */
  get owner(): WorkerProcess {
    return this.current!
  }

  /** Kills everything. */
  readonly close: Effect.Effect<void> = Effect.promise(() =>
    Promise.all(this.all.filter(({ end }) => end === undefined).map((worker) => worker.kill()))
  )

  private readonly killOwner: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const owner = this.leave()
    yield* Effect.promise(() => owner.kill())
    this.become(yield* this.start())
  })

  private readonly pauseOwner: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { owner } = this
    yield* Effect.promise(() => owner.freeze())
    yield* Effect.sleep(this.options.pauseMillis)
    owner.thaw()
  })

  private replaceOwner(fault: Extract<ProcessFault, { readonly _tag: "ReplaceOwner" }>) {
    return Effect.gen({ self: this }, function* () {
      const { callers, nats, pauseMillis, postgres } = this.options
      const first = this.leave()
      const { restarts } = first.figures
      if (fault.moment !== "busy") yield* this.until("all asks are answered", () => first.waitingAsks === 0)
      yield* Effect.promise(() => first.freeze())
      const pause = yield* Effect.forkChild(Effect.sleep(pauseMillis), { startImmediately: true })
      yield* fault.lockLoss === "PostgreSQL killed" ? postgres.kill : endLockSession
      const second = yield* this.start()
      this.become(second)
      first.giveUp()
      yield* this.served

      // Read by the first owner when it goes on, after its time; bookings later, as they would find the fence first.
      const looks = Array.from({ length: probes }, () => callers.probe(first))
      yield* Fiber.join(pause)
      const thawed = Effect.suspend(() => {
        first.thaw()
        return this.answered(looks)
      })
      yield* fault.moment === "blind" ? nats.pausedWhile(thawed) : thawed
      yield* this.answered(Array.from({ length: probes }, () => callers.bookOnce(first)))
      // By its fence, or, when an append under way has outlived its time with the pause, by asking who owns the partitions.
      yield* this.until("the replaced owner has given a partition up", () => first.figures.restarts > restarts)
      // One that was fenced before could be fenced a third time within a minute, and would rightly stop for good.
      if (fault.afterwards === "first owner killed" || first.replaced) {
        yield* Effect.promise(() => first.kill())
        return
      }
      first.replaced = true
      this.leave()
      yield* Effect.promise(() => second.kill())
      yield* this.until("the first owner serves again", () => first.serves)
      this.become(first)
    })
  }

  private answered(asks: ReadonlyArray<Promise<unknown>>): Effect.Effect<void> {
    return Effect.promise(() => Promise.all(asks)).pipe(
      Effect.timeoutOrElse({
        duration: patienceMillis,
        orElse: () => Effect.die(new Error(`an owner that was replaced did not answer\n${this.describe()}`))
      }),
      Effect.asVoid
    )
  }

  private become(worker: WorkerProcess): void {
    this.current = worker
    this.options.callers.route(worker)
  }

  /** Callers wait until there is another owner. */
  private leave(): WorkerProcess {
    const { owner } = this
    this.options.callers.route(undefined)
    return owner
  }

  /** Starts a process, again where it ends before its engine is there; returns when it takes asks. */
  private start(): Effect.Effect<WorkerProcess> {
    return Effect.gen({ self: this }, function* () {
      while (true) {
        const worker = new WorkerProcess(`process ${++this.count}`, this.options.settings)
        this.all.push(worker)
        worker.ending = true
        yield* this.until(`${worker.name} has started`, () => worker.started || worker.end !== undefined)
        if (worker.end === undefined) {
          worker.ending = false
          return worker
        }
        this.failedStarts++
      }
    })
  }

  private lookForEnds(): void {
    for (const worker of this.all) {
      if (worker.ending || worker.end === undefined) continue
      worker.ending = true
      this.options.violation(`${worker.name} ended by itself with ${worker.end}:\n${worker.log}`)
    }
  }
}

/** Ends the session that holds the lock of the partitions, as an operator would; tried until the server does it. */
const endLockSession = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like ${`%lock ${placementLock}`}`.pipe(Effect.retry({ while: () => true }), Effect.orDie)
})
