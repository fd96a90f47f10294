/**
 * The rows by which the nodes of a simulation know each other during an upgrade: the members, their formats, and the level in force
 * (docs/cluster.md, "Two versions together"). It watches that the level rises over nobody's head and never falls, and that nobody meets a fact that it does
 * not know. Needs no service.
 */
import { Effect } from "effect"
import { formatLevels, formatsProblem, raisedLevel } from "../../../src/common/formatLevels.ts"
import type { Frame } from "../../../src/engine/frame.ts"
import { PlacementUnavailable } from "../../../src/engine/ports/Placement.ts"
import { levelOf } from "./actors.ts"
import type { OwnersSimulation } from "./OwnersSimulation.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"

/** How long a statement waits for an answer, and a slow one takes. */
const statementTimeoutMillis = 2_000
const slowMillis = 1_500

/** A node that has gone on for so long, and whose database has, has given a sign of life. */
const awakeMillis = 8_000

interface Row {
  readonly node: SimulatedNode
  readonly seenAt: number
}

export class Roll {
  private readonly simulation: OwnersSimulation
  private readonly rows = new Map<string, Row>()
  inForce: number = formatLevels.first
  /** Nodes that stood still for so long that the others went on without them. */
  private readonly leftBehind = new Set<SimulatedNode>()
  /** The highest level in each partition's log. */
  private readonly written = new Map<number, number>()

  constructor(simulation: OwnersSimulation) {
    this.simulation = simulation
  }

  /** A statement. The server carries it out although the node that sent it stands still, or does not wait for it any more. */
  statement<A>(node: SimulatedNode, carryOut: () => A): Effect.Effect<A, PlacementUnavailable> {
    const { faults, latency, outages, world } = this.simulation
    return Effect.callback((resume) => {
      const answerAfter = (millis: number, answer: Effect.Effect<A, PlacementUnavailable>) =>
        void world.after(millis, node.process, () => resume(answer))
      const giveUp = () => {
        const message = "simulated: the database does not answer"
        answerAfter(statementTimeoutMillis, Effect.fail(new PlacementUnavailable({ message })))
      }
      const fault = faults.take("placement")
      if (fault === "unavailable") return giveUp()
      world.after(fault === "slow" ? slowMillis : latency(), undefined, () => {
        if (outages.isOut("database")) giveUp()
        else answerAfter(latency(), Effect.succeed(carryOut()))
      })
    })
  }

  /** Shows a node that knows the level in force, carries something out for it, and answers the level. */
  admit(node: SimulatedNode, carryOut: () => void): Effect.Effect<number, PlacementUnavailable> {
    return this.statement(node, () => {
      if (formatsProblem(node.known, this.inForce, "") === undefined) {
        this.beat(node)
        carryOut()
      }
      return this.inForce
    })
  }

  beat(node: SimulatedNode): void {
    this.rows.set(node.name, { node, seenAt: this.simulation.world.now })
  }

  forget({ name }: SimulatedNode): void {
    this.rows.delete(name)
  }

  /** Raises the level as a node has it raised. */
  raise(forgets: boolean): void {
    const { now } = this.simulation.world
    const before = this.inForce
    this.inForce = raisedLevel(
      before,
      [...this.rows.values()].map(({ node, seenAt }) => ({ level: node.known.newest, silentMillis: now - seenAt })),
      forgets
    )
    if (this.inForce === before) return
    this.simulation.trace(() => `formats of level ${this.inForce} are in force`)
    this.simulation.marks.reach("formats, raised")
    if (this.inForce < before) this.simulation.violate("formats never fall", `level ${this.inForce} follows ${before}`)
    for (const node of this.simulation.living()) {
      if (node.known.newest >= this.inForce || !node.hasJoined || node.isLeaving) continue
      if (!node.process.paused && now - node.awakeSince > awakeMillis)
        this.simulation.violate(
          "formats rise over nobody's head",
          `level ${this.inForce} is in force, and ${node.name}, which has been there for ${now - node.awakeSince} ms, knows ${node.known.newest}`
        )
      else this.simulation.marks.reach("formats, a node was left behind")
      this.leftBehind.add(node)
    }
  }

  /** A frame is stored. */
  committed(partition: number, { records }: Frame, by: SimulatedNode | undefined): void {
    const before = this.written.get(partition) ?? formatLevels.first
    if (by !== undefined && by.known.newest < before)
      this.simulation.violate(
        "nobody goes on behind formats that it does not know",
        `${by.name}, which knows level ${by.known.newest}, writes to partition ${partition}, whose log has level ${before}`
      )
    for (const { fact } of records) {
      const level = levelOf(fact)
      if (level <= formatLevels.first) continue
      this.simulation.marks.reach("formats, a fact of a later level")
      this.written.set(partition, Math.max(level, this.written.get(partition) ?? 0))
      const stranger = this.simulation
        .living()
        .find((node) => node.hasJoined && !node.isLeaving && !this.leftBehind.has(node) && node.known.newest < level)
      if (stranger !== undefined)
        this.simulation.violate(
          "nobody meets a fact that it does not know",
          `a fact of level ${level} is in partition ${partition}, and ${stranger.name} knows level ${stranger.known.newest}`
        )
    }
  }

  /** What must hold once nothing has gone wrong for long. */
  healed(): void {
    const living = this.simulation.living().filter(({ hasJoined }) => hasJoined)
    const wanted = Math.max(this.inForce, Math.min(...living.map(({ known }) => known.newest)))
    if (this.inForce < wanted)
      this.simulation.violate(
        "formats rise when everybody knows them",
        `level ${this.inForce} is in force, and ${living.map(({ name }) => name).join(", ")} know level ${wanted}`
      )
    for (const node of living)
      if (node.level() !== this.inForce)
        this.simulation.violate(
          "everybody learns the level in force",
          `level ${this.inForce} is in force, and ${node.name} has seen ${node.level()}`
        )
  }
}
