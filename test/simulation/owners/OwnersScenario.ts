/**
 * A scenario of several owners is data, as those of the engine are: the deployment, the fault plan and the steps. It is drawn from a seed, plays the
 * same each time, and can be shrunk piece by piece. Needs no service.
 */
import { Schema } from "effect"
import { Count, faultOf, Seed, textOf } from "../../../src/simulation/engine/scenarioText.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"

/** Where something can go wrong, counted over the whole deployment, from 0. Those of the log are the engine's. */
export const operations = {
  request: ["lost", "late", "repeated", "repeated late"],
  reply: ["lost", "late", "repeated"],
  serve: ["fails"],
  placement: ["unavailable", "slow"],
  publish: [
    "ack lost",
    "ack late",
    "request lost",
    "request late",
    "disconnected after commit",
    "no leader",
    "crash with the request under way",
    "crash after the commit",
    "pause before the request",
    "pause after the commit"
  ],
  state: ["unavailable", "slow"],
  read: ["unavailable"],
  save: ["lost", "slow"]
} as const
export type OwnersOperation = keyof typeof operations

export const Fault = faultOf<OwnersOperation>(operations)
export interface Fault extends Schema.Schema.Type<typeof Fault> {}

/** How a partition goes to another node. */
export const ways = [
  /** The owner ends, then the other begins. */
  "handed over",
  /** The other begins, and the owner learns later that its locks are out of sight. */
  "taken",
  /** The other begins, and the owner is told to end later. */
  "split"
] as const

/** Nodes are counted from 0; a number beyond the last one means one of them. */
export const Step = Schema.Union([
  /** Writes a line into an organization's book, asked of a node once. */
  Schema.TaggedStruct("Enter", { organization: Count, node: Count }),
  /** The same under an idempotency key, asked of one node after the other until it is answered. */
  Schema.TaggedStruct("EnterOnce", { organization: Count, node: Count }),
  /** Takes of an organization's allowance through all nodes at once. */
  Schema.TaggedStruct("Hammer", { organization: Count, count: Count }),
  Schema.TaggedStruct("Look", { organization: Count, node: Count }),
  Schema.TaggedStruct("AskLane", { organization: Count, node: Count }),
  Schema.TaggedStruct("Advance", { millis: Count }),
  Schema.TaggedStruct("Move", { partition: Count, to: Count, way: Schema.Literals(ways), lagMillis: Count }),
  /** The node does not see its locks for a while; nobody else takes them. */
  Schema.TaggedStruct("Blind", { node: Count, millis: Count }),
  /** What places the partition ends it and begins it again, without waiting for its end. */
  Schema.TaggedStruct("Again", { partition: Count }),
  Schema.TaggedStruct("Crash", { node: Count }),
  Schema.TaggedStruct("Stop", { node: Count }),
  /** A node comes; of the newest build, unless the level of its formats is told. */
  Schema.TaggedStruct("Start", { level: Schema.optionalKey(Count) }),
  /** A node is stopped, and one of the newest build comes in its place. */
  Schema.TaggedStruct("Upgrade", { node: Count }),
  Schema.TaggedStruct("Freeze", { node: Count, millis: Count }),
  /** The node's messages to the others, and theirs to it, are lost for a while. */
  Schema.TaggedStruct("Cut", { node: Count, millis: Count }),
  Schema.TaggedStruct("Outage", { of: Schema.Literals(["log", "database"]), millis: Count }),
  Schema.TaggedStruct("Checkpoint", { node: Count })
])
export type Step = typeof Step.Type

export const Topology = Schema.Struct({
  nodes: Count,
  partitions: Count,
  replicas: Schema.Literals([1, 3]),
  disorder: Schema.Number,
  sliceOperations: Count,
  latencyMicros: Count,
  checkpointFrames: Count,
  /** The newest level of formats that each of the first nodes knows. Where it is left out, all nodes are of one build. */
  levels: Schema.optionalKey(Schema.Array(Count))
})
export interface Topology extends Schema.Schema.Type<typeof Topology> {}

export const Scenario = Schema.Struct({
  of: Schema.Literal("owners"),
  seed: Seed,
  topology: Topology,
  faults: Schema.Array(Fault),
  steps: Schema.Array(Step)
})
export interface Scenario extends Schema.Schema.Type<typeof Scenario> {}

export const { fromJson, toJson } = textOf(Scenario)

const usual = { Enter: 24, EnterOnce: 10, Hammer: 4, Look: 10, AskLane: 4, Advance: 24 } as const

/** What a scenario can be about, each with the weights of its steps. */
const themes: ReadonlyArray<Partial<Record<Step["_tag"], number>>> = [
  { Move: 8 },
  { Move: 4, Freeze: 5 },
  { Crash: 3, Start: 3 },
  { Stop: 3, Start: 3 },
  { Blind: 6, Again: 3, Move: 2 },
  { Cut: 5, Move: 3 },
  { Outage: 5, Blind: 2 },
  { Hammer: 20, Move: 4 },
  { Checkpoint: 6, Crash: 2, Move: 2 },
  { Freeze: 4, Cut: 3, Crash: 1, Start: 1 }
]

/** Organizations of a scenario, and most nodes that live at a time. */
export const organizations = 4
export const maximumNodes = 4

