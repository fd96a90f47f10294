/**
 * Simulates a user's own actor: commands derived from its schema, its rule running in the real engine under all faults,
 * at times that matter to it, its invariants and its oracle checked at every stored decision. Anything in a rule that
 * the engine would refuse is a finding too: exceptions, values that a schema refuses, impurity, growth without a bound.
 * A failing scenario is shrunk to the few steps that matter.
 */
import { Arbitrary, Data, Effect } from "effect"
import type { Actor, AnyActor } from "../../engine/Actor.ts"
import { describe } from "../../engine/describe.ts"
import type { Ingest } from "../../engine/ingestRules.ts"
import type { ProgramStreams } from "../../engine/ports/ProgramStreams.ts"
import type { Reactor } from "../../engine/Reactor.ts"
import type { SignalRules } from "../../engine/shell/signals/feedSignals.ts"
import { campaign, describeFailure, type Failure } from "../engine/campaign.ts"
import { usualAfter } from "../engine/edgeCommands.ts"
import { generate } from "../engine/generate.ts"
import type { Marks } from "../engine/Marks.ts"
import { toJson } from "../engine/Scenario.ts"
import type {
  CommandMoment,
  CommandSource,
  DrawnMessage,
  DrawnSignal,
  Eventually,
  Invariants,
  Oracle,
  Projection,
  Sentences,
  SimulatedWorker,
  Workload
} from "../engine/Workload.ts"
import { RuleWatch } from "./RuleWatch.ts"
import { describeReach, type Reach, reachOf } from "./reach.ts"
import { rulesHold } from "./rulesHold.ts"
import { membersOf } from "./tags.ts"

/**
 * Statements about an actor, and how its commands are drawn (docs/simulation.md, "What may be said of a rule"). See
 * {@link simulate}.
 */
export interface SimulateOptions<Command, State, Reply, Rejection> {
  /**
   * How commands are drawn; default: from the command's schema. A function is asked when each is sent, with the time
   * and the actor's state, so that a command can have a time of its own.
   */
  readonly commands?: Arbitrary.Arbitrary<Command> | ((moment: CommandMoment<State>) => Arbitrary.Arbitrary<Command>)
  /** How often each kind of command is drawn, by `_tag`, beside 1 for those that are not named; 0 for never. */
  readonly weights?: Readonly<Record<string, number>>
  /** Commands of the other actors, drawn from their schemas beside those of this one; a weight for each, beside 1. */
  readonly otherCommands?: Readonly<Record<string, number>>
  /** Sentences about every stored state. */
  readonly invariants?: Invariants<State>
  /** Sentences about the actors of each organization together, after every stored frame. */
  readonly together?: Sentences
  /**
   * Sentences about the actors of all organizations together. The content of a message under way has left one and is
   * not at the other.
   */
  readonly overall?: Sentences
  /**
   * Sentences about time: once a stored state fits `from`, one must fit `until` within some milliseconds, by the
   * actor's own wakes (docs/simulation.md, "What must happen in time").
   */
  readonly eventually?: Readonly<Record<string, Eventually<State>>>
  /**
   * Further times at which commands come on purpose, in milliseconds after a time in an actor's state: the lengths of
   * the rule's windows and deadlines. A second, a minute, 15 minutes, an hour, a day, 7 and 30 days are always tried,
   * each to the millisecond.
   */
  readonly after?: ReadonlyArray<number>
  /**
   * Whether some scenarios send an actor thousands of commands, so that a state without a bound is found; default true.
   */
  readonly floods?: boolean
  /** Facts and states as earlier versions of the actor have stored them, as JSON: its upcasts must accept them. */
  readonly old?: ReadonlyArray<{
    readonly version: number
    readonly facts?: ReadonlyArray<unknown>
    readonly states?: ReadonlyArray<unknown>
  }>
  /** The oracle of the replies. */
  // biome-ignore lint/suspicious/noExplicitAny: the model is the oracle's own business
  readonly oracle?: Oracle<any, Command, Reply, Rejection>
  /** Streams of the program, by their names with their subjects: what ingests read and publishers store. */
  readonly streams?: Readonly<Record<string, ReadonlyArray<string>>>
  /** Ingests, whose messages are drawn by `messages` (docs/simulation.md, "Reactors and streams"). */
  readonly ingests?: ReadonlyArray<Ingest>
  /** The messages that come into the streams. Organizations are `org_1` and `org_2`. */
  readonly messages?: Arbitrary.Arbitrary<DrawnMessage>
  /** Reactors that `Publish.jetStream` has made. */
  readonly publishers?: ReadonlyArray<Reactor<ProgramStreams>>
  /** Projections, whose tables are in memory. */
  readonly reactors?: ReadonlyArray<Projection>
  /** The meaning of signals, by their kind, and the signals that come. */
  readonly signals?: { readonly rules: SignalRules; readonly drawn: Arbitrary.Arbitrary<DrawnSignal> }
  /**
   * Workers, and the answers of the service that each calls (docs/simulation.md, "Workers"). No floods come with them.
   */
  readonly workers?: ReadonlyArray<SimulatedWorker>
  /** Further actors that the commands touch. */
  readonly others?: ReadonlyArray<AnyActor>
  /** Names of the actors that commands go to; default: one, "". */
  readonly keys?: ReadonlyArray<string>
  /**
   * Whether the rule recognizes a repeated command, so that clients may repeat a command whose outcome they do not
   * know.
   */
  readonly isRepeatable?: boolean
  /** Scenarios; default 100. */
  readonly seeds?: number
  /** The first seed; default 0. */
  readonly seed?: number
  /** Steps of each; default 100. */
  readonly steps?: number
}

