/**
 * Definition of actors: pure rules with schemas around them (docs/architecture.md, "The way of a command"). No Effect,
 * no clock and no randomness inside, so that a program that embeds them and the simulator run what the platform runs.
 * Needs no service.
 */
import { Schema, SchemaAST } from "effect"
import type { ActorAddress } from "./address.ts"
import type { InternalTraits } from "./internalActor.ts"

/** A public event as part of a decision (docs/platform.md, 5.1); its id and time come from the frame. */
export interface PublicEvent {
  /** Dotted type, such as `telco.lookup.completed`. */
  readonly type: string
  /** Originating service, such as `telco`. */
  readonly service: string
  /** False when a test key caused the event. */
  readonly livemode: boolean
  /** The payload, any JSON value. */
  readonly data: unknown
}

/** What a rule may know besides its state and the command. */
export interface DecideContext {
  /** Milliseconds since the Unix epoch; never goes back within a partition. */
  readonly now: number
  readonly self: ActorAddress
  /**
   * Derives a UUIDv8 from (partition, epoch, frame, command, index). Within one decision the same `index` (an integer
   * from 0 to 65,535) gives the same id; no other decision gets that id.
   */
  readonly id: (index: number) => string
  /** Reads the state of another actor of the organization. Throws unless the command `touches` that actor. */
  readonly read: <State>(actor: ActorOfState<State>, key?: string) => State
}

/** Facts for another actor of the same organization, part of the same atomic decision. Made by `Actor.facts`. */
export interface OtherFacts {
  readonly actor: AnyActor
  readonly key: string
  readonly facts: ReadonlyArray<unknown>
}

/** A command for an actor of any organization, sent when the decision is stored (docs/outbox.md). Made by `Actor.message`. */
export interface Message {
  readonly actor: AnyActor
  readonly organization: string
  readonly key: string
  readonly command: unknown
}

/** A named actor of the same organization. Made by `Actor.at`. */
export interface Touched {
  readonly actor: AnyActor
  readonly key: string
  /** Claims that the actor has had no fact yet (docs/architecture.md, rule 20). */
  readonly fresh?: boolean
}

/** What `decide` answers. Made by `decided` and `rejected`. */
export class Decision<out Fact, out Reply, out Rejection> {
  readonly accepted: boolean
  readonly facts: ReadonlyArray<Fact>
  readonly reply: Reply | undefined
  readonly rejection: Rejection | undefined
  readonly others: ReadonlyArray<OtherFacts>
  readonly events: ReadonlyArray<PublicEvent>
  readonly messages: ReadonlyArray<Message>

  constructor(
    accepted: boolean,
    facts: ReadonlyArray<Fact>,
    reply: Reply | undefined,
    rejection: Rejection | undefined,
    others: ReadonlyArray<OtherFacts>,
    events: ReadonlyArray<PublicEvent>,
    messages: ReadonlyArray<Message>
  ) {
    this.accepted = accepted
    this.facts = facts
    this.reply = reply
    this.rejection = rejection
    this.others = others
    this.events = events
    this.messages = messages
  }
}

const none: ReadonlyArray<never> = []

/**
 * Accepts a command: `facts` happen to this actor, `others` to further actors of the organization, `events` and `messages` go out; all of it
 * is stored in one frame or not at all, and `reply` is given when it is. Without facts, events and messages it is an answer from the state.
 */
export const decided = <Fact = never, Reply = void>(decision: {
  readonly facts?: ReadonlyArray<Fact>
  readonly reply?: Reply
  readonly others?: ReadonlyArray<OtherFacts>
  readonly events?: ReadonlyArray<PublicEvent>
  readonly messages?: ReadonlyArray<Message>
}): Decision<Fact, Reply, never> =>
  new Decision<Fact, Reply, never>(
    true,
    decision.facts ?? none,
    decision.reply,
    undefined,
    decision.others ?? none,
    decision.events ?? none,
    decision.messages ?? none
  )

