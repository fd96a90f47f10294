/**
 * One scenario of several owners as it is played: the machine room, the stores, the nodes, and the clients that ask any of them. Steps come from
 * `play.ts`. Needs no service.
 */
import { Effect, type Exit } from "effect"
import type { Actor } from "../../../src/engine/Actor.ts"
import { partitionOf } from "../../../src/engine/address.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../../src/engine/memory/JournalMemory.ts"
import type { StoredFrame } from "../../../src/engine/ports/Journal.ts"
import { answerOf, describeAnswer, isRefusal } from "../../../src/simulation/engine/describeAnswer.ts"
import { Marks } from "../../../src/simulation/engine/Marks.ts"
import type { Answer } from "../../../src/simulation/engine/Operations.ts"
import { LogServer } from "../../../src/simulation/engine/SimulatedJournal.ts"
import type { Violation } from "../../../src/simulation/engine/Simulation.ts"
import { Faults } from "../../../src/simulation/kernel/Faults.ts"
import type { Host } from "../../../src/simulation/kernel/Host.ts"
import { Outages } from "../../../src/simulation/kernel/Outages.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import { World } from "../../../src/simulation/kernel/World.ts"
import { Allowance, Door, type Line } from "./actors.ts"
import { Network } from "./Network.ts"
import { Promises, type Wish } from "./OwnerChecker.ts"
import { maximumNodes, newestLevel, type OwnersOperation, type Scenario } from "./OwnersScenario.ts"
import { expiryMillis, Shards } from "./Shards.ts"
import { Roll } from "./SimulatedMembership.ts"
import { SimulatedNode } from "./SimulatedNode.ts"

/** How long a client waits before it asks again, and a node until it is started again. */
const retryMillis = [50, 1_500] as const
const restartMillis = 500

/** Bytes that no log of a scenario reaches. */
const logBytes = 64 * 1024 * 1024

/** Asks an actor to store a line. */
const storing = <Fact, State, Rejection>(
  engine: Engine["Service"],
  actor: Actor<Line, Fact, State, number, Rejection>,
  { isOnce, organization, text }: Wish
): Effect.Effect<number, unknown> =>
  isOnce
    ? Effect.map(engine.askOnce(actor, { organization }, { text }, { key: text, digest: text }), ({ reply }) => reply)
    : engine.ask(actor, { organization }, { text })

/** What the client of a node that died knows. */
const lostAnswer: Answer = {
  _tag: "Failed",
  error: "OutcomeUnknown",
  message: "the node died",
  isRetryable: true
}

export class OwnersSimulation implements Host<SimulatedNode> {
  readonly scenario: Scenario
  readonly world: World
  readonly marks = new Marks()
  readonly faults: Faults<OwnersOperation> & Host["faults"]
  readonly outages: Outages
  readonly stores: Host["stores"]
  readonly server: LogServer
  readonly draw: Prng
  readonly logBytes = logBytes
  readonly machineOutages = 0
  readonly damaged = new Map<number, { readonly isLost: boolean }>()
  readonly network: Network
  readonly shards: Shards
  readonly promises: Promises
  readonly roll: Roll
  readonly nodes: Array<SimulatedNode> = []
  readonly violations: Array<Violation> = []
  readonly lines: Array<string> = []
  isHealed = false
  /** Whether nodes of several builds agree on the formats in force. */
  get isUpgrade(): boolean {
    return this.scenario.topology.levels !== undefined
  }
  private readonly latencies: Prng
  private readonly isTraced: boolean

  constructor(scenario: Scenario, isTraced: boolean) {
    const { disorder, latencyMicros, partitions, sliceOperations } = scenario.topology
    const { seed } = scenario
    this.scenario = scenario
    this.isTraced = isTraced
    this.world = new World({ seed, disorder, sliceOperations: Math.max(1, sliceOperations), dragMicros: 0 })
    this.outages = new Outages(this.world)
    this.draw = new Prng(seed, "owners faults")
    this.latencies = new Prng(seed, "owners latencies")
    this.latency = () => (20 + this.latencies.next() * latencyMicros) / 1000
    // The log and the stores take faults of operations that none is planned for.
    this.faults = new Faults<OwnersOperation>(scenario.faults, this.marks, (line) =>
      this.trace(line)
    ) as typeof this.faults
    this.stores = {
      journal: JournalMemory.makeStore({ deployment: "simulated" }),
      checkpoints: CheckpointsMemory.makeStore({ deployment: "simulated" }),
      cursors: CursorsMemory.makeStore()
    }
    this.server = new LogServer(this)
    this.network = new Network(this)
    this.shards = new Shards(this, partitions)
    this.promises = new Promises(this)
    this.roll = new Roll(this)
  }

  /** The time that a message takes, milliseconds. */
  readonly latency: () => number

  trace(line: () => string): void {
    if (this.isTraced) this.lines.push(`${this.world.now.toFixed(3).padStart(12)} ${line()}`)
  }

  violate(checker: string, message: string): void {
    this.violations.push({ checker, message, at: this.world.now })
    this.world.isOver = true
    this.trace(() => `VIOLATION, ${checker}: ${message}`)
  }

  // Nodes

  living(): ReadonlyArray<SimulatedNode> {
    return this.nodes.filter(({ process }) => process.alive)
  }

  /** Living nodes that take partitions. */
  takers(): ReadonlyArray<SimulatedNode> {
    return this.living().filter(({ isLeaving }) => !isLeaving)
  }

  /** The node of a number, of those that take partitions. */
  nodeAt(number: number): SimulatedNode | undefined {
    const takers = this.takers()
    return takers[number % Math.max(1, takers.length)]
  }