/** The result of a simulation of an actor. See {@link simulate}. */
export interface SimulationReport {
  readonly kind: string
  readonly scenarios: number
  /** How often each fault and each branch of the engine was reached. */
  readonly marks: ReadonlyMap<string, number>
  /** The reached part of the rule itself, and the unreached one. */
  readonly reach: Reach
}

/** A scenario in which the actor breaks an invariant, its oracle or a promise of the engine. See {@link simulate}. */
export class SimulationFailed extends Data.TaggedError("SimulationFailed")<{
  /** For people: the finding, the trace, the scenario. */
  readonly message: string
  readonly failure: Failure
  /** The shrunk scenario as JSON. */
  readonly scenario: string
}> {}

const defaultSeeds = 100

/** Draws a command by its schema; with weights, a kind of command first. */
const drawn = (actor: AnyActor, weights: Readonly<Record<string, number>> = {}): ReadonlyArray<CommandSource> => {
  const members = membersOf(actor.options.command)
  return members.map(({ schema, tag }) => ({
    actor,
    weight: tag === undefined ? 1 : (weights[tag] ?? 1),
    arbitrary: Arbitrary.schema(schema as never) as Arbitrary.Arbitrary<unknown>
  }))
}

/** The option `commands`, of any types. */
type CommandDraw = Arbitrary.Arbitrary<unknown> | ((moment: CommandMoment<never>) => Arbitrary.Arbitrary<unknown>)

const drawOf = (actor: AnyActor, commands: CommandDraw): Pick<CommandSource, "arbitrary" | "drawAt"> =>
  typeof commands === "function"
    ? { arbitrary: Arbitrary.schema(actor.options.command as never) as Arbitrary.Arbitrary<unknown>, drawAt: commands }
    : { arbitrary: commands }

const sourcesOf = <Command, State, Reply, Rejection>(
  watched: AnyActor,
  others: ReadonlyArray<AnyActor>,
  { commands, otherCommands = {}, weights }: SimulateOptions<Command, State, Reply, Rejection>
): ReadonlyArray<CommandSource> => {
  const own =
    commands === undefined
      ? drawn(watched, weights)
      : [{ actor: watched, weight: 1, ...drawOf(watched, commands as CommandDraw) }]
  const further = Object.entries(otherCommands).flatMap(([kind, weight]) => {
    const other = others.find((known) => known.kind === kind)
    if (other === undefined) throw new Error(`${kind} is not among the other actors`)
    return drawn(other).map((source) => ({ ...source, weight: weight * own.length }))
  })
  return [...own.filter(({ weight }) => weight > 0), ...further]
}

