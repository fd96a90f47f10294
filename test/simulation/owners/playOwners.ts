/**
 * Plays a scenario of several owners: its steps one after the other, then a world in which nothing goes wrong any more, where every partition must
 * come to have one owner and everything must be answered by every node.
 */
import { forgottenMillis } from "../../../src/common/formatLevels.ts"
import type { Marks } from "../../../src/simulation/engine/Marks.ts"
import type { Violation } from "../../../src/simulation/engine/Simulation.ts"
import { telling } from "../../../src/simulation/engine/scenarioText.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import { RunawaySimulation } from "../../../src/simulation/kernel/World.ts"
import { newestLevel, organizations, type Scenario, type Step, toJson } from "./OwnersScenario.ts"
import { OwnersSimulation } from "./OwnersSimulation.ts"

export interface Outcome {
  /** The first finding. */
  readonly violation: Violation | undefined
  readonly marks: Marks
  readonly trace: ReadonlyArray<string>
  /** The same for the same course of events. */
  readonly fingerprint: string
}

/** How long everything may take to come to rest once nothing goes wrong any more, virtual milliseconds. */
const healingMillis = 240_000

/** How long until anything still under way at rest has ended. */
const restMillis = 15_000

/** How long an owner that has just begun takes at most until it can be asked. */
const subscribedMillis = 2_000

const nameOf = (organization: number): string => `org_${organization}`

const doStep = (simulation: OwnersSimulation, step: Step) => {
  const { marks, outages, shards, world } = simulation
  const node = "node" in step ? simulation.nodeAt(step.node) : undefined
  const partitions = simulation.scenario.topology.partitions
  switch (step._tag) {
    case "Enter":
      simulation.enter("book", nameOf(step.organization), false, step.node)
      return
    case "EnterOnce":
      simulation.enter("book", nameOf(step.organization), true, step.node)
      return
    case "Hammer":
      for (let count = 0; count < step.count; count++)
        simulation.enter("allowance", nameOf(step.organization), count % 2 === 0, count)
      return
    case "Look":
      return simulation.look(nameOf(step.organization), step.node)
    case "AskLane":
      return simulation.askLane(nameOf(step.organization), step.node)
    case "Advance":
      return world.advance(step.millis)
    case "Move": {
      const to = simulation.nodeAt(step.to)
      if (to !== undefined) shards.give(step.partition % partitions, to, step.way, step.lagMillis)
      return
    }
    case "Again":
      return shards.again(step.partition % partitions)
    case "Start":
      joined(simulation, step.level)
      return
    case "Outage":
      marks.reach(`outage, ${step.of}`)
      return outages.start(step.of, step.millis)
    default:
      if (node !== undefined) doToNode(simulation, step, node)
  }
}

const doToNode = (
  simulation: OwnersSimulation,
  step: Step,
  node: NonNullable<ReturnType<OwnersSimulation["nodeAt"]>>
) => {
  switch (step._tag) {
    case "Blind":
      return simulation.shards.blind(node, step.millis)
    case "Crash":
      return simulation.crash(node, "by a step")
    case "Stop":
      simulation.marks.reach("a node was stopped")
      return node.stop()
    case "Upgrade":
      simulation.marks.reach("a node was upgraded")
      node.stop()
      joined(simulation, newestLevel)
      return
    case "Freeze":
      simulation.pause(node)
      simulation.world.after(step.millis, undefined, () => simulation.resume(node))
      return
    case "Cut":
      simulation.marks.reach("a node was cut off")
      return simulation.network.cut(node, step.millis)
    case "Checkpoint":
      for (const partition of node.partitions()) partition.core.wantCheckpoint()
  }
}

/** A node comes, and gets a share. */
const joined = (simulation: OwnersSimulation, level?: number): void => {
  const node = simulation.start(level)
  if (node === undefined) return
  const { holders } = simulation.shards
  const share = Math.ceil(holders.length / Math.max(1, simulation.takers().length))
  for (let partition = 0; partition < share; partition++) simulation.shards.give(partition, node, "handed over", 0)
}

/** Every partition is served by the one node that has it, and by no other. */
const isSettled = (simulation: OwnersSimulation): boolean =>
  simulation.shards.holders.every(
    (holder, partition) =>
      holder?.process.alive === true &&
      simulation.living().every((node) => node.serves(partition) === (node === holder))
  )