/** Rejects a command with the rule's own error. Nothing happens. */
export const rejected = <Rejection>(rejection: Rejection): Decision<never, never, Rejection> =>
  new Decision<never, never, Rejection>(false, none, undefined, rejection, none, none, none)

/**
 * A command for an actor of any organization, as part of a decision (docs/outbox.md). Once the decision is stored, the command takes effect exactly
 * once there, and in order with all others between the two organizations. The receiver is an actor of the same engine that has a state;
 * nobody waits for its reply, and a rejection is final. A decision takes 1,024 of them, each of at most 64 KiB as JSON.
 */
export const message = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  organization: string,
  key: string,
  command: NoInfer<Command>
): Message => ({ actor, organization, key, command })

/** What `wake` answers when there is nothing to do yet. Made by `wakeAgain`. */
export class WakeAgain {
  /** Milliseconds since the Unix epoch. */
  readonly time: number

  constructor(time: number) {
    this.time = time
  }
}

/**
 * Answers a wake for which there is nothing to do yet: the actor is woken again at `time`, which must come after `now` and be whole. It costs
 * no fact, and so no frame. Only memory knows that time, and a change of the state ends it: then `wakeAt` counts again. So a wake may come
 * again before `time`, with the state it had: after a restart the actor is woken at its `wakeAt`, at once where that has passed
 * (docs/architecture.md, "Wakes").
 */
export const wakeAgain = (time: number): WakeAgain => new WakeAgain(time)

/** Turns the JSON of an old version into the JSON of the next one. The key is the version it starts from. */
export type Upcasts = Readonly<Record<number, (encoded: unknown) => unknown>>

/** A schema whose values can be written as JSON and read back without services. */
export type JsonCodec<A> = Schema.ConstraintCodec<A, unknown>

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
  readonly decide: (state: State, command: Command, context: DecideContext) => Decision<Fact, Reply, Rejection>
  /** Pure, except that with `copy` it may change and return the `state` that it was given. Must not throw on any stored fact. */
  readonly evolve: (state: State, fact: Fact) => State
  /**
   * For states that are cheaper to change than to rebuild: makes a copy that `evolve` may change in place. The engine copies an
   * actor on its first write in a drain; parts that `evolve` only appends to or replaces may be shared.
   */
  readonly copy?: (state: State) => State
  /**
   * When the actor wants to be woken (milliseconds since the Unix epoch); undefined for never. The engine looks at it
   * after each change.
   */
  readonly wakeAt?: (state: State) => number | undefined
  /**
   * What happens when that time has come: facts that move `wakeAt`, or `wakeAgain` where there is nothing to do yet. When it rejects, makes
   * no facts or throws, the engine does not wake the actor again until its state changes. It may be called again with the same state, and is
   * held up for a second where that happens too often (docs/architecture.md, "Wakes").
   */
  readonly wake?: (state: State, context: DecideContext) => Decision<Fact, unknown, unknown> | WakeAgain
  /** The other actors that deciding this command reads or gives facts to. */
  readonly touches?: (command: Command, self: ActorAddress) => ReadonlyArray<Touched>
  /** The other actors that waking reads or gives facts to. */
  readonly wakeTouches?: (state: State, self: ActorAddress) => ReadonlyArray<Touched>
  /**
   * When an actor that is not used leaves memory: after a while (`idleMillis`), which is the default, or as soon as a checkpoint has it, for
   * kinds that are rarely needed again.
   */
  readonly leavesMemory?: "when idle" | "after its checkpoint"
  /** Whether the state says no more than `initial` does: the actor's row leaves the checkpoints. It must have no `wakeAt` then. */
  readonly isOver?: (state: State) => boolean
  readonly upcastFact?: Upcasts
  readonly upcastState?: Upcasts
}