/** The data of earlier versions, as frames that a log begins with. */
const oldFactsOf = (actor: AnyActor, keys: ReadonlyArray<string>, old: ReadonlyArray<OldVersion>) => {
  const facts = old.flatMap((of) => (of.facts ?? []).map((fact) => ({ version: of.version, fact })))
  if (facts.length === 0) return {}
  return {
    oldFacts: (index: number) => ({
      organization: organizations[index % organizations.length]!,
      kind: actor.kind,
      key: keys[index % keys.length]!,
      ...facts[index % facts.length]!
    })
  }
}

type OldVersion = NonNullable<SimulateOptions<never, never, never, never>["old"]>[number]

const organizations = ["org_1", "org_2"]

/** The parts of a workload outside of its actors. */
const outsideOf = ({
  ingests,
  messages,
  publishers,
  reactors,
  signals,
  streams,
  workers
}: Pick<
  SimulateOptions<never, never, never, never>,
  "ingests" | "messages" | "publishers" | "reactors" | "signals" | "streams" | "workers"
>): Pick<
  Workload,
  "signals" | "signalDraw" | "streams" | "ingests" | "messages" | "publishers" | "projections" | "workers"
> => ({
  signals: signals?.rules ?? {},
  ...(signals === undefined ? {} : { signalDraw: signals.drawn }),
  ...(streams === undefined ? {} : { streams }),
  ...(ingests === undefined ? {} : { ingests }),
  ...(messages === undefined ? {} : { messages }),
  ...(publishers === undefined ? {} : { publishers }),
  ...(reactors === undefined ? {} : { projections: reactors }),
  ...(workers === undefined ? {} : { workers })
})

/**
 * A workload of one actor. Its rules are watched while it is played.
 *
 * @example
 * ```ts
 * import type { Actor } from "sluice"
 * import { campaign, workloadOf } from "sluice/simulation"
 *
 * // `simulate` in two steps, for what a campaign can do beside it
 * export const played = <C, F, S, Reply, R>(actor: Actor.Actor<C, F, S, Reply, R>) =>
 *   campaign(workloadOf(actor, { keys: ["ann", "ben"] }), { seed: 1, seeds: 20 })
 * ```
 */
export const workloadOf = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  options: SimulateOptions<Command, State, Reply, Rejection>
): Workload => {
  const watch = new RuleWatch()
  const watched = watch.of(actor)
  const others = (options.others ?? []).map((other) => watch.of(other))
  const keys = options.keys ?? [""]
  return {
    name: actor.kind,
    actors: [watched, ...others],
    lanes: [],
    ...outsideOf(options),
    organizations,
    keys,
    commands: sourcesOf(watched, others, options),
    isRepeatable: options.isRepeatable ?? false,
    oracles: options.oracle === undefined ? {} : { [actor.kind]: options.oracle },
    invariants: options.invariants === undefined ? {} : { [actor.kind]: options.invariants as Invariants<never> },
    ...(options.eventually === undefined
      ? {}
      : { eventually: { [actor.kind]: options.eventually as Readonly<Record<string, Eventually<never>>> } }),
    meetings: {
      after: [...usualAfter, ...(options.after ?? [])],
      floods: options.workers === undefined && (options.floods ?? true)
    },
    ...oldFactsOf(actor, keys, options.old ?? []),
    checkers: [rulesHold(watch, { each: options.together ?? {}, all: options.overall ?? {} })]
  }
}