const isAnswered = (simulation: OwnersSimulation): boolean =>
  [...simulation.promises.wishes.values()].every(({ answer }) => answer !== undefined)

const heal = (simulation: OwnersSimulation) => {
  const { network, outages, promises, world } = simulation
  simulation.trace(() => "healed")
  simulation.isHealed = true
  simulation.faults.heal()
  outages.endAll()
  network.heal()
  for (const node of simulation.living()) simulation.resume(node)
  simulation.ensureNode()
  const comesToRest = () =>
    world.advanceUntil(
      world.now + healingMillis,
      () => simulation.server.lateFrames === 0 && isSettled(simulation) && isAnswered(simulation)
    )
  comesToRest()
  world.advance(restMillis)
  if (simulation.violations.length > 0) return
  comesToRest()
  if (!isSettled(simulation)) {
    const served = simulation.shards.holders.map(
      (holder, partition) =>
        `${holder?.name} has ${partition}, served by ${simulation.living().flatMap((node) => (node.serves(partition) ? [node.name] : []))}`
    )
    return simulation.violate("every partition has one owner", `after healing: ${served.join("; ")}`)
  }
  // A first entry lets a partition restart whose base an earlier owner's late checkpoint has superseded; who asks then is told to ask again.
  for (let organization = 0; organization < organizations; organization++)
    simulation.enter("book", nameOf(organization), false, 0)
  comesToRest()
  world.advance(restMillis)
  comesToRest()
  // Now every node reaches every partition, without asking twice, once the last owner is subscribed too.
  world.advance(subscribedMillis)
  const last = [...simulation.takers().keys()].flatMap((index) =>
    Array.from({ length: organizations }, (_, organization) =>
      simulation.enter("book", nameOf(organization), false, index)
    )
  )
  world.advanceUntil(world.now + restMillis, () => isAnswered(simulation))
  const refused = last.find(({ answer }) => answer?._tag !== "Replied")
  if (refused !== undefined)
    return simulation.violate(
      "every node reaches every partition",
      `${refused.text} was answered ${JSON.stringify(refused.answer)}`
    )
  if (simulation.violations.length > 0) return
  promises.healed()
  if (!simulation.isUpgrade) return
  // Whoever has died holds the level down for a while.
  world.advance(forgottenMillis + restMillis)
  simulation.roll.healed()
}

/** Plays a scenario from beginning to end. */
export const play = (scenario: Scenario, options: { readonly isTraced?: boolean } = {}): Outcome => {
  const simulation = new OwnersSimulation(scenario, options.isTraced ?? false)
  const { world } = simulation
  // Nobody reads the stacks of errors that faults cause, and capturing them takes much of the time.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    for (let count = 0; count < scenario.topology.nodes; count++) simulation.start(scenario.topology.levels?.[count])
    for (let partition = 0; partition < scenario.topology.partitions; partition++)
      simulation.shards.give(partition, simulation.nodeAt(partition)!, "handed over", 0)
    world.advance(300)
    const pace = new Prng(scenario.seed, "owners pace")
    for (const step of scenario.steps) {
      simulation.trace(() => JSON.stringify(step))
      doStep(simulation, step)
      world.advance(pace.chance(0.7) ? pace.next() * 3 : pace.next() * 120)
      if (simulation.violations.length > 0) break
    }
    if (simulation.violations.length === 0) heal(simulation)
  } catch (error) {
    if (!(error instanceof RunawaySimulation)) throw error
    simulation.violate("it comes to rest", error.message)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  const heads = simulation.shards.holders.map((_, partition) => {
    const { frames } = simulation.server.of(partition).log
    return `${frames.length} ${frames.at(-1)?.identity ?? ""}`
  })
  return {
    violation: simulation.violations[0],
    marks: simulation.marks,
    trace: simulation.lines,
    fingerprint: `${world.tasksRun} ${world.now} ${heads.join(" ")}`
  }
}

export const { describe, shrink } = telling<Scenario, { readonly isTraced?: boolean }>(play, toJson, {
  disorder: 0,
  sliceOperations: 2_048,
  latencyMicros: 200,
  partitions: 1
})
