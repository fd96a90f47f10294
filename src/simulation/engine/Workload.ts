/**
 * Describes the content of a simulation: actors, their commands, and the promises of their rules. `workloadOf` makes
 * one from an actor.
 */
import type { Arbitrary } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Ingest } from "../../engine/ingestRules.ts"
import type { AnyLane } from "../../engine/Lane.ts"
import type { ProgramStreams } from "../../engine/ports/ProgramStreams.ts"
import type { Reactor } from "../../engine/Reactor.ts"
import type { LogRecord } from "../../engine/records.ts"
import type { SignalRules } from "../../engine/shell/signals/feedSignals.ts"
import type { Worker, WorkerAttempt } from "../../engine/workers/workerTypes.ts"
import type { States } from "../rules/States.ts"
import type { Checker } from "./Checker.ts"

/**
 * A model of an actor, written independently of its rule: it sees every stored decision in order and predicts the
 * reply. See {@link simulate}.
 */
export interface Oracle<Model, Command, Reply, Rejection> {
  readonly initial: (key: string) => Model
  /**
   * Predicts the result of a command. `now` is the decision's time, milliseconds since the Unix epoch. Must not change
   * `model`.
   */
  readonly step: (model: Model, command: Command, now: number) => Expected<Model, Reply, Rejection>
}

/** Exactly one of `reply` and `rejection`; compared as JSON. See {@link simulate}. */
export type Expected<Model, Reply, Rejection> =
  | { readonly model: Model; readonly reply: Reply }
  | { readonly rejection: Rejection }

/** An oracle of any types. See {@link engineCheckers}. */
// biome-ignore lint/suspicious/noExplicitAny: oracles of all types side by side; each is only used with its own actor's values
export type AnyOracle = Oracle<any, any, any, any>

/** When a frame was stored whose states a sentence is about. See {@link plan}. */
export interface SentenceContext {
  /** The engine's time of the frame, milliseconds since the Unix epoch: `now` of the decisions that it holds. */
  readonly now: number
  /** The organization whose states are shown; "" for all. */
  readonly organization: string
}

/** When and of which actor a state was stored. See {@link plan}. */
export interface StateContext extends SentenceContext {
  readonly key: string
}

/** Statements about every state of an actor; a false one is a finding. See {@link plan}. */
export type Invariants<State> = Readonly<Record<string, (state: State, context: StateContext) => boolean>>

/**
 * A statement about time: once a stored state of an actor fits `from`, a stored state of it must fit `until` within
 * some milliseconds (docs/simulation.md, "What must happen in time"). See {@link plan}.
 */
export interface Eventually<State> {
  /** Milliseconds. The engine's own latency is not judged: 5 seconds and a twentieth of this come on top. */
  readonly within: number
  readonly from: (state: State, context: StateContext) => boolean
  readonly until: (state: State, context: UntilContext<State>) => boolean
}

/** When and of which actor a state was stored, and the state that is waited for. See {@link plan}. */
export interface UntilContext<State> extends StateContext {
  /** The state that `from` has fit; the state itself where none is waited for. */
  readonly begun: State
}

/** A statement about several actors together: those of one organization, or all. See {@link States}. */
export type Sentences = Readonly<Record<string, (states: States, context: SentenceContext) => boolean>>

/** Statements that hold after every stored frame, of each organization and of all together. */
export interface Together {
  readonly each: Sentences
  readonly all: Sentences
}

/** Times that matter for commands; see `Meet` of `Scenario.ts`. See {@link engineCheckers}. */
export interface Meetings {
  /** Milliseconds after a time in an actor's state. */
  readonly after: ReadonlyArray<number>
  /** Whether some scenarios send an actor thousands of commands, so that a state without a bound meets the engine's. */
  readonly floods: boolean
}

/** The moment in which a command is sent. See {@link plan}. */
export interface CommandMoment<State> {
  /** The time of the newest process, milliseconds since the Unix epoch. The decision comes at or after it. */
  readonly now: number
  /** The stored state of the actor. Must not be changed. */
  readonly state: State
  readonly key: string
  readonly organization: string
}

/** Commands of an actor and how often they are drawn. See {@link workloadOf}. */
export interface CommandSource {
  readonly actor: AnyActor
  readonly weight: number
  readonly arbitrary: Arbitrary.Arbitrary<unknown>
  /** Draws the commands at the moment in which they are sent, in place of `arbitrary`. */
  readonly drawAt?: (moment: CommandMoment<never>) => Arbitrary.Arbitrary<unknown>
  /** Completes a drawn command. `number` differs for each command of a scenario and can serve as an idempotency key. */
  readonly finish?: (command: unknown, number: number) => unknown
  /** The keys it goes to, instead of the workload's. */
  readonly keys?: ReadonlyArray<string>
  /** The key that the command of this number goes to, instead of a drawn one. */
  readonly keyOf?: (number: number) => string
  /** Whether the command claims that its actor is fresh; the claim may be wrong. */
  readonly isFresh?: boolean
}

