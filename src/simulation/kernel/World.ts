/**
 * Simulates the machine room: one event loop with virtual time, and processes that can be paused, killed and given a
 * wrong clock. Every part of a simulation runs in here, one task after the other, so that a seed decides everything:
 * which ready task is next, how long a message takes, when a fiber must yield. Gives each process effect's Clock,
 * Random and Scheduler. Needs no service.
 */
import { Clock, Context, Duration, Effect, Logger, Metric, Random, References, Scheduler } from "effect"
import { Heap, type HeapEntry } from "../../common/Heap.ts"
import { Prng } from "./Prng.ts"

/** The longest time that a process measures by both of its clocks: the age of a proof of its ownership. */
const measuredMillis = 5_000

/** The wall clock of a simulation at its beginning: 2026-01-01, milliseconds since the Unix epoch. */
export const epochMillis = 1_767_225_600_000

/** The number of tasks after which a simulation counts as an endless loop. */
const maximumTasks = 400_000
const maximumBusyOperations = 10_000_000

interface Task {
  readonly process: SimulatedProcess | undefined
  readonly run: () => void
}

interface Timer extends Task, HeapEntry {
  readonly at: number
  readonly order: number
  cancelled: boolean
}

/** How the event loop behaves; part of a scenario. See {@link engineCheckers}. */
export interface WorldOptions {
  readonly seed: number
  /** The probability, 0 to 1, of taking another ready task than the oldest. */
  readonly disorder: number
  /** Most operations before a fiber must yield. The actual number is drawn from 1 to this each time. */
  readonly sliceOperations: number
  /** By how much every read of the monotonic clock moves it: a slow processor, microseconds. */
  readonly dragMicros: number
}

/**
 * A process of the simulated deployment. Killed, it never runs again and none of its finalizers do. See
 * {@link engineCheckers}.
 */
export class SimulatedProcess {
  readonly id: number
  readonly world: World
  readonly services: Context.Context<never>
  alive = true
  paused = false
  /** How far its wall clock is ahead of the true time, milliseconds. */
  clockOffset = 0
  /** The time at which the wall clock is stopped. */
  clockStoppedAt: number | undefined = undefined
  held: Array<() => void> = []
  /** How far its monotonic clock is behind because it was stopped during suspensions, milliseconds. */
  private monotonicLag = 0
  private suspendedAt: number | undefined = undefined
  /**
   * Time that none of its clocks has shown: its wall clock was set back while its monotonic clock was stopped, or so
   * shortly before that both fall into one measurement. Of such a measurement the wall clock shows too little by the
   * setback, and the monotonic clock nothing of the suspension.
   */
  hiddenMillis = 0
  /** The latest setbacks of its wall clock while its monotonic clock ran. */
  private setbacks: Array<{ readonly at: number; readonly millis: number }> = []
  private operations: number
  private readonly slices: Prng

  constructor(world: World, id: number, logger: Logger.Logger<unknown, void>) {
    this.id = id
    this.world = world
    this.slices = new Prng(world.options.seed, `slices ${id}`)
    this.operations = this.nextSlice()
    const context = Context.empty().pipe(
      Context.add(Clock.Clock, this.clock),
      Context.add(Random.Random, new Prng(world.options.seed, `process ${id}`).service),
      Context.add(Scheduler.Scheduler, this.scheduler),
      Context.add(Metric.MetricRegistry, world.metrics),
      Context.add(References.TracerEnabled, false),
      Context.add(Logger.CurrentLoggers, new Set([logger]))
    )
    this.services = context as Context.Context<never>
  }

  /** Milliseconds since the Unix epoch, as this process sees it. */
  wallMillis = (): number =>
    this.clockStoppedAt ?? Math.floor(epochMillis + this.world.now + this.world.leapt + this.clockOffset)

  private nextSlice(): number {
    return this.slices.int(1, this.world.options.sliceOperations)
  }

  readonly clock: Clock.Clock = {
    currentTimeMillisUnsafe: this.wallMillis,
    currentTimeMillis: Effect.sync(this.wallMillis),
    currentTimeNanosUnsafe: () => BigInt(this.wallMillis()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(this.wallMillis()) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => this.nanos(),
    monotonicTimeNanos: Effect.sync(() => this.nanos()),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const cancel = this.world.after(Duration.toMillis(duration), this, () => resume(Effect.void))
        return Effect.sync(cancel)
      })
  }

  readonly scheduler: Scheduler.Scheduler = {
    executionMode: "async",
    shouldYield: (fiber) => {
      if (fiber.currentOpCount < this.operations) return false
      this.world.busy += this.operations
      this.operations = this.nextSlice()
      return true
    },
    makeDispatcher: () => this.dispatcher
  }

  private readonly dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (run) => this.world.ready(this, run),
    flush: () => {}
  }

  private nanos(): bigint {
    const nanos = this.world.nanos()
    return this.monotonicLag === 0 ? nanos : nanos - BigInt(Math.round(this.monotonicLag * 1e6))
  }

  /**
   * Suspends the process: its monotonic clock is stopped until it is resumed. Its wall clock continues, like the
   * machine's hardware clock, even if it was stopped before, since a process without any running clock cannot know that
   * time has passed.
   */
  suspend(): void {
    this.suspendedAt = this.world.now
    this.clockStoppedAt = undefined
    for (const { at, millis } of this.setbacks) if (at > this.world.now - measuredMillis) this.hiddenMillis += millis
    this.setbacks = []
  }

  /** Sets the wall clock forward or back. */
  jump(millis: number): void {
    this.clockOffset += millis
    if (millis >= 0) return
    if (this.isSuspended) this.hiddenMillis -= millis
    else this.setbacks.push({ at: this.world.now, millis: -millis })
  }

  get isSuspended(): boolean {
    return this.suspendedAt !== undefined
  }

  kill(): void {
    this.alive = false
    this.held = []
  }

  /** Pauses the process until `resume`; events for it wait until then. */
  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    if (this.suspendedAt !== undefined) this.monotonicLag += this.world.now - this.suspendedAt
    this.suspendedAt = undefined
    for (const run of this.held.splice(0)) this.world.ready(this, run)
  }
}

