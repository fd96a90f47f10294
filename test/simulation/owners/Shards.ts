/**
 * Places the partitions of a simulation, as locks in a database do: it knows who has each lock, tells nodes of it sooner or later, and is wrong
 * for a while. Needs no service.
 */
import { Effect } from "effect"
import { PlacementUnavailable } from "../../../src/engine/ports/Placement.ts"
import type { Step } from "./OwnersScenario.ts"
import type { OwnersSimulation } from "./OwnersSimulation.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"

/** How long a silent node keeps its locks. */
export const expiryMillis = 3_000

/** How long a statement waits for an answer, and a slow one takes. */
const statementTimeoutMillis = 2_000
const slowMillis = 1_500

type Way = Extract<Step, { readonly _tag: "Move" }>["way"]

export class Shards {
  private readonly simulation: OwnersSimulation
  /** Who has each partition's lock. */
  readonly holders: Array<SimulatedNode | undefined>
  /** Who noted last that it has taken a partition. */
  readonly noted: Array<string | undefined>

  constructor(simulation: OwnersSimulation, partitions: number) {
    this.simulation = simulation
    this.holders = new Array(partitions).fill(undefined)
    this.noted = new Array(partitions).fill(undefined)
  }

  heldBy(node: SimulatedNode): ReadonlyArray<number> {
    return [...this.holders.keys()].filter((partition) => this.holders[partition] === node)
  }

  /** Gives a partition to a node. */
  give(partition: number, to: SimulatedNode, way: Way, lagMillis: number) {
    const { marks, world } = this.simulation
    const from = this.holders[partition]
    if (from === to || !to.process.alive || to.isLeaving) return
    this.simulation.trace(() => `partition ${partition} goes from ${from?.name ?? "nobody"} to ${to.name}, ${way}`)
    this.holders[partition] = to
    const begin = () => {
      if (this.holders[partition] === to) to.sit(partition)
    }
    if (from === undefined || !from.process.alive) return begin()
    marks.reach(`moved, ${way}`)
    if (way === "handed over") {
      let hasBegun = false
      const once = () => {
        if (hasBegun) return
        hasBegun = true
        begin()
      }
      from.unseat(partition, false, once)
      // The lock of one that does not answer expires.
      world.after(expiryMillis, undefined, once)
      return
    }
    begin()
    world.after(lagMillis, from.process, () => {
      if (this.holders[partition] !== from) from.unseat(partition, way === "taken")
    })
  }

  /** Gives what a node had to those that live. */
  redistribute(node: SimulatedNode, way: Way): void {
    const others = this.simulation.takers().filter((other) => other !== node)
    if (others.length === 0) return
    for (const partition of this.heldBy(node))
      this.give(partition, this.simulation.draw.pick(others), way, this.simulation.draw.int(0, 1_000))
  }

  /** The node's session is lost, and its locks are free; nobody else takes them before it has them again. */
  blind(node: SimulatedNode, millis: number): void {
    this.simulation.marks.reach("locks out of sight")
    for (const partition of this.heldBy(node)) {
      node.unseat(partition, true)
      this.simulation.world.after(millis, node.process, () => {
        if (this.holders[partition] === node) node.sit(partition)
      })
    }
  }

  /** Ends and begins a partition where it is, at once. */
  again(partition: number): void {
    const node = this.holders[partition]
    if (node === undefined || !node.process.alive) return
    this.simulation.marks.reach("placed twice")
    node.reseat(partition)
  }

  /** A statement of a node. */
  statement<A>(node: SimulatedNode, carryOut: () => A): Effect.Effect<A, PlacementUnavailable> {
    const { faults, latency, outages, world } = this.simulation
    return Effect.callback((resume) => {
      const fault = faults.take("placement")
      const giveUp = () =>
        world.after(statementTimeoutMillis, node.process, () =>
          resume(Effect.fail(new PlacementUnavailable({ message: "simulated: the database does not answer" })))
        )
      let cancel =
        fault === "unavailable"
          ? giveUp()
          : world.after(fault === "slow" ? slowMillis : latency(), node.process, () => {
              if (outages.isOut("database")) cancel = giveUp()
              else resume(Effect.succeed(carryOut()))
            })
      return Effect.sync(() => cancel())
    })
  }
}
