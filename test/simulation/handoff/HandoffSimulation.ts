/**
 * A scenario of the hand-off as it is played: accounts and their log, the queue, a relay, and processes that run the
 * real workers and die. Steps come from `playHandoff.ts`. Needs no service.
 */
import { Marks } from "../../../src/simulation/engine/Marks.ts"
import { Faults } from "../../../src/simulation/kernel/Faults.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import { epochMillis, World } from "../../../src/simulation/kernel/World.ts"
import { HandoffChecker } from "./HandoffChecker.ts"
import type { Operation, RelayMode, Scenario } from "./HandoffScenario.ts"
import { MailQueue } from "./MailQueue.ts"
import { SimulatedAccounts } from "./SimulatedAccounts.ts"
import { SimulatedWorkers } from "./SimulatedWorkers.ts"

/** A finding of the checker. */
export interface Violation {
  readonly checker: string
  readonly message: string
  /** Virtual time, milliseconds since the scenario's beginning. */
  readonly at: number
}

export class HandoffSimulation {
  readonly scenario: Scenario
  readonly world: World
  readonly marks = new Marks()
  readonly accounts = new SimulatedAccounts()
  readonly queue = new MailQueue()
  readonly checker: HandoffChecker
  readonly violations: Array<Violation> = []
  readonly lines: Array<string> = []
  /** How many records of the log the store has. */
  cursor = 0
  relay: RelayMode = "takes"
  isHealed = false
  private readonly faults: Faults<Operation>
  private readonly latencies: Prng
  private readonly isTraced: boolean
  private running: SimulatedWorkers | undefined
  private processes = 0
  private outageUntil = Number.NEGATIVE_INFINITY

  constructor(scenario: Scenario, isTraced: boolean) {
    const { disorder, sliceOperations } = scenario.topology
    this.scenario = scenario
    this.isTraced = isTraced
    this.world = new World({ seed: scenario.seed, disorder, sliceOperations, dragMicros: 0 })
    this.latencies = new Prng(scenario.seed, "latencies")
    this.faults = new Faults<Operation>(scenario.faults, this.marks, (line) => this.trace(line))
    this.checker = new HandoffChecker(this)
  }

  /** The wall clock. */
  get wallMillis(): number {
    return Math.floor(epochMillis + this.world.now + this.world.leapt)
  }

  /** Whether PostgreSQL answers nobody. */
  get isOut(): boolean {
    return this.world.now < this.outageUntil
  }

  get organizations(): ReadonlyArray<string> {
    return Array.from({ length: this.scenario.topology.organizations }, (_, number) => `org_${number}`)
  }

  trace(line: () => string): void {
    if (this.isTraced) this.lines.push(`${this.world.now.toFixed(3).padStart(12)} ${line()}`)
  }

  violate(checker: string, message: string): void {
    this.violations.push({ checker, message, at: this.world.now })
    this.trace(() => `VIOLATION, ${checker}: ${message}`)
  }

  /** The time that a message takes, milliseconds. */
  latency(): number {
    return (this.scenario.topology.latencyMicros / 1_000) * (0.5 + this.latencies.next())
  }

  fault(operation: Operation): string | undefined {
    return this.faults.take(operation)
  }

  /** Where the relay stops when a mail is parted: behind this many recipients. */
  partedBehind(recipients: number): number {
    return this.latencies.int(0, recipients)
  }

  start(): void {
    this.running = new SimulatedWorkers(this, ++this.processes)
    this.running.start()
  }

  /** The process dies, and another one begins. */
  crash(where: string): void {
    if (this.running === undefined) return
    this.trace(() => `crash ${where}`)
    this.marks.reach("crash")
    this.running.kill()
    this.running = undefined
    this.checker.ended()
    this.world.after(100, undefined, () => this.running ?? this.start())
  }

  /** The process stops, and another one begins. */
  restart(): void {
    const stopped = this.running
    if (stopped === undefined) return
    this.marks.reach("restart")
    this.running = undefined
    stopped.stop(() => {
      this.checker.ended()
      this.start()
    })
  }

  newLife(): void {
    this.running?.newLife()
  }

  outage(millis: number): void {
    this.marks.reach("outage")
    this.outageUntil = this.world.now + millis
  }

  /** Stops all that goes wrong. */
  heal(): void {
    this.isHealed = true
    this.faults.heal()
    this.outageUntil = Number.NEGATIVE_INFINITY
    this.relay = "takes"
  }

  /** Shows what was decided to the process. */
  decided(): void {
    this.running?.acknowledge()
  }

  close(): void {
    this.running?.kill()
  }
}