/** The processes of a scenario and their event loop, on virtual time. See {@link engineCheckers}. */
export class World {
  readonly options: WorldOptions
  readonly metrics: Metric.MetricRegistry = new Map()
  /** Monotonic time since the beginning, milliseconds with a fraction. */
  now = 0
  /** How far all wall clocks, and those of future processes, were set forward together, milliseconds. */
  leapt = 0
  tasksRun = 0
  /** Operations since the running fiber last yielded. */
  busy = 0
  /** Whether time is stopped for good, because the violation is found. */
  isOver = false
  private readonly order: Prng
  private readonly queue: Array<Task> = []
  private queueHead = 0
  private readonly timers = new Heap<Timer>((left, right) => left.at - right.at || left.order - right.order)
  private timerCount = 0

  constructor(options: WorldOptions) {
    this.options = options
    this.order = new Prng(options.seed, "order")
  }

  /** Monotonic nanoseconds; each read takes `dragMicros`. */
  nanos(): bigint {
    this.now += this.options.dragMicros / 1000
    if (this.nanosAt !== this.now) {
      this.nanosAt = this.now
      this.nanosNow = BigInt(Math.round(this.now * 1e6))
    }
    return this.nanosNow
  }
  private nanosAt = 0
  private nanosNow = 0n

  /** Adds a task that can run now. */
  ready(process: SimulatedProcess | undefined, run: () => void): void {
    this.queue.push({ process, run })
  }

  /**
   * Runs a task after some time; calling the answer cancels it. Without a process the task belongs to the machine room
   * itself.
   */
  after(millis: number, process: SimulatedProcess | undefined, run: () => void): () => void {
    const timer: Timer = { at: this.now + millis, order: this.timerCount++, process, run, cancelled: false, index: 0 }
    this.timers.push(timer)
    return () => {
      timer.cancelled = true
    }
  }

  /** Runs ready tasks, at most `maximum`. */
  run(maximum: number): void {
    for (let count = 0; count < maximum && this.queueHead < this.queue.length; count++) {
      const task = this.take()
      const { process } = task
      if (process !== undefined) {
        if (!process.alive) continue
        if (process.paused) {
          process.held.push(task.run)
          continue
        }
      }
      if (++this.tasksRun > maximumTasks || this.busy > maximumBusyOperations) {
        throw new RunawaySimulation(`it ran ${this.tasksRun} tasks and ${this.busy} operations without a pause`)
      }
      task.run()
    }
    if (this.queueHead >= this.queue.length && this.queueHead > 0) {
      this.queue.length = 0
      this.queueHead = 0
    }
  }

  /** Advances time: everything that is due meanwhile happens at its time. */
  advance(millis: number): void {
    this.advanceUntil(this.now + millis, () => false)
  }

  /** Advances time until a condition holds, at most up to a time. Returns whether it holds. */
  advanceUntil(end: number, done: () => boolean): boolean {
    while (!this.isOver) {
      this.run(Number.POSITIVE_INFINITY)
      if (done()) return true
      const next = this.timers.first
      if (next === undefined || next.at > end) {
        this.now = Math.max(this.now, end)
        return false
      }
      this.timers.remove(next)
      if (next.cancelled || (next.process !== undefined && !next.process.alive)) continue
      this.now = Math.max(this.now, next.at)
      this.ready(next.process, next.run)
    }
    return false
  }

  private take(): Task {
    const { queue } = this
    const waiting = queue.length - this.queueHead
    if (waiting > 1 && this.order.chance(this.options.disorder)) {
      const index = this.queueHead + this.order.int(0, Math.min(waiting, 16) - 1)
      const [task] = queue.splice(index, 1)
      return task!
    }
    const task = queue[this.queueHead]!
    queue[this.queueHead++] = undefined as never
    if (this.queueHead > 1024) {
      queue.splice(0, this.queueHead)
      this.queueHead = 0
    }
    return task
  }
}

/** The simulation does not come to rest. */
export class RunawaySimulation extends Error {}
