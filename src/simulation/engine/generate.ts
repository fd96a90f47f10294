/**
 * Draws scenarios. Fault rates are drawn per seed, and few kinds of faults intensively rather than all lightly: a
 * scenario is about something (TigerBeetle's VOPR, FoundationDB's swarms). Commands are drawn by effect's Arbitrary
 * from their schemas.
 */
import { Arbitrary, Schema } from "effect"
import { Prng } from "../kernel/Prng.ts"
import { drawNow, drawnBy, encodeCommand, sample } from "./drawnCommands.ts"
import { reactorsOf } from "./programReactors.ts"
import {
  type Fault,
  type Operation,
  operations,
  type Scenario,
  type Step,
  streamOperations,
  type Topology,
  type Which,
  workerOperations
} from "./Scenario.ts"
import type { Simulation } from "./Simulation.ts"
import type { CommandSource, Workload } from "./Workload.ts"

/** Default steps of a scenario. See {@link generate}. */
export const defaultSteps = 100

/** Faults are planned among this many first operations of a kind. */
const plannedOperations = 160

/** Largest seed. */
const maximumSeed = 1_000_000_000

/**
 * The share of scenarios of rules with a flood of commands, and commands of each: a fact of 24 bytes for each fills a
 * state.
 */
const floodChance = 0.02
const floodCommands = 3_000

/** The share of scenarios with sentences about time in which commands come before each wake, their number and kinds. */
const insistChance = 0.3
const insistCommands = 60
const insistDrawn = 8

/** The latest times of a state are met most often. */
const metTimes = [0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 9, 12, 20]

/** Different commands of a flood. */
const drawnOfFlood = 256

type StepTag = Step["_tag"]

/** The weights of the usual steps. */
const usual: Partial<Record<StepTag, number>> = {
  Command: 60,
  Repeat: 3,
  Burst: 4,
  Once: 4,
  Look: 8,
  Prefetch: 4,
  AskLane: 8,
  Signal: 8,
  Advance: 12
}

/** The themes of scenarios, each with the weights of its steps. */
const themes: ReadonlyArray<Partial<Record<StepTag, number>>> = [
  { Crash: 5 },
  { Crash: 2, SecondOwner: 3 },
  { Pause: 4, Resume: 2, SecondOwner: 4, Look: 10, AskLane: 6 },
  { Suspend: 4, Resume: 3, SecondOwner: 4, Look: 10, AskLane: 6 },
  { SecondOwner: 5, Crash: 2 },
  { Restart: 4 },
  { ClockJump: 4, ClockStop: 2, ClockGo: 2, Crash: 1 },
  { Outage: 8 },
  { Checkpoint: 8, Purge: 2, Crash: 2 },
  { Checkpoint: 3, LoseTail: 4, Heal: 2 },
  { Checkpoint: 2, CorruptFrame: 4, Heal: 2 },
  { AskLane: 30, Advance: 6 },
  { Signal: 30, Crash: 2 },
  { Burst: 8 },
  { Once: 40, Repeat: 12, Crash: 2, Checkpoint: 2 },
  { Once: 40, Repeat: 12, SecondOwner: 3, ClockJump: 2 }
]

/** The themes of scenarios with streams of the program. */
const streamThemes: ReadonlyArray<Partial<Record<StepTag, number>>> = [
  { Message: 60, Crash: 3 },
  { Message: 40, SecondOwner: 3, Checkpoint: 3 },
  { Message: 30, Rebuild: 4, Crash: 1 }
]

/**
 * Draws a scenario from a seed. The same seed and workload give the same one.
 *
 * @example
 * ```ts
 * import { generate, type Workload } from "sluice/simulation"
 *
 * // 20 steps, the same ones each time.
 * export const seventh = (workload: Workload) => generate(workload, 7, 20)
 * ```
 */
