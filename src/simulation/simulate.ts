/**
 * Simulates a user's own actor: commands derived from its schema, its rule running in the real engine under all faults,
 * its invariants and its oracle asked at every stored decision. A failing scenario is shrunk to the few steps that
 * matter.
 */
import { Arbitrary, Data, Effect } from "effect"
import type { Actor, AnyActor } from "../engine/Actor.ts"
import { campaign, describeFailure, type Failure } from "./campaign.ts"
import { toJson } from "./Scenario.ts"
import type { CommandSource, Invariants, Oracle, Workload } from "./Workload.ts"

export interface SimulateOptions<Command, State, Reply, Rejection> {
  /** How commands are drawn; from the command's schema unless told otherwise. */
  readonly commands?: Arbitrary.Arbitrary<Command>
  /** Sentences about every stored state. */
  readonly invariants?: Invariants<State>
  /** What the replies must be. */
  // biome-ignore lint/suspicious/noExplicitAny: the model is the oracle's own business
  readonly oracle?: Oracle<any, Command, Reply, Rejection>
  /** Further actors that the commands touch. */
  readonly others?: ReadonlyArray<AnyActor>
  /** Names of the actors that commands go to; one, "", unless told otherwise. */
  readonly keys?: ReadonlyArray<string>
  /**
   * Whether the rule recognizes a repeated command, so that clients may repeat a command whose outcome they do not
   * know.
   */
  readonly isRepeatable?: boolean
  /** Scenarios; 100 unless told otherwise. */
  readonly seeds?: number
  /** The first seed, 0 unless told otherwise. */
  readonly seed?: number
  /** Steps of each; 100 unless told otherwise. */
  readonly steps?: number
}

/** What a simulation of an actor showed. */
export interface SimulationReport {
  readonly kind: string
  readonly scenarios: number
  /** How often each fault and each branch of the engine was reached. */
  readonly marks: ReadonlyMap<string, number>
}

/** A scenario in which the actor breaks an invariant, its oracle or a promise of the engine. */
export class SimulationFailed extends Data.TaggedError("SimulationFailed")<{
  /** For people: what was found, the trace, the scenario. */
  readonly message: string
  readonly failure: Failure
  /** The shrunk scenario as JSON. */
  readonly scenario: string
}> {}

const defaultSeeds = 100

/** A workload of one actor. */
export const workloadOf = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  options: SimulateOptions<Command, State, Reply, Rejection>
): Workload => {
  const arbitrary = options.commands ?? (Arbitrary.schema(actor.options.command) as Arbitrary.Arbitrary<Command>)
  const source: CommandSource = { actor, weight: 1, arbitrary }
  return {
    name: actor.kind,
    actors: [actor, ...(options.others ?? [])],
    lanes: [],
    signals: {},
    organizations: ["org_1", "org_2"],
    keys: options.keys ?? [""],
    commands: [source],
    isRepeatable: options.isRepeatable ?? false,
    oracles: options.oracle === undefined ? {} : { [actor.kind]: options.oracle },
    invariants: options.invariants === undefined ? {} : { [actor.kind]: options.invariants as Invariants<never> },
    checkers: []
  }
}

/** Simulates an actor. Fails with the first finding, shrunk. */
export const simulate = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  options: SimulateOptions<Command, State, Reply, Rejection> = {}
): Effect.Effect<SimulationReport, SimulationFailed> =>
  Effect.suspend(() => {
    const { failure, marks, played } = campaign(workloadOf(actor, options), {
      seed: options.seed ?? 0,
      seeds: options.seeds ?? defaultSeeds,
      ...(options.steps === undefined ? {} : { steps: options.steps })
    })
    if (failure !== undefined) {
      return Effect.fail(
        new SimulationFailed({ message: describeFailure(failure), failure, scenario: toJson(failure.scenario) })
      )
    }
    return Effect.succeed({ kind: actor.kind, scenarios: played, marks: marks.counts })
  })

/** A report as text: scenarios, and the coverage of marks. */
export const describeReport = (report: SimulationReport): string =>
  [
    `${report.kind}: ${report.scenarios} scenarios, nothing found`,
    ...[...report.marks]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([mark, count]) => `${String(count).padStart(8)} ${mark}`)
  ].join("\n")
