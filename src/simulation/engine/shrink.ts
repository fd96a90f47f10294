/**
 * Makes a failing scenario small: leaves out steps and faults (halves first, then single ones), and simplifies the
 * rest, as long as the same checker still complains. Deterministic; works on saved scenarios too.
 */
import { Schema } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import { defaultConfig } from "../../engine/config.ts"
import type { Scenario, Step, Topology } from "./Scenario.ts"
import type { Workload } from "./Workload.ts"

/** Most plays for shrinking one scenario. */
const maximumPlays = 1_500

/** The rest of a scenario that fails. See {@link shrink}. */
export interface Shrunk {
  readonly scenario: Scenario
  readonly plays: number
  /** Whether it ended because it had played too often. */
  readonly isCutShort: boolean
}

/** Leaves out as many items as it can, half of them at first and then ever fewer, while the rest still fails. */
export const leaveOut = <A>(
  items: ReadonlyArray<A>,
  stillFails: (rest: ReadonlyArray<A>) => boolean
): ReadonlyArray<A> => {
  let left = items
  for (let size = Math.max(1, left.length); size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from < left.length; ) {
      const rest = [...left.slice(0, from), ...left.slice(from + size)]
      if (stillFails(rest)) left = rest
      else from += size
    }
  return left
}

/**
 * `fails` plays a scenario and says whether it still fails in the same way.
 *
 * @example
 * ```ts
 * import { play, type Scenario, shrink, type Workload } from "sluice/simulation"
 *
 * // The smallest scenario that still breaks a rule.
 * export const smallest = (workload: Workload, scenario: Scenario) =>
 *   shrink(scenario, workload, (candidate) => play(candidate, workload).violation !== undefined).scenario
 * ```
 */
export const shrink = (scenario: Scenario, workload: Workload, fails: (candidate: Scenario) => boolean): Shrunk => {
  let plays = 0
  let best = scenario
  const attempt = (candidate: Scenario): boolean => {
    if (plays >= maximumPlays) return false
    plays++
    if (!fails(candidate)) return false
    best = candidate
    return true
  }
  // A flood costs more than all other steps together.
  for (const index of scenario.steps.keys()) while (isFlood(best.steps[index]) && attempt(withHalfOf(best, index))) {}
  for (let before = Number.POSITIVE_INFINITY; sizeOf(best) < before && plays < maximumPlays; ) {
    before = sizeOf(best)
    leaveOut(best.faults, (faults) => attempt({ ...best, faults }))
    leaveOut(best.steps, (steps) => attempt({ ...best, steps }))
    for (const topology of simplerTopologies(best.topology))
      attempt({ ...best, topology: { ...best.topology, ...topology } })
    for (let index = 0; index < best.steps.length; index++) {
      for (let again = true; again; ) {
        again = false
        for (const step of simplerSteps(best.steps, index, workload)) {
          const steps = [...best.steps]
          steps[index] = step
          if (attempt({ ...best, steps })) {
            again = true
            break
          }
        }
      }
    }
  }
  return { scenario: best, plays, isCutShort: plays >= maximumPlays }
}

const isFlood = (step: Step | undefined): boolean => step?._tag === "Flood" && step.count > 1

/** The scenario with half the commands of a flood. */
const withHalfOf = (scenario: Scenario, index: number): Scenario => ({
  ...scenario,
  steps: scenario.steps.map((step, at) =>
    at === index && step._tag === "Flood" ? { ...step, count: Math.floor(step.count / 2) } : step
  )
})

const sizeOf = (scenario: Scenario): number =>
  scenario.faults.length * 100 + JSON.stringify(scenario.steps).length + JSON.stringify(scenario.topology).length

/** The usual values, tried one by one. */
const plain: Partial<Topology> = {
  replicas: 1,
  partitions: 1,
  disorder: 0,
  sliceOperations: 2048,
  dragMicros: 0,
  latencyMicros: 400,
  logBytes: 64 * 1024 * 1024,
  oldFrames: 0,
  mailboxCapacity: 8_192,
  maximumActors: 1_000,
  maximumLaneActors: 1_000,
  checkpointFrames: 1_000,
  checkpointMillis: 60_000,
  idleMillis: 300_000,
  feedFrames: 64,
  concurrentTransactions: defaultConfig.concurrentTransactions
}

