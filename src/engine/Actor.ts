/**
 * Defines actors: pure rules with schemas around them (docs/architecture.md, "The way of a command"). No Effect, no
 * clock and no randomness inside, so that a program that embeds them and the simulator run the same rules as the
 * platform. Needs no service.
 */
import { Schema } from "effect"
import { commandCodec, formBefore, problemOf, upcast } from "./actorForms.ts"
import type { ActorAddress } from "./address.ts"
import type { DecideContext, Decision, OtherFacts, Touched, WakeAgain } from "./decision.ts"
import type { InternalTraits } from "./internalActor.ts"

export {
  type DecideContext,
  Decision,
  decided,
  type Message,
  message,
  type OtherFacts,
  type PublicEvent,
  rejected,
  type Touched,
  WakeAgain,
  wakeAgain
} from "./decision.ts"
export type { InternalTraits } from "./internalActor.ts"

/**
 * Turns the JSON of an old version into the JSON of the next one. The key is the version it starts from. See
 * {@link Actor.make}.
 */
export type Upcasts = Readonly<Record<number, (encoded: unknown) => unknown>>

/**
 * Writes facts and states so that older programs can read them (docs/cluster.md, "Two versions together"): in the form
 * of the version before, until the level of formats that came with the definition's version is in force. See
 * {@link Actor.make}.
 */
export interface Since {
  readonly level: number
  /**
   * Turn the JSON of this version into that of the version before. Rules must not yet make facts that the older form
   * cannot express (`DecideContext.level`): a decision fails when one of its facts differs after it is read back.
   */
  readonly fact: (encoded: unknown) => unknown
  readonly state: (encoded: unknown) => unknown
}

/** The form in which facts and states are written. See {@link Actor.make}. */
export interface WrittenForm<in Fact, in State> {
  readonly version: number
  readonly encodeFact: (fact: Fact) => unknown
  readonly encodeState: (state: State) => unknown
}

/** A schema whose values can be written as JSON and read back without services. See {@link Actor.make}. */
export type JsonCodec<A> = Schema.ConstraintCodec<A, unknown>

/**
 * An actor's definition: its name in the log, the schemas of the stored data, and its pure rules. See
 * {@link Actor.make}.
 */
export interface ActorOptions<Command, Fact, State, Reply, Rejection> {
  /** Unique in the engine, stored in the log: never rename it. */
  readonly kind: string
  /** Version of the fact and state schemas, from 1. Raise it with each change that needs an upcast. */
  readonly version?: number
  readonly command: JsonCodec<Command>
  readonly fact: JsonCodec<Fact>
  readonly state: JsonCodec<State>
  /** The schema of replies or rejections that may cross processes. */
  readonly reply?: JsonCodec<Reply>
  /** The schema of replies or rejections that may cross processes. */
  readonly rejection?: JsonCodec<Rejection>
  readonly initial: (key: string) => State
  /** Pure. Must not change `state`. */
  readonly decide: (state: State, command: Command, context: DecideContext) => Decision<NoInfer<Fact>, Reply, Rejection>
  /** Pure, except that with `copy` it may change and return the given `state`. Must not throw on any stored fact. */
  readonly evolve: (state: State, fact: Fact) => State
  /**
   * For states that are cheaper to change than to rebuild: makes a copy that `evolve` may change in place. The engine
   * copies an actor on its first write in a drain; parts that `evolve` only appends to or replaces may be shared.
   */
  readonly copy?: (state: State) => State
  /**
   * When the actor wants to be woken (milliseconds since the Unix epoch); undefined for never. The engine looks at it
   * after each change.
   */
  readonly wakeAt?: (state: State) => number | undefined
  /**
   * Decides when that time has come: facts that move `wakeAt`, or `wakeAgain` if there is nothing to do yet. When it
   * rejects, makes no facts or throws, the engine does not wake the actor again until its state changes. It may be
   * called again with the same state, and is paused for a second if that happens too often (docs/architecture.md,
   * "Wakes").
   */
  readonly wake?: (state: State, context: DecideContext) => Decision<NoInfer<Fact>, unknown, unknown> | WakeAgain
  /** Names the other actors that this command reads or gives facts to. */
  readonly touches?: (command: Command, self: ActorAddress) => ReadonlyArray<Touched>
  /** Names the other actors that waking reads or gives facts to. */
  readonly wakeTouches?: (state: State, self: ActorAddress) => ReadonlyArray<Touched>
  /**
   * When an unused actor leaves memory: after a while (`idleMillis`), the default, or as soon as a checkpoint has it,
   * for kinds that are rarely needed again.
   */
  readonly leavesMemory?: "when idle" | "after its checkpoint"
  /**
   * Whether the state equals `initial` in meaning: the actor's row leaves the checkpoints. It must have no `wakeAt`
   * then.
   */
  readonly isOver?: (state: State) => boolean
  readonly upcastFact?: Upcasts
  readonly upcastState?: Upcasts
  /** Can be omitted if no program of the version before runs beside this one. */
  readonly since?: Since
}