/** `wakeAt` and `wake` belong together: a definition has both or neither. */
export type WakeOptions<Fact, State> =
  | Required<Pick<ActorOptions<never, Fact, State, never, never>, "wakeAt" | "wake">>
  | { readonly wakeAt?: never; readonly wake?: never; readonly wakeTouches?: never }

/** The definition of an actor without a state: what it decides rests on the command and on the actors that it touches. */
export interface StatelessOptions<Command, Fact, Reply, Rejection>
  extends Pick<
    ActorOptions<Command, Fact, null, Reply, Rejection>,
    "kind" | "version" | "command" | "reply" | "rejection" | "touches" | "upcastFact"
  > {
  /** What its decisions put into the log for followers; an actor whose decisions carry only events needs none. */
  readonly fact?: JsonCodec<Fact>
  /** Pure. */
  readonly decide: (command: Command, context: DecideContext) => Decision<NoInfer<Fact>, Reply, Rejection>
}

/** An actor's definition. `at`, `facts` name one of its actors inside a decision. */
export interface Actor<in out Command, in out Fact, in out State, out Reply, out Rejection>
  extends ActorOfState<State> {
  readonly _tag: "Actor"
  readonly kind: string
  readonly version: number
  /** Whether the engine keeps nothing of it: no state, no checkpoint row, no wake (docs/architecture.md, rule 21). */
  readonly isStateless: boolean
  readonly options: ActorOptions<Command, Fact, State, Reply, Rejection>
  /**
   * Names one of these actors. `fresh` claims that it has had no fact yet, so that it need not be loaded: for a key that this command
   * brings into being, and that no other command has used (docs/architecture.md, rule 20).
   */
  readonly at: (key?: string, options?: { readonly fresh?: boolean }) => Touched
  readonly facts: (key: string, facts: ReadonlyArray<Fact>) => OtherFacts
  /** To and from the JSON forms. They throw on what the schema refuses. */
  readonly encodeCommand: (command: Command) => unknown
  readonly decodeCommand: (encoded: unknown) => Command
  readonly encodeFact: (fact: Fact) => unknown
  readonly decodeFact: (encoded: unknown, version: number) => Fact
  readonly encodeState: (state: State) => unknown
  readonly decodeState: (encoded: unknown, version: number) => State
  /** Why a state cannot be written and read again; undefined when it can. */
  readonly stateProblem: (state: unknown) => string | undefined
  /** Set for the engine's own actors; undefined for a user's. */
  readonly internal?: InternalTraits
}

/** What `DecideContext.read` needs to know of an actor. */
export interface ActorOfState<in out State> {
  readonly kind: string
  readonly "~State"?: (state: State) => State
}

// biome-ignore lint/suspicious/noExplicitAny: the engine holds actors of all types side by side; each is only used with values of its own
export type AnyActor = Actor<any, any, any, any, any>

const upcast = (kind: string, what: string, upcasts: Upcasts | undefined, current: number) => {
  return (encoded: unknown, version: number): unknown => {
    let value = encoded
    for (let from = version; from < current; from++) {
      const step = upcasts?.[from]
      if (step === undefined) throw new Error(`${kind} has no upcast of its ${what} from version ${from}`)
      value = step(value)
    }
    if (version > current) {
      throw new Error(`the ${what} of ${kind} is of version ${version}, this program knows ${current}`)
    }
    return value
  }
}

/** Whether a schema's values are (nearly) their own JSON form. Checking such a value is enough to know that it can be written. */
const isPlain = (ast: SchemaAST.AST): boolean => {
  if (ast.encoding !== undefined) return false
  if (SchemaAST.isObjects(ast))
    return (
      ast.propertySignatures.every(({ type }) => isPlain(type)) &&
      ast.indexSignatures.every(({ parameter, type }) => isPlain(parameter) && isPlain(type))
    )
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].every(isPlain)
  if (SchemaAST.isUnion(ast)) return ast.types.every(isPlain)
  return (
    SchemaAST.isString(ast) ||
    SchemaAST.isNumber(ast) ||
    SchemaAST.isBoolean(ast) ||
    SchemaAST.isNull(ast) ||
    SchemaAST.isLiteral(ast)
  )
}