  /** Starts a node, of the newest build unless the level of its formats is told. */
  start(level: number = newestLevel): SimulatedNode | undefined {
    if (this.takers().length >= maximumNodes) return undefined
    const node = new SimulatedNode(this, this.nodes.length + 1, Math.min(newestLevel, Math.max(1, level)))
    this.nodes.push(node)
    this.trace(() => `${node.name} starts${this.isUpgrade ? `, which knows level ${node.known.newest}` : ""}`)
    node.start()
    return node
  }

  crash(node: SimulatedNode, where: string): void {
    if (!node.process.alive) return
    this.trace(() => `${node.name} is killed ${where}`)
    this.marks.reach("a node was killed")
    this.gone(node)
  }

  /** A process has ended. Its locks expire, and the last one is started again. */
  gone(node: SimulatedNode): void {
    node.process.kill()
    for (const look of this.waiting.get(node) ?? []) look()
    this.waiting.delete(node)
    this.world.after(restartMillis, undefined, () => this.ensureNode())
    this.world.after(expiryMillis, undefined, () => this.shards.redistribute(node, "taken"))
  }

  /** Starts a node where none takes partitions, and gives away what the dead have. */
  ensureNode(): void {
    if (this.takers().length === 0) this.start()
    for (const holder of this.shards.holders)
      if (holder !== undefined && !holder.process.alive)
        this.world.after(expiryMillis, undefined, () => this.shards.redistribute(holder, "taken"))
  }

  resume(node: SimulatedNode): void {
    if (node.process.paused) node.awakeSince = this.world.now
    node.process.resume()
  }

  pause(node: SimulatedNode): void {
    this.trace(() => `${node.name} stands still`)
    this.marks.reach("a node stood still")
    node.process.pause()
    this.world.after(expiryMillis, undefined, () => {
      if (node.process.paused && node.process.alive) this.shards.redistribute(node, "taken")
    })
  }

  // Clients

  /** What learns that a node has died, by node. */
  private readonly waiting = new Map<SimulatedNode, Set<() => void>>()

  /** Asks a node; `answer` gets undefined when it dies before it has answered. */
  private ask<A, E>(
    node: SimulatedNode,
    effect: (engine: NonNullable<SimulatedNode["engine"]>) => Effect.Effect<A, E>,
    answer: (exit: Exit.Exit<A, E> | undefined) => void
  ) {
    const { engine } = node
    if (engine === undefined || !node.process.alive) return answer(undefined)
    const lost = () => answer(undefined)
    const waiting = this.waiting.get(node) ?? new Set()
    this.waiting.set(node, waiting)
    waiting.add(lost)
    node.fork(effect(engine), (exit) => {
      if (waiting.delete(lost)) answer(exit)
    })
  }

  /** Asks for a line to be stored, once; under an idempotency key until it is known. */
  enter(kind: Wish["kind"], organization: string, isOnce: boolean, at: number): Wish {
    const wish: Wish = { text: `line ${this.promises.wishes.size}`, kind, organization, isOnce, answer: undefined }
    this.promises.wish(wish)
    this.attempt(wish, at)
    return wish
  }

  private attempt(wish: Wish, at: number) {
    const { isOnce, kind, organization, text } = wish
    const node = this.nodeAt(at)
    const again = () =>
      this.world.after(this.draw.int(...retryMillis), undefined, () =>
        this.attempt(wish, this.draw.int(0, maximumNodes))
      )
    if (node === undefined) {
      if (isOnce) return void again()
      wish.answer = lostAnswer
      return
    }
    this.trace(() => `${node.name} is asked to store ${text} (${kind} of ${organization})`)
    this.ask(
      node,
      (engine): Effect.Effect<number, unknown> =>
        kind === "book" ? storing(engine, node.book, wish) : storing(engine, Allowance, wish),
      (exit) => {
        const answer = exit === undefined ? lostAnswer : answerOf(exit)
        this.trace(() => `${node.name} answers ${text}: ${describeAnswer(answer)}`)
        if (answer._tag === "Failed") this.marks.reach(`answer, ${answer.error}`)
        else this.marks.reach(`answer, ${answer._tag}`)
        this.promises.answered(wish, answer)
        if (isOnce && answer._tag === "Failed" && (answer.isRetryable || !isRefusal(answer))) return void again()
        wish.answer = answer
      }
    )
  }

  look(organization: string, at: number): void {
    const node = this.nodeAt(at)
    if (node === undefined) return
    const startedAt = this.world.now
    this.ask(
      node,
      (engine) => engine.state(node.book, { organization }),
      (exit) => {
        if (exit?._tag !== "Success") return
        this.marks.reach("a look was answered")
        // One that others have gone on without reads of a newer state what it knows.
        if (node.known.newest < this.roll.inForce) return
        this.promises.looked(organization, exit.value, startedAt)
      }
    )
  }

  askLane(organization: string, at: number): void {
    const node = this.nodeAt(at)
    if (node === undefined) return
    this.ask(
      node,
      (engine) => engine.askLane(Door, { organization }, null),
      (exit) => {
        if (exit?._tag === "Success") this.marks.reach("a lane was answered")
      }
    )
  }

  partitionOf(organization: string): number {
    return partitionOf(organization, this.scenario.topology.partitions)
  }

  // What the ports tell.

  committed(partition: number, stored: StoredFrame, node: SimulatedNode | undefined): void {
    this.promises.committed(partition, stored, node)
  }

  saved(): void {}

  purge(partition: number, below: number): void {
    JournalMemory.purgeLog(this.server.of(partition).log, below)
  }
}