/** `wakeAt` and `wake` belong together: a definition has both or neither. See {@link Actor.make}. */
export type WakeOptions<Fact, State> =
  | Required<Pick<ActorOptions<never, Fact, State, never, never>, "wakeAt" | "wake">>
  | { readonly wakeAt?: never; readonly wake?: never; readonly wakeTouches?: never }

/**
 * The definition of an actor without a state: its decisions depend on the command and on the touched actors. See
 * {@link Actor.makeStateless}.
 */
export interface StatelessOptions<Command, Fact, Reply, Rejection>
  extends Pick<
    ActorOptions<Command, Fact, null, Reply, Rejection>,
    "kind" | "version" | "command" | "reply" | "rejection" | "touches" | "upcastFact"
  > {
  /** Data that its decisions put into the log for followers; an actor whose decisions carry only events needs none. */
  readonly fact?: JsonCodec<Fact>
  /** Pure. */
  readonly decide: (command: Command, context: DecideContext) => Decision<NoInfer<Fact>, Reply, Rejection>
}

/** An actor's definition. `at` and `facts` name one of its actors inside a decision. See {@link Actor.make}. */
export interface Actor<in out Command, in out Fact, in out State, out Reply, out Rejection>
  extends ActorOfState<State> {
  readonly _tag: "Actor"
  readonly kind: string
  readonly version: number
  /** Whether the engine keeps nothing for it: no state, no checkpoint row, no wake (docs/architecture.md, rule 21). */
  readonly isStateless: boolean
  readonly options: ActorOptions<Command, Fact, State, Reply, Rejection>
  /**
   * Names one of these actors. `fresh` claims that it has had no fact yet, so that it need not be loaded: use it for a
   * key that this command creates and that no other command has used (docs/architecture.md, rule 20).
   */
  readonly at: (key?: string, options?: { readonly fresh?: boolean }) => Touched
  readonly facts: (key: string, facts: ReadonlyArray<Fact>) => OtherFacts
  /** To and from the JSON forms. They throw on values that the schema refuses. */
  readonly encodeCommand: (command: Command) => unknown
  readonly decodeCommand: (encoded: unknown) => Command
  /** Says why a value is no command of this actor; undefined when it is one. */
  readonly commandProblem: (command: unknown) => string | undefined
  readonly encodeFact: (fact: Fact) => unknown
  readonly decodeFact: (encoded: unknown, version: number) => Fact
  readonly encodeState: (state: State) => unknown
  readonly decodeState: (encoded: unknown, version: number) => State
  /** The form in which facts and states are written while a level of formats is in force. */
  readonly written: (level: number) => WrittenForm<Fact, State>
  /** Says why a state cannot be written and read again; undefined when it can. */
  readonly stateProblem: (state: unknown) => string | undefined
  /** Set for the engine's own actors; undefined for a user's. */
  readonly internal?: InternalTraits
}

/** The part of an actor that `DecideContext.read` needs. See {@link Actor.make}. */
export interface ActorOfState<in out State> {
  readonly kind: string
  readonly "~State"?: (state: State) => State
}

/** An actor of any types. See {@link Actor.make}. */
// biome-ignore lint/suspicious/noExplicitAny: the engine holds actors of all types side by side; each is only used with values of its own
export type AnyActor = Actor<any, any, any, any, any>