/** Why a value of a schema cannot be written; undefined when it can. Checking a plain value is ten times cheaper than encoding it. */
const problemOf = <A>(schema: JsonCodec<A>, encode: (value: A) => unknown) => {
  const isIt = isPlain(schema.ast) ? Schema.is(schema) : undefined
  return (value: unknown): string | undefined => {
    if (isIt?.(value) === true) return undefined
    try {
      encode(value as A)
      return undefined
    } catch (cause) {
      return (cause instanceof Error ? cause.message : String(cause)).slice(0, 300)
    }
  }
}

/** The codec of commands, made when it is first needed: most actors are never sent any. */
const commandCodec = <Command>(schema: JsonCodec<Command>) => {
  let encode: ((command: Command) => unknown) | undefined
  let decode: ((encoded: unknown) => Command) | undefined
  return {
    encodeCommand: (command: Command): unknown => {
      encode ??= Schema.encodeUnknownSync(Schema.toCodecJson(schema))
      return encode(command)
    },
    decodeCommand: (encoded: unknown): Command => {
      decode ??= Schema.decodeUnknownSync(Schema.toCodecJson(schema))
      return decode(encoded)
    }
  }
}

/**
 * Defines an actor.
 *
 * Throws when the definition cannot work (no kind, a version below 1, `wakeAt` without `wake`).
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
  const factCodec = Schema.toCodecJson(options.fact)
  const stateCodec = Schema.toCodecJson(options.state)
  const decodeFact = Schema.decodeUnknownSync(factCodec)
  const decodeState = Schema.decodeUnknownSync(stateCodec)
  const encodeState = Schema.encodeUnknownSync(stateCodec)
  const upcastFact = upcast(options.kind, "fact", options.upcastFact, version)
  const upcastState = upcast(options.kind, "state", options.upcastState, version)
  const self: Actor<Command, Fact, State, Reply, Rejection> = {
    _tag: "Actor",
    kind: options.kind,
    version,
    isStateless: false,
    options,
    at: (key = "", { fresh = false } = {}) => (fresh ? { actor: self, key, fresh } : { actor: self, key }),
    facts: (key, facts) => ({ actor: self, key, facts }),
    ...commandCodec(options.command),
    encodeFact: Schema.encodeUnknownSync(factCodec),
    decodeFact: (encoded, of) => decodeFact(of === version ? encoded : upcastFact(encoded, of)),
    encodeState,
    stateProblem: problemOf(options.state, encodeState),
    decodeState: (encoded, of) => decodeState(of === version ? encoded : upcastState(encoded, of))
  }
  return self
}

/**
 * Defines an actor without a state. It is never loaded and leaves nothing in memory or in a checkpoint. Its facts and events are in the log
 * like those of any other, and reach every follower (docs/architecture.md, rule 21). What an earlier program stored of a state of this kind
 * is ignored, and goes with the checkpoints.
 *
 * Throws when the definition cannot work (no kind, a version below 1).
 */
export const makeStateless = <Command, Fact = null, Reply = void, Rejection = never>(
  options: StatelessOptions<Command, Fact, Reply, Rejection>
): Actor<Command, Fact, null, Reply, Rejection> => {
  const { decide, fact, ...rest } = options
  const actor = make<Command, Fact, null, Reply, Rejection>({
    ...rest,
    // Where no schema is given, `Fact` is null.
    fact: fact ?? (Schema.Null as unknown as JsonCodec<Fact>),
    state: Schema.Null,
    initial: () => null,
    evolve: () => null,
    decide: (_state, command, context) => decide(command, context)
  })
  return Object.assign(actor, { isStateless: true })
}
