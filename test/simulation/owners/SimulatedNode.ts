/**
 * A node of a simulation with several owners: the real engine and the real tenure, over simulated stores, placement and messages. Killed, only
 * what it stored is left.
 */
import { Context, Effect, Exit, Fiber, Logger, Scope } from "effect"
import { formatLevels, type KnownFormats } from "../../../src/common/formatLevels.ts"
import { type Engine, make } from "../../../src/engine/Engine.ts"
import * as PartitionOwnership from "../../../src/engine/PartitionOwnership.ts"
import { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import { Cursors } from "../../../src/engine/ports/Cursors.ts"
import { Journal } from "../../../src/engine/ports/Journal.ts"
import { Placement } from "../../../src/engine/ports/Placement.ts"
import { Remote } from "../../../src/engine/ports/Remote.ts"
import { internals } from "../../../src/engine/shell/partition/internals.ts"
import type { Partition } from "../../../src/engine/shell/partition/Partition.ts"
import { noteMessage } from "../../../src/simulation/engine/Marks.ts"
import { makeJournal } from "../../../src/simulation/engine/SimulatedJournal.ts"
import { makeCheckpoints, makeCursors } from "../../../src/simulation/engine/SimulatedStores.ts"
import type { HostedProcess } from "../../../src/simulation/kernel/Host.ts"
import { SimulatedProcess } from "../../../src/simulation/kernel/World.ts"
import { Allowance, bookOf, Door } from "./actors.ts"
import { type Attending, attending } from "./attendance.ts"
import type { OwnersSimulation } from "./OwnersSimulation.ts"

type Services = Journal | Checkpoints | Cursors | Placement | Remote | Scope.Scope

export class SimulatedNode implements HostedProcess {
  readonly simulation: OwnersSimulation
  readonly name: string
  readonly process: SimulatedProcess
  readonly decisions = { draftedFor: () => [] }
  repliesUntilCrash: number | undefined = undefined
  engine: Engine["Service"] | undefined = undefined
  /** Whether it was told to stop, and takes no partition any more. */
  isLeaving = false
  private tenure: PartitionOwnership.PartitionOwnership | undefined
  /** Partitions that it was given before it could take them. */
  private readonly early = new Set<number>()
  /** What stands for each partition, as placement knows it. */
  private readonly seats = new Map<number, Fiber.Fiber<unknown, unknown>>()
  /** Partitions of which it was told last, and for certain, that they are not its own. */
  readonly toEnd = new Set<number>()
  /** Partitions whose locks are out of sight. */
  private readonly uncertain = new Set<number>()
  private readonly scope = Scope.makeUnsafe()
  private readonly services: Context.Context<Services>

  /** What its build knows of formats, and its book. */
  readonly known: KnownFormats
  readonly book: ReturnType<typeof bookOf>
  /** Whether the other nodes count on it. */
  hasJoined = false
  /** Since when it has not stood still. */
  awakeSince: number
  private attendance: Attending | undefined

  constructor(simulation: OwnersSimulation, number: number, newest: number) {
    this.simulation = simulation
    this.known = { newest, oldest: formatLevels.first }
    this.book = bookOf(simulation.isUpgrade ? newest : formatLevels.first)
    this.awakeSince = simulation.world.now
    this.name = `n${number}`
    this.process = new SimulatedProcess(
      simulation.world,
      number,
      Logger.make(({ message }) => {
        const text = Array.isArray(message) ? String(message[0]) : String(message)
        noteMessage(simulation.marks, text)
        simulation.trace(() => `  ${this.name}: ${text}`)
      })
    )
    this.services = this.process.services.pipe(
      Context.add(Journal, makeJournal(simulation, this)),
      Context.add(Checkpoints, makeCheckpoints(simulation, this)),
      Context.add(Cursors, makeCursors(simulation, this)),
      Context.add(Placement, this.placement()),
      Context.add(Remote, simulation.network.of(this)),
      Context.add(Scope.Scope, this.scope)
    )
  }

  start(): void {
    const { checkpointFrames, partitions } = this.simulation.scenario.topology
    const made = make({
      actors: [this.book, Allowance],
      lanes: [Door],
      config: { partitions, checkpointFrames, shutdownMillis: 5_000 }
    })
    this.fork(
      Effect.tap(made, (engine) =>
        Effect.sync(() => {
          this.engine = engine
        })
      ),
      (exit) => {
        if (Exit.isFailure(exit)) this.simulation.violate("start", `${this.name} did not start: ${String(exit.cause)}`)
      }
    )
  }

  private placement(): Placement["Service"] {
    const { simulation } = this
    const place: Placement["Service"]["place"] = Effect.fnUntraced({ self: this }, function* (_partitions, serve) {
      const tenure = yield* PartitionOwnership.make({
        serve: (partition) => simulation.promises.served(this, partition, serve(partition)),
        isTaken: (partition) => simulation.shards.statement(this, () => this.isTaken(partition)),
        take: (partition) => {
          const note = () => {
            simulation.shards.noted[partition] = this.name
            for (const other of simulation.nodes) if (other !== this) simulation.promises.mayStop(other, partition)
          }
          return this.attendance?.take(partition, note) ?? simulation.shards.statement(this, note)
        },
        isUncertain: (partition) => this.uncertain.has(partition)
      })
      if (simulation.isUpgrade) {
        this.attendance = yield* attending(this, () => simulation.gone(this))
        yield* this.attendance.join
        this.hasJoined = true
        yield* Effect.forkScoped(this.attendance.attend)
      }
      this.tenure = tenure
      for (const partition of this.early) this.sit(partition)
    })
    return Placement.of({
      place,
      owns: (partition) => this.tenure?.owns(partition) ?? Effect.succeed(false),
      isShared: true,
      ...(simulation.isUpgrade ? { level: this.level } : {})
    })
  }

  /** The level of formats in force, as it has seen it. */
  readonly level = (): number => this.attendance?.level() ?? formatLevels.first

  /** Whether another node has noted that it has taken the partition. */
  isTaken(partition: number): boolean {
    const noted = this.simulation.shards.noted[partition]
    return noted !== undefined && noted !== this.name
  }

  /** Placement begins what stands for a partition. */
  sit(partition: number): void {
    this.inOrder(() => this.begin(partition))
  }

  /** Placement ends what stands for a partition; `done` when it has ended. */
  unseat(partition: number, isUncertain: boolean, done: () => void = () => {}): void {
    this.early.delete(partition)
    this.inOrder(() => this.end(partition, isUncertain, done))
  }

  /** Both, without waiting for the end. */
  reseat(partition: number): void {
    this.inOrder(() => {
      this.end(partition, false, () => {})
      this.begin(partition, true)
    })
  }

  /** What placement has told it and it has not heard yet. */
  private readonly told: Array<() => void> = []

  /** It hears what it is told in the order in which it was told. */
  private inOrder(act: () => void): void {
    if (!this.process.alive) return
    this.told.push(act)
    this.simulation.world.ready(this.process, () => this.told.shift()!())
  }

  private begin(partition: number, isAtOnce = false) {
    const { tenure } = this
    if (this.isLeaving) return
    if (tenure === undefined) return void this.early.add(partition)
    const turn = this.turn(partition)
    const hold = () => {
      if (turn !== this.turns.get(partition)) return
      this.uncertain.delete(partition)
      this.toEnd.delete(partition)
      this.seats.set(partition, Effect.runForkWith(this.services)(tenure.hold(partition)))
    }
    const before = this.seats.get(partition)
    if (before === undefined || before.pollUnsafe() !== undefined || isAtOnce) return hold()
    if (this.ending.has(before)) return this.fork(Fiber.await(before), hold)
    // It has lost its lock without having been told so yet, and learns that first.
    this.uncertain.add(partition)
    this.ending.add(before)
    this.fork(Fiber.interrupt(before), hold)
  }

  /** What placement has told last of a partition makes void what it has told before. */
  private turn(partition: number): number {
    const turn = (this.turns.get(partition) ?? 0) + 1
    this.turns.set(partition, turn)
    return turn
  }
  private readonly turns = new Map<number, number>()

  private end(partition: number, isUncertain: boolean, done: () => void) {
    this.turn(partition)
    if (isUncertain) this.uncertain.add(partition)
    else this.uncertain.delete(partition)
    this.simulation.trace(() => `  ${this.name} is told to end partition ${partition}${isUncertain ? ", perhaps" : ""}`)
    if (!isUncertain) {
      this.toEnd.add(partition)
      this.simulation.promises.mayStop(this, partition)
    }
    const seat = this.seats.get(partition)
    if (seat === undefined) return done()
    this.ending.add(seat)
    this.fork(Fiber.interrupt(seat), done)
  }

  /** What stands for a partition and has been told to end. */
  private readonly ending = new WeakSet<object>()

  /** Hands its partitions over and ends. */
  stop(): void {
    this.isLeaving = true
    this.tenure?.leave()
    for (const partition of this.seats.keys()) this.simulation.promises.mayStop(this, partition)
    this.simulation.shards.redistribute(this, "handed over")
    const left = Effect.suspend(() => this.attendance?.leave ?? Effect.void)
    this.fork(Effect.ensuring(Scope.close(this.scope, Exit.void), left), () => this.simulation.gone(this))
  }

  partitions(): ReadonlyArray<Partition> {
    return this.engine === undefined ? [] : [...internals(this.engine).partitions.values()]
  }

  serves(partition: number): boolean {
    return this.partitions().some(({ id, status }) => id === partition && status._tag === "Serving")
  }

  /** Runs something in the process. `done` is not called once the process is dead. */
  fork<A, E>(effect: Effect.Effect<A, E, Services>, done: (exit: Exit.Exit<A, E>) => void): void {
    this.simulation.world.ready(this.process, () => {
      Effect.runForkWith(this.services)(effect).addObserver((exit) => {
        if (this.process.alive) done(exit)
      })
    })
  }
}