/**
 * A reactor whose tables are in memory, with the way to clear and to read them. See {@link plan}.
 */
export interface Projection {
  /** Changes its tables by `Reactor.onCommit`, as statements of a database would be part of its transaction. */
  readonly reactor: Reactor<never>
  /** Empties its tables. Called before each scenario, and where an operator builds the reactor anew. */
  readonly clear: () => void
  /** The content of its tables, compared deeply. */
  readonly read: () => unknown
  /** The content that they must have, by all records that the reactor wants, in the order of each log. */
  readonly expected?: (records: ReadonlyArray<LogRecord>) => unknown
}

/** A worker, and the answers of the service that it calls. See {@link plan}. */
export interface SimulatedWorker {
  /** Made by `Worker.make`. Its `run` and `isFinal` are not called. */
  readonly worker: Worker<unknown>
  /**
   * The service's answer to the first call under a key; later ones get the same. An instance of `Worker.GiveUp` says
   * no. `job` is as its schema writes it. Pure; default: nothing.
   */
  readonly outside?: (job: unknown, attempt: WorkerAttempt) => unknown
  /** The idempotency key that `run` hands to the service. Pure; default: the attempt's `key`. */
  readonly keyOf?: (job: unknown, attempt: WorkerAttempt) => string
}

/** A message that comes into a stream. See {@link plan}. */
export interface DrawnMessage {
  readonly subject: string
  /** A text is the data as it is, anything else in JSON. */
  readonly data: unknown
}

/** A signal that comes. See {@link plan}. */
export interface DrawnSignal {
  readonly kind: string
  /** A text is the data as it is, anything else in JSON. */
  readonly data: unknown
}

/** The content of a simulation: actors, commands, and the promises to check. See {@link workloadOf}. */
export interface Workload {
  readonly name: string
  readonly actors: ReadonlyArray<AnyActor>
  readonly lanes: ReadonlyArray<AnyLane>
  readonly signals: SignalRules
  /** Draws signals; by default of the first kind, with an amount. */
  readonly signalDraw?: Arbitrary.Arbitrary<DrawnSignal>
  /** The program's streams by their names, with their subjects; default: none. */
  readonly streams?: Readonly<Record<string, ReadonlyArray<string>>>
  readonly ingests?: ReadonlyArray<Ingest>
  /** Draws the messages that come into the streams; default: none comes. */
  readonly messages?: Arbitrary.Arbitrary<DrawnMessage>
  /** Reactors made by `Publish.jetStream`. */
  readonly publishers?: ReadonlyArray<Reactor<ProgramStreams>>
  readonly projections?: ReadonlyArray<Projection>
  readonly workers?: ReadonlyArray<SimulatedWorker>
  readonly organizations: ReadonlyArray<string>
  readonly keys: ReadonlyArray<string>
  readonly commands: ReadonlyArray<CommandSource>
  /** Commands that are asked under idempotency keys of the engine; default: none. */
  readonly onceCommands?: ReadonlyArray<CommandSource>
  /** The minimum capacity of a deployment, for its largest command. */
  readonly least?: { readonly maximumActors: number; readonly logBytes: number }
  /** Actors that are followed and listed; default: none. */
  readonly follows?: ReadonlyArray<AnyActor>
  /** Stretches of time to leap over, milliseconds, for rules of hours and days; default: none. */
  readonly leaps?: ReadonlyArray<number>
  /** Makes scenarios for unknown rules: commands at times that matter, and very many of them; default: none. */
  readonly meetings?: Meetings
  /** Whether earlier commands are never asked again on purpose, because each creates something new. */
  readonly isWithoutRepeats?: boolean
  /**
   * Whether a command may be repeated when its outcome is not known: its rule recognizes repeats by a key in the
   * command.
   */
  readonly isRepeatable: boolean
  /** By kind. */
  readonly oracles: Readonly<Record<string, AnyOracle>>
  readonly invariants: Readonly<Record<string, Invariants<never>>>
  /** By kind and sentence; default: none. */
  readonly eventually?: Readonly<Record<string, Readonly<Record<string, Eventually<never>>>>>
  readonly checkers: ReadonlyArray<Checker>
  /** Facts that an older program has left in the log: `kind`, its version then, and the fact's JSON. */
  readonly oldFacts?: (index: number) => {
    readonly organization: string
    readonly kind: string
    readonly key: string
    readonly version: number
    readonly fact: unknown
  }
  /** Whether no reactor can ever process this record. */
  readonly isIndigestible?: (fact: unknown) => boolean
}