/** Says why the data of earlier versions cannot be read; undefined when all can. */
const oldProblem = (actor: AnyActor, old: ReadonlyArray<OldVersion>): string | undefined => {
  const read = (what: string, encoded: unknown, version: number, by: () => void): string | undefined => {
    try {
      by()
      return undefined
    } catch (cause) {
      return `${actor.kind} cannot read a ${what} of version ${version}, ${JSON.stringify(encoded)}: ${describe(cause)}`
    }
  }
  const { evolve, initial } = actor.options
  for (const { facts = [], states = [], version } of old) {
    for (const fact of facts) {
      const problem = read("fact", fact, version, () => evolve(initial(""), actor.decodeFact(fact, version)))
      if (problem !== undefined) return problem
    }
    for (const state of states) {
      const problem = read("state", state, version, () => actor.decodeState(state, version))
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

/** A finding that needs no scenario. */
const problemOf = (workload: Workload, message: string | undefined): Failure | undefined =>
  message === undefined
    ? undefined
    : {
        seed: 0,
        violation: { checker: "rules hold", message, at: 0 },
        scenario: generate(workload, 0, 0),
        drawnSteps: 0,
        drawnFaults: 0,
        isDrawn: false,
        isSmall: true,
        comesAgain: true,
        trace: []
      }

const failedWith = (failure: Failure): SimulationFailed =>
  new SimulationFailed({ message: describeFailure(failure), failure, scenario: toJson(failure.scenario) })

/**
 * A simulation that is yet to be played: `simulate` plays it, and `sluice simulate --file` those that a file exports.
 * See {@link plan}.
 */
export interface SimulationPlan {
  readonly _tag: "SimulationPlan"
  readonly kind: string
  readonly workload: Workload
  readonly seed: number
  readonly seeds: number
  readonly steps: number | undefined
  /** The fault before anything is played. */
  readonly problem: Failure | undefined
  /** The reached part of the rules. */
  readonly reachOf: (marks: Marks) => Reach
}

/**
 * Plans the simulation of an actor.
 *
 * @example
 * ```ts
 * import type { Actor } from "sluice"
 * import { plan } from "sluice/simulation"
 *
 * // exported from a file, `sluice simulate --file` plays it
 * export const proofOf = <C, F, R>(Account: Actor.Actor<C, F, number, number, R>) =>
 *   plan(Account, { invariants: { "nobody owes anything": (balance) => balance >= 0 } })
 * ```
 */
export const plan = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  options: SimulateOptions<Command, State, Reply, Rejection> = {}
): SimulationPlan => {
  const workload = workloadOf(actor, options)
  return {
    _tag: "SimulationPlan",
    kind: actor.kind,
    workload,
    seed: options.seed ?? 0,
    seeds: options.seeds ?? defaultSeeds,
    steps: options.steps,
    problem: problemOf(workload, oldProblem(actor, options.old ?? [])),
    reachOf: (marks) => reachOf(workload, marks)
  }
}

/**
 * Simulates an actor. Fails with the first finding, shrunk.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Actor } from "sluice"
 * import { simulate } from "sluice/simulation"
 *
 * const Counter = Actor.make({
 *   kind: "counter",
 *   command: Schema.Struct({ add: Schema.Int }),
 *   fact: Schema.Struct({ added: Schema.Int }),
 *   state: Schema.Int,
 *   initial: () => 0,
 *   evolve: (total, { added }) => total + added,
 *   decide: (_, { add }) => Actor.decided({ facts: [{ added: add }] })
 * })
 *
 * const proof = simulate(Counter, { invariants: { "it never counts below zero": (total) => total >= 0 }, seed: 1, seeds: 5 })
 * const found = await Effect.runPromise(Effect.flip(proof))
 * console.log(found.failure.scenario.steps.length) // 1
 * ```
 */
export const simulate = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  options: SimulateOptions<Command, State, Reply, Rejection> = {}
): Effect.Effect<SimulationReport, SimulationFailed> =>
  Effect.suspend(() => {
    const planned = plan(actor, options)
    const { kind, problem, seed, seeds, steps, workload } = planned
    if (problem !== undefined) return Effect.fail(failedWith(problem))
    const { failure, marks, played } = campaign(workload, { seed, seeds, ...(steps === undefined ? {} : { steps }) })
    if (failure !== undefined) return Effect.fail(failedWith(failure))
    return Effect.succeed({ kind, scenarios: played, marks: marks.counts, reach: planned.reachOf(marks) })
  })

/**
 * A report as text: scenarios, the reached part of the rule, and the coverage of the engine's marks.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import type { Actor } from "sluice"
 * import { describeReport, simulate } from "sluice/simulation"
 *
 * export const told = <C, F, S, Reply, R>(actor: Actor.Actor<C, F, S, Reply, R>) =>
 *   Effect.map(simulate(actor, { seeds: 50 }), describeReport)
 * ```
 */
export const describeReport = (report: SimulationReport): string =>
  [
    `${report.kind}: ${report.scenarios} scenarios, nothing found`,
    ...describeReach(report.reach),
    ...[...report.marks]
      .filter(([mark]) => !mark.startsWith("rule, "))
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([mark, count]) => `${String(count).padStart(8)} ${mark}`)
  ].join("\n")