const simplerTopologies = function* (topology: Topology): Generator<Partial<Topology>> {
  for (const [name, value] of Object.entries(plain)) {
    if (topology[name as keyof Topology] !== value) yield { [name]: value }
  }
}

const simplerSteps = function* (steps: ReadonlyArray<Step>, index: number, workload: Workload): Generator<Step> {
  const step = steps[index]!
  switch (step._tag) {
    case "Repeat":
      // A repeat keeps the steps in between alive; a plain copy of the command does not.
      for (const earlier of steps.slice(0, index).reverse()) if (earlier._tag === "Command") yield earlier
      return
    case "Advance":
      if (step.millis > 1) yield { ...step, millis: Math.floor(step.millis / 2) }
      return
    case "Burst": {
      const { commands } = step
      if (commands.length === 1) {
        const { actor, key, organization } = step
        yield { _tag: "Command", organization, actor, key, command: commands[0]!, to: "newest" }
      }
      if (commands.length > 1) {
        yield { ...step, commands: commands.slice(0, Math.ceil(commands.length / 2)) }
        yield { ...step, commands: commands.slice(Math.floor(commands.length / 2)) }
        for (let index = 0; index < commands.length; index++) {
          yield { ...step, commands: commands.filter((_, at) => at !== index) }
        }
      }
      return
    }
    case "Insist": {
      const { commands, count } = step
      if (count > 1) yield { ...step, count: Math.floor(count / 2) }
      if (count > 2) yield { ...step, count: count - 1 }
      if (commands.length > 1)
        for (let at = 0; at < commands.length; at++)
          yield { ...step, commands: commands.filter((_, index) => at !== index) }
      return
    }
    case "Flood":
      if (step.count > 1) yield { ...step, count: Math.floor(step.count / 2) }
      return
    case "Meet":
    case "Once":
    case "Command": {
      if (step._tag === "Meet") {
        const { actor, command, key, organization } = step
        yield { _tag: "Command", organization, actor, key, command, to: "newest" }
      } else if (step.to === "older") yield { ...step, to: "newest" }
      const actor = workload.actors.find(({ kind }) => kind === step.actor)
      for (const name of [workload.organizations[0]!]) {
        if (step.organization !== name) yield { ...step, organization: name }
      }
      if (step.key !== workload.keys[0]) yield { ...step, key: workload.keys[0]! }
      for (const command of simplerValues(step.command)) {
        if (actor !== undefined && isCommand(actor, command)) yield { ...step, command: command as Schema.Json }
      }
      return
    }
    default:
      return
  }
}

const isCommand = (actor: AnyActor, encoded: unknown): boolean =>
  Schema.decodeUnknownExit(Schema.toCodecJson(actor.options.command))(encoded)._tag === "Success"

/** JSON with one part of it made simpler: numbers towards 0, texts and lists shorter. */
const simplerValues = function* (value: unknown): Generator<unknown> {
  if (typeof value === "number") {
    if (value === 0) return
    yield 0
    if (Math.abs(value) > 1) yield Math.sign(value)
    const half = Math.trunc(value / 2)
    if (half !== value && half !== 0) yield half
    if (Math.abs(value) > 2) yield value - Math.sign(value)
  } else if (typeof value === "string") {
    if (value.length > 0) yield value.slice(0, Math.floor(value.length / 2))
  } else if (Array.isArray(value)) {
    if (value.length > 0) yield value.slice(0, -1)
    for (const [index, part] of value.entries()) {
      for (const simpler of simplerValues(part)) yield value.map((other, at) => (at === index ? simpler : other))
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      if (name === "_tag" || name === "id") continue
      for (const simpler of simplerValues(part)) yield { ...value, [name]: simpler }
    }
  }
}