/**
 * Defines an actor.
 *
 * Throws when the definition cannot work (no kind, a version below 1, `wakeAt` without `wake`).
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Actor } from "sluice"
 *
 * const Door = Actor.make({
 *   kind: "door",
 *   command: Schema.Literals(["open", "close"]),
 *   fact: Schema.Struct({ isOpen: Schema.Boolean }),
 *   state: Schema.Boolean,
 *   initial: () => false,
 *   evolve: (_, { isOpen }) => isOpen,
 *   decide: (isOpen, command) =>
 *     isOpen === (command === "open") ? Actor.rejected("it is already") : Actor.decided({ facts: [{ isOpen: !isOpen }] })
 * })
 * console.log(Door.options.evolve(false, { isOpen: true })) // true
 * ```
 */
export const make = <Command, Fact, State, Reply = void, Rejection = never>(
  options: ActorOptions<Command, Fact, State, Reply, Rejection> & WakeOptions<Fact, State>
): Actor<Command, Fact, State, Reply, Rejection> => {
  const version = options.version ?? 1
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(options.kind))
    throw new Error(`"${options.kind}" is not a kind: a letter, then letters, digits, - or _`)
  if (!Number.isInteger(version) || version < 1) throw new Error(`${options.kind}: version must be an integer from 1`)
  if ((options.wakeAt === undefined) !== (options.wake === undefined))
    throw new Error(`${options.kind}: wakeAt and wake belong together`)
  if (options.since !== undefined && version === 1)
    throw new Error(`${options.kind}: there is no version before 1 to write`)
  const factCodec = Schema.toCodecJson(options.fact)
  const stateCodec = Schema.toCodecJson(options.state)
  const decodeFact = Schema.decodeUnknownSync(factCodec)
  const decodeState = Schema.decodeUnknownSync(stateCodec)
  const encodeFact = Schema.encodeUnknownSync(factCodec)
  const encodeState = Schema.encodeUnknownSync(stateCodec)
  const upcastFact = upcast(options.kind, "fact", options.upcastFact, version)
  const upcastState = upcast(options.kind, "state", options.upcastState, version)
  const { since } = options
  const own: WrittenForm<Fact, State> = { version, encodeFact, encodeState }
  const before =
    since === undefined
      ? own
      : formBefore(options.kind, own, since, (encoded, of) => encodeFact(decodeFact(upcastFact(encoded, of))))
  const sinceLevel = since?.level ?? 0
  const self: Actor<Command, Fact, State, Reply, Rejection> = {
    _tag: "Actor",
    kind: options.kind,
    version,
    isStateless: false,
    options,
    at: (key = "", { fresh = false } = {}) => (fresh ? { actor: self, key, fresh } : { actor: self, key }),
    facts: (key, facts) => ({ actor: self, key, facts }),
    ...commandCodec(options.command),
    encodeFact,
    decodeFact: (encoded, of) => decodeFact(of === version ? encoded : upcastFact(encoded, of)),
    encodeState,
    written: (level) => (level < sinceLevel ? before : own),
    stateProblem: problemOf(options.state, encodeState),
    decodeState: (encoded, of) => decodeState(of === version ? encoded : upcastState(encoded, of))
  }
  return self
}

/**
 * Defines an actor without a state. It is never loaded and leaves nothing in memory or in a checkpoint. Its facts and
 * events are in the log like those of any other, and reach every follower (docs/architecture.md, rule 21). A state of
 * this kind that an earlier program stored is ignored and removed with the checkpoints.
 *
 * Throws when the definition cannot work (no kind, a version below 1).
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Actor } from "sluice"
 *
 * const LookUps = Actor.makeStateless({
 *   kind: "lookUps",
 *   command: Schema.Struct({ number: Schema.String }),
 *   decide: ({ number }) =>
 *     Actor.decided({ events: [{ type: "lookups.made", service: "lookups", livemode: true, data: { number } }] })
 * })
 * console.log(LookUps.isStateless) // true
 * ```
 */
export const makeStateless = <Command, Fact = null, Reply = void, Rejection = never>(
  options: StatelessOptions<Command, Fact, Reply, Rejection>
): Actor<Command, Fact, null, Reply, Rejection> => {
  const { decide, fact, ...rest } = options
  const actor = make<Command, Fact, null, Reply, Rejection>({
    ...rest,
    // Without a schema, `Fact` is null.
    fact: fact ?? (Schema.Null as unknown as JsonCodec<Fact>),
    state: Schema.Null,
    initial: () => null,
    evolve: () => null,
    decide: (_state, command, context) => decide(command, context)
  })
  return Object.assign(actor, { isStateless: true })
}