export const generate = (workload: Workload, seed: number, stepCount = defaultSteps): Scenario => {
  const draw = new Prng(seed, "scenario")
  const weights: Partial<Record<StepTag, number>> = { ...usual }
  if (workload.lanes.length === 0) delete weights.AskLane
  if (Object.keys(workload.signals).length === 0) delete weights.Signal
  if (workload.onceCommands === undefined) delete weights.Once
  if (workload.isWithoutRepeats === true) delete weights.Repeat
  if (workload.follows !== undefined) weights.Follow = 6
  if (workload.leaps !== undefined) weights.Leap = 10
  if (workload.meetings !== undefined) weights.Meet = 30
  if (workload.messages !== undefined) weights.Message = 24
  if (reactorsOf(workload).length > 0) weights.Rebuild = 2
  const hasLane = weights.AskLane !== undefined
  const hasOnce = weights.Once !== undefined
  const hasSignals = weights.Signal !== undefined
  const all = workload.messages === undefined ? themes : [...themes, ...streamThemes]
  const chosen = draw.chance(0.1) ? [] : [draw.pick(all), ...(draw.chance(0.4) ? [draw.pick(all)] : [])]
  for (const theme of chosen) {
    for (const [tag, weight] of Object.entries(theme) as ReadonlyArray<[StepTag, number]>) {
      if ((tag === "AskLane" && !hasLane) || (tag === "Signal" && !hasSignals) || (tag === "Once" && !hasOnce)) continue
      if (tag === "Repeat" && workload.isWithoutRepeats === true) continue
      weights[tag] = (weights[tag] ?? 0) + weight
    }
  }
  const commands = new CommandDraw(workload, seed)
  const steps: Array<Step> = []
  for (let index = 0; index < stepCount; index++) steps.push(drawStep(draw, weights, workload, commands))
  if (workload.meetings?.floods === true && draw.chance(floodChance)) {
    const source = commands.source()
    const flood: Step = { _tag: "Flood", ...commands.target(source), draw: seed % 1_000_000, count: floodCommands }
    steps.splice(draw.int(0, steps.length), 0, flood)
  }
  if (workload.eventually !== undefined && draw.chance(insistChance)) {
    const target = commands.target(commands.source())
    const sources = workload.commands.filter(({ actor }) => actor.kind === target.actor)
    const drawn = Array.from({ length: insistDrawn }, () => commands.next(draw.pick(sources)) as Schema.Json)
    const insist: Step = { _tag: "Insist", ...target, commands: drawn, count: insistCommands }
    steps.splice(draw.int(0, steps.length), 0, insist)
  }
  return {
    seed,
    workload: workload.name,
    topology: roomy(drawTopology(draw), workload),
    faults: drawFaults(draw, workload),
    steps
  }
}

/**
 * Scenarios as an Arbitrary, for callers that combine them.
 *
 * @example
 * ```ts
 * import { scenarios, type Workload } from "sluice/simulation"
 *
 * // An arbitrary for a property test of your own.
 * export const drawn = (workload: Workload) => scenarios(workload)
 * ```
 */
export const scenarios = (workload: Workload): Arbitrary.Arbitrary<Scenario> =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumSeed }))),
    (seed: number) => generate(workload, seed)
  )

/** Commands of one scenario, drawn in batches. */
class CommandDraw {
  private readonly draw: Prng
  private readonly workload: Workload
  private readonly drawn = new Map<CommandSource, Array<unknown>>()
  private number = 0
  private readonly seed: number
  private readonly sources: ReadonlyArray<CommandSource>
  /** By the source's index. */
  private readonly weights: Readonly<Record<string, number>>

  constructor(workload: Workload, seed: number) {
    this.workload = workload
    this.seed = seed
    this.draw = new Prng(seed, "commands")
    this.sources = workload.commands
    this.weights = Object.fromEntries(this.sources.map((source, at) => [String(at), source.weight]))
  }

  source(): CommandSource {
    return this.sources[Number(this.draw.weighted(this.weights))]!
  }

  onceSource(): CommandSource {
    const sources = this.workload.onceCommands!
    return sources[
      Number(this.draw.weighted(Object.fromEntries(sources.map(({ weight }, at) => [String(at), weight]))))
    ]!
  }

  next(source: CommandSource): unknown {
    if (source.drawAt !== undefined) return drawnBy(this.number++)
    let values = this.drawn.get(source)
    if (values === undefined || values.length === 0) {
      values = [...sample(source.arbitrary, `${this.seed}/${this.indexOf(source)}/${this.number}`, 12)]
      this.drawn.set(source, values)
    }
    const value = values.pop()
    const number = this.number++
    return encodeCommand(source, source.finish === undefined ? value : source.finish(value, number))
  }

  private indexOf(source: CommandSource): number {
    const index = this.sources.indexOf(source)
    return index === -1 ? this.sources.length + this.workload.onceCommands!.indexOf(source) : index
  }

  /** Draws a message or a signal. */
  from<A extends { readonly data: unknown }>(arbitrary: Arbitrary.Arbitrary<A>): A & { readonly data: Schema.Json } {
    const [drawn] = sample(arbitrary, `${this.seed}/messages/${this.number++}`, 1) as ReadonlyArray<A>
    // As it is saved and read again.
    return JSON.parse(JSON.stringify(drawn)) as A & { readonly data: Schema.Json }
  }

  target(source: CommandSource) {
    return {
      organization: this.draw.pick(this.workload.organizations),
      actor: source.actor.kind,
      key: source.keyOf?.(this.number) ?? this.draw.pick(source.keys ?? this.workload.keys)
    }
  }
}