const drawStep = (draw: Prng, weights: Partial<Record<Step["_tag"], number>>): Step => {
  const _tag = draw.weighted(weights)
  const node = draw.int(0, maximumNodes - 1)
  const organization = draw.int(0, organizations - 1)
  switch (_tag) {
    case "Enter":
    case "EnterOnce":
    case "Look":
    case "AskLane":
      return { _tag, organization, node }
    case "Hammer":
      return { _tag, organization, count: draw.int(2, 9) }
    case "Advance":
      return { _tag, millis: draw.pick([5, 40, 300, 1_200, 4_000]) }
    case "Move":
      return {
        _tag,
        partition: draw.int(0, 3),
        to: node,
        way: draw.pick(ways),
        lagMillis: draw.pick([0, 30, 500, 2_000])
      }
    case "Blind":
    case "Cut":
      return { _tag, node, millis: draw.pick([100, 700, 4_000, 12_000]) }
    case "Again":
      return { _tag, partition: draw.int(0, 3) }
    case "Freeze":
      return { _tag, node, millis: draw.pick([200, 2_000, 6_000, 15_000]) }
    case "Outage":
      return { _tag, of: draw.pick(["log", "database"]), millis: draw.pick([200, 1_500, 6_000]) }
    case "Start":
      return { _tag }
    case "Upgrade":
      return { _tag, node }
    default:
      return { _tag, node }
  }
}

/** Faults are planned among this many first operations of a kind. */
const planned = 200

const drawFaults = (draw: Prng): ReadonlyArray<Fault> => {
  if (draw.chance(0.12)) return []
  const faults: Array<Fault> = []
  const kinds = Array.from({ length: draw.int(1, 3) }, () => {
    const operation = draw.chance(0.6)
      ? draw.pick(["request", "reply"] as const)
      : draw.pick(Object.keys(operations) as ReadonlyArray<OwnersOperation>)
    const kind = draw.pick<string>(operations[operation])
    const isHeavy = kind.startsWith("crash") || kind.startsWith("pause")
    return { operation, kind, rate: isHeavy ? 0.03 : draw.pick([0.03, 0.1, 0.35]) }
  })
  const taken = new Set<string>()
  for (const { kind, operation, rate } of kinds)
    for (let nth = 0; nth < planned; nth++) {
      if (!draw.chance(rate) || taken.has(`${operation} ${nth}`)) continue
      taken.add(`${operation} ${nth}`)
      faults.push({ operation, nth, kind })
    }
  return faults
}

/** The newest level of formats of any build. */
export const newestLevel = 3

/** What happens in an upgrade besides the rest: nodes of new builds, some of old ones that come back, and absences so long that others go on. */
const drawUpgradeSteps = (draw: Prng): ReadonlyArray<Step> => {
  const node = draw.int(0, maximumNodes - 1)
  const move = (): Step => ({
    _tag: "Move",
    partition: draw.int(0, 3),
    to: node,
    way: draw.pick(ways),
    lagMillis: draw.pick([0, 30, 500])
  })
  switch (draw.weighted({ Upgrade: 8, Start: 4, Freeze: 3, Outage: 1, Advance: 4, Move: 3 })) {
    case "Upgrade":
      return [{ _tag: "Upgrade", node }]
    case "Start":
      return [{ _tag: "Start", level: draw.int(1, newestLevel) }]
    case "Freeze":
      // The others are upgraded meanwhile, and when it wakes it gets a partition at once.
      return [
        { _tag: "Freeze", node, millis: draw.pick([64_000, 90_000]) },
        ...[1, 2, 3].flatMap(
          (other): ReadonlyArray<Step> => (draw.chance(0.7) ? [{ _tag: "Upgrade", node: node + other }] : [])
        ),
        { _tag: "Advance", millis: draw.pick([12_000, 63_900, 89_950]) },
        move(),
        { _tag: "Advance", millis: draw.pick([60, 300]) },
        move()
      ]
    case "Outage":
      return [
        { _tag: "Outage", of: "database", millis: draw.pick([6_000, 70_000]) },
        { _tag: "Advance", millis: draw.pick([5_000, 69_000]) }
      ]
    case "Move":
      return [move()]
    default:
      return [{ _tag: "Advance", millis: draw.pick([1_200, 12_000]) }]
  }
}

/** How many scenarios are of an upgrade, and how many of their steps. */
const upgrades = 0.35
const upgradeSteps = 0.2

/** Has the nodes of a scenario be upgraded. Drawn apart, so that the other scenarios are what they were before there were builds. */
const upgraded = (scenario: Scenario): Scenario => {
  const draw = new Prng(scenario.seed, "owners builds")
  if (!draw.chance(upgrades)) return scenario
  return {
    ...scenario,
    topology: {
      ...scenario.topology,
      levels: Array.from({ length: scenario.topology.nodes }, () => draw.pick([1, 1, 1, 2, newestLevel]))
    },
    steps: scenario.steps.flatMap((step) => (draw.chance(upgradeSteps) ? [...drawUpgradeSteps(draw), step] : [step]))
  }
}

/** Draws the scenario of a seed. */
export const generate = (seed: number, count = 60): Scenario => upgraded(generatePlain(seed, count))

const generatePlain = (seed: number, count: number): Scenario => {
  const draw = new Prng(seed, "owners scenario")
  const weights: Partial<Record<Step["_tag"], number>> = { ...usual }
  for (const theme of [draw.pick(themes), ...(draw.chance(0.5) ? [draw.pick(themes)] : [])])
    for (const [tag, weight] of Object.entries(theme) as ReadonlyArray<[Step["_tag"], number]>)
      weights[tag] = (weights[tag] ?? 0) + weight
  return {
    of: "owners",
    seed,
    topology: {
      nodes: draw.int(2, 3),
      partitions: draw.pick([1, 1, 2, 3]),
      replicas: draw.pick([1, 3]),
      disorder: draw.pick([0, 0.1, 0.5]),
      sliceOperations: draw.pick([16, 256, 2_048]),
      latencyMicros: draw.pick([200, 3_000, 30_000]),
      checkpointFrames: draw.pick([4, 1_000])
    },
    faults: drawFaults(draw),
    steps: Array.from({ length: count }, () => drawStep(draw, weights))
  }
}
