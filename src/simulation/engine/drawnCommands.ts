/**
 * Draws commands at the moment in which they are sent, from the actor's state and the time. A scenario holds the number
 * that each is drawn by, so that it plays the same each time. Needs no service.
 */
import { Arbitrary, Effect, Schema } from "effect"
import { epochMillis } from "../kernel/World.ts"
import type { Scenario, Step } from "./Scenario.ts"
import type { Simulation } from "./Simulation.ts"
import type { CommandSource } from "./Workload.ts"

/** The command of a step that is drawn when it is sent. */
interface Draw {
  readonly $draw: number
}

/** The place of a command that is drawn by this number. */
export const drawnBy = (number: number): Schema.Json => ({ $draw: number })

/** Whether the command of a step is drawn when it is sent. */
export const isDrawn = (command: unknown): command is Draw =>
  typeof command === "object" && command !== null && "$draw" in command && Object.keys(command).length === 1

/** Samples an arbitrary by a name. */
export const sample = (arbitrary: Arbitrary.Arbitrary<unknown>, seed: string, count: number): ReadonlyArray<unknown> =>
  Effect.runSync(Effect.orDie(Arbitrary.sampleEffect(arbitrary, { seed, count })))

const encoders = new WeakMap<object, (value: unknown) => unknown>()

/** The JSON form of a command. */
export const encodeCommand = (source: CommandSource, value: unknown): unknown => {
  const schema = source.actor.options.command
  let encoder = encoders.get(schema)
  if (encoder === undefined) {
    encoder = Schema.encodeUnknownSync(Schema.toCodecJson(schema))
    encoders.set(schema, encoder)
  }
  return encoder(value)
}

interface Target {
  readonly organization: string
  readonly actor: string
  readonly key: string
}

/** The source of an actor's commands that are drawn when they are sent. */
const sourceOf = ({ workload }: Simulation, kind: string): CommandSource | undefined =>
  workload.commands.find(({ actor, drawAt }) => actor.kind === kind && drawAt !== undefined)

/** Draws commands for an actor from its stored state and the time of the newest process. */
export const drawNow = (
  simulation: Simulation,
  source: CommandSource,
  { actor: kind, key, organization }: Target,
  seed: string,
  count: number
): ReadonlyArray<unknown> => {
  const { world } = simulation
  const now = simulation.newest()?.process.wallMillis() ?? Math.floor(epochMillis + world.now + world.leapt)
  const { state } = simulation.truth.history({ organization, kind, key }).moments.at(-1)!
  const arbitrary = source.drawAt!({ now, state: state as never, key, organization })
  return sample(arbitrary, seed, count).map((value) => encodeCommand(source, value))
}

/** The command of a step in its JSON form, drawn now if it is to be. */
export const commandNow = (simulation: Simulation, target: Target, command: unknown): unknown => {
  if (!isDrawn(command)) return command
  const source = sourceOf(simulation, target.actor)
  if (source === undefined) return command
  const [drawn] = drawNow(simulation, source, target, `drawn/${command.$draw}`, 1)
  simulation.drawn.set(command.$draw, drawn)
  return drawn
}

/** A step with the commands that a play has drawn for it. */
const fixedStep = (step: Step, drawn: ReadonlyMap<number, unknown>): Step => {
  const fixed = (command: Schema.Json): Schema.Json =>
    isDrawn(command) && drawn.has(command.$draw) ? (drawn.get(command.$draw) as Schema.Json) : command
  switch (step._tag) {
    case "Command":
    case "Meet":
    case "Once":
    case "Prefetch":
      return { ...step, command: fixed(step.command) }
    case "Burst":
      return { ...step, commands: step.commands.map(fixed) }
    default:
      return step
  }
}

/** A scenario with the commands that a play has drawn. Those of a row are still drawn when they are sent. */
export const withDrawn = (scenario: Scenario, drawn: ReadonlyMap<number, unknown>): Scenario =>
  drawn.size === 0 ? scenario : { ...scenario, steps: scenario.steps.map((step) => fixedStep(step, drawn)) }