/** The commands of a flood, repeated if it asks for more. */
export const floodOf = (simulation: Simulation, step: Step & { readonly _tag: "Flood" }): ReadonlyArray<unknown> => {
  const { actor, count, draw } = step
  const source = simulation.workload.commands.find((known) => known.actor.kind === actor)
  if (source === undefined) return []
  const different = Math.min(count, drawnOfFlood)
  if (source.drawAt !== undefined) return drawNow(simulation, source, step, `flood/${draw}`, different)
  const drawn = sample(source.arbitrary, `flood/${draw}`, different)
  return drawn.map((value, number) =>
    encodeCommand(source, source.finish === undefined ? value : source.finish(value, number))
  )
}

const which = (draw: Prng): Which => (draw.chance(0.3) ? "older" : "newest")

/** A command under one of few keys, so that keys are used again, in time and too late. */
const drawOnce = (draw: Prng, commands: CommandDraw): Step => {
  const source = commands.onceSource()
  const windowMillis = draw.pick([undefined, 1_000, 4_000, 60_000])
  return {
    _tag: "Once",
    ...commands.target(source),
    command: commands.next(source) as Schema.Json,
    to: which(draw),
    once: `key ${draw.int(0, 5)}`,
    ...(windowMillis === undefined ? {} : { windowMillis })
  }
}

const drawFollow = (draw: Prng, workload: Workload): Step => ({
  _tag: "Follow",
  organization: draw.pick(workload.organizations),
  actor: draw.pick(workload.follows ?? []).kind,
  key: draw.pick(workload.keys),
  to: which(draw),
  what: draw.pick(["facts", "facts of all", "states", "keys"] as const)
})

/** A step of others than the clients of actors. */
const drawOutside = (
  draw: Prng,
  tag: "AskLane" | "Signal" | "Message" | "Rebuild",
  workload: Workload,
  commands: CommandDraw
): Step => {
  switch (tag) {
    case "AskLane":
      return { _tag: tag, organization: draw.pick(workload.organizations), to: which(draw) }
    case "Signal": {
      const signal = { _tag: tag, organization: draw.pick(workload.organizations), amount: draw.int(1, 9) } as const
      return workload.signalDraw === undefined ? signal : { ...signal, ...commands.from(workload.signalDraw) }
    }
    case "Message":
      return { _tag: tag, ...commands.from(workload.messages!) }
    case "Rebuild":
      return { _tag: tag, reactor: draw.pick(reactorsOf(workload)).name }
  }
}

const drawStep = (
  draw: Prng,
  weights: Partial<Record<StepTag, number>>,
  workload: Workload,
  commands: CommandDraw
): Step => {
  const tag = draw.weighted(weights)
  switch (tag) {
    case "Command": {
      const source = commands.source()
      const target = commands.target(source)
      const command = commands.next(source) as Schema.Json
      return { _tag: tag, ...target, command, to: which(draw), ...(source.isFresh === true ? { fresh: true } : {}) }
    }
    case "Prefetch": {
      const source = commands.source()
      return { _tag: tag, ...commands.target(source), command: commands.next(source) as Schema.Json, to: which(draw) }
    }
    case "Once":
      return drawOnce(draw, commands)
    case "Repeat":
      return { _tag: tag, back: draw.int(0, 20) }
    case "Burst": {
      const source = commands.source()
      const count = draw.pick([2, 3, 5, 18])
      return {
        _tag: tag,
        ...commands.target(source),
        commands: Array.from({ length: count }, () => commands.next(source) as Schema.Json)
      }
    }
    case "Look":
      return { _tag: tag, ...commands.target(commands.source()), to: which(draw) }
    case "Follow":
      return drawFollow(draw, workload)
    case "AskLane":
    case "Signal":
    case "Message":
    case "Rebuild":
      return drawOutside(draw, tag, workload, commands)
    case "Meet": {
      const source = commands.source()
      return {
        _tag: tag,
        ...commands.target(source),
        command: commands.next(source) as Schema.Json,
        time: draw.pick(metTimes),
        afterMillis: draw.pick(workload.meetings?.after ?? [0]),
        edgeMillis: draw.pick([-1, 0, 0, 1] as const)
      }
    }
    case "Leap":
      return { _tag: tag, millis: draw.pick(workload.leaps ?? [0]) }
    case "Advance":
      return { _tag: tag, millis: draw.pick([1, 5, 20, 100, 600, 2_500, 6_000, 12_000]) }
    case "Crash":
    case "Pause":
    case "Suspend":
    case "Checkpoint":
    case "ClockStop":
      return { _tag: tag, which: which(draw) }
    case "SecondOwner":
      return { _tag: tag, handover: draw.chance(0.6) }
    case "ClockJump":
      return {
        _tag: tag,
        which: which(draw),
        millis: draw.pick([-3_600_000, -120_000, -59_000, -2_000, -50, 50, 2_000, 61_000, 3_600_000])
      }
    case "Outage":
      return {
        _tag: tag,
        of: draw.pick(["log", "database", "hanging database"] as const),
        millis: draw.pick([50, 500, 3_000, 9_000, 15_000, 120_000])
      }
    case "LoseTail":
      return { _tag: tag, frames: draw.int(1, 4) }
    case "CorruptFrame":
      return { _tag: tag, back: draw.int(0, 4) }
    default:
      return { _tag: tag } as Step
  }
}

/**
 * Bytes of a log with reactors of the program: one that has had no record moves its cursor once the log is nearly full,
 * and a frame must still fit by then.
 */
const leastWithReactors = 20_000

/** A deployment that holds the workload's largest command. */
const roomy = (topology: Topology, workload: Workload): Topology => {
  const { maximumActors, logBytes } = workload.least ?? { maximumActors: 0, logBytes: 0 }
  const cursorBytes = reactorsOf(workload).length + (workload.workers ?? []).length > 0 ? leastWithReactors : 0
  return {
    ...topology,
    maximumActors: Math.max(topology.maximumActors, maximumActors),
    logBytes: Math.max(topology.logBytes, logBytes, cursorBytes)
  }
}

const drawTopology = (draw: Prng): Topology => ({
  replicas: draw.pick([1, 3] as const),
  partitions: draw.chance(0.2) ? 2 : 1,
  disorder: draw.pick([0, 0.05, 0.3, 0.7]),
  sliceOperations: draw.pick([2048, 2048, 200, 20]),
  dragMicros: draw.pick([0, 0, 10, 300]),
  latencyMicros: draw.pick([50, 400, 2_000, 20_000]),
  logBytes: draw.chance(0.2) ? draw.int(3_000, 16_000) : 64 * 1024 * 1024,
  oldFrames: draw.chance(0.2) ? draw.int(1, 6) : 0,
  mailboxCapacity: draw.chance(0.25) ? draw.pick([4, 8, 16]) : 8_192,
  maximumActors: draw.chance(0.2) ? draw.pick([6, 10]) : 1_000,
  maximumLaneActors: draw.chance(0.2) ? 1 : 1_000,
  checkpointFrames: draw.pick([1, 3, 8, 20, 1_000]),
  checkpointMillis: draw.pick([400, 3_000, 60_000]),
  idleMillis: draw.pick([300, 2_000, 5_000, 300_000]),
  feedFrames: draw.pick([1, 4, 64]),
  concurrentTransactions: draw.pick([1, 2])
})

/** Faults that end or delay a process must be rare in one scenario, or nothing else would happen. */
const isHeavy = (kind: string): boolean => kind.startsWith("crash") || kind.startsWith("pause") || kind === "full"

/** Each kind of fault with its operation. */
const allFaults = (Object.keys(operations) as ReadonlyArray<Operation>).flatMap((operation) =>
  operations[operation].map((kind): readonly [operation: Operation, kind: string] => [operation, kind])
)
const publishFaults = allFaults.filter(([operation]) => operation === "publish")
const otherFaults = allFaults.filter(
  ([operation]) => operation !== "publish" && !streamOperations.has(operation) && !workerOperations.has(operation)
)
const streamFaults = allFaults.filter(([operation]) => streamOperations.has(operation))
const workerFaults = allFaults.filter(([operation]) => workerOperations.has(operation))

const drawFaults = (draw: Prng, { streams, workers }: Workload): ReadonlyArray<Fault> => {
  if (draw.chance(0.12)) return []
  const kinds = Array.from({ length: draw.int(1, 3) }, () => {
    // Most faults are at a publish; the other operations are rare, so a larger share of them fails.
    const [operation, kind] =
      streams !== undefined && draw.chance(0.4)
        ? draw.pick(streamFaults)
        : workers !== undefined && draw.chance(0.5)
          ? draw.pick(workerFaults)
          : draw.chance(0.5)
            ? draw.pick(publishFaults)
            : draw.pick(otherFaults)
    const rates = operation === "publish" ? [0.03, 0.1, 0.35] : [0.1, 0.3, 0.6]
    return { operation, kind, rate: isHeavy(kind) ? draw.pick([0.02, 0.06]) : draw.pick(rates) }
  })
  const faults = new Map<string, Fault>()
  for (const { kind, operation, rate } of kinds) {
    for (let nth = 0; nth < plannedOperations; nth++) {
      if (draw.chance(rate)) faults.set(`${operation} ${nth}`, { operation, nth, kind })
    }
  }
  return [...faults.values()].sort((left, right) => left.nth - right.nth)
}
