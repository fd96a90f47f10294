/**
 * Specifies a rule without any engine: `given(actor, facts).when(command).then(…)` (Emmett's form). The rule's own
 * `evolve` makes the state, `decide` answers, and facts, states and replies go through their schemas as they would
 * through the log. Needs no service.
 */
import { isDeepStrictEqual } from "node:util"
import { Data, Schema } from "effect"
import {
  type Actor,
  type ActorOfState,
  type AnyActor,
  type DecideContext,
  type Decision,
  type Message,
  decided as nothingDecided,
  WakeAgain
} from "../../engine/Actor.ts"
import { RuleWatch } from "./RuleWatch.ts"

/** A rule did not do what its specification says. See {@link given}. */
export class SpecificationFailed extends Data.TaggedError("SpecificationFailed")<{ readonly message: string }> {}

/** The time and the actors around a specification. See {@link given}. */
export interface SpecificationOptions {
  /** Milliseconds since the Unix epoch; default 2026-01-01. */
  readonly now?: number
  readonly organization?: string
  readonly key?: string
  /** The level of formats in force; default: every one. */
  readonly level?: number
  /** The other actors that the rule reads: their facts so far. */
  readonly others?: ReadonlyArray<{
    readonly actor: AnyActor
    readonly key?: string
    readonly facts: ReadonlyArray<unknown>
  }>
}

/**
 * The expected decision. Omitted parts are not compared, but without `rejection` the decision must be accepted. See
 * {@link given}.
 */
export interface ExpectedDecision<Fact, Reply, Rejection> {
  readonly facts?: ReadonlyArray<Fact>
  readonly reply?: Reply
  readonly rejection?: Rejection
  /** Facts for other actors, in order. */
  readonly others?: ReadonlyArray<{
    readonly kind: string
    readonly key: string
    readonly facts: ReadonlyArray<unknown>
  }>
  /** Types of public events, in order. */
  readonly events?: ReadonlyArray<string>
  /** Messages to other organizations, in order. */
  readonly messages?: ReadonlyArray<{
    readonly organization: string
    readonly kind: string
    readonly key: string
    readonly command: unknown
  }>
  /** The time that a wake names with `wakeAgain`; without it, it must not. */
  readonly wakeAgain?: number
}

/** The decision of a rule in a specification. See {@link given}. */
export interface Decided<Fact, State, Reply, Rejection> {
  /** For a wake that answers `wakeAgain`, a decision without facts. */
  readonly decision: Decision<Fact, Reply, Rejection>
  /** The time that a wake names with `wakeAgain`; undefined when it decides. */
  readonly wakeAgainAt: number | undefined
  /** The state after the decision's own facts. */
  readonly state: State
  /** Throws `SpecificationFailed` when the decision is another one. */
  readonly then: (expected: ExpectedDecision<Fact, Reply, Rejection> | ReadonlyArray<Fact>) => void
}

const defaultNow = 1_767_225_600_000

const contextOf = (self: AnyActor, options: SpecificationOptions): DecideContext => {
  const organization = options.organization ?? "org_1"
  return {
    now: options.now ?? defaultNow,
    self: { organization, kind: self.kind, key: options.key ?? "" },
    level: options.level ?? Number.POSITIVE_INFINITY,
    id: (index) => `00000000-0000-8000-8000-${index.toString(16).padStart(12, "0")}`,
    read: <State>(actor: ActorOfState<State>, key = "") => {
      const other = options.others?.find((known) => known.actor.kind === actor.kind && (known.key ?? "") === key)
      const known = other?.actor ?? (actor as AnyActor)
      return (other?.facts ?? []).reduce<unknown>(evolveOf(known), known.options.initial(key)) as State
    }
  }
}

/** Applies a fact like a replay: through the schema, and to a copy if the actor changes its state in place. */
const evolveOf =
  (actor: AnyActor) =>
  (state: unknown, fact: unknown): unknown => {
    const stored = JSON.parse(JSON.stringify(actor.encodeFact(fact))) as unknown
    const own = actor.options.copy === undefined ? state : actor.options.copy(state)
    return actor.options.evolve(own, actor.decodeFact(stored, actor.version))
  }

/** A message as its receiver gets it: through the schema of its commands. */
const received = ({ actor, command, key, organization }: Message) => ({
  organization,
  kind: actor.kind,
  key,
  command: actor.decodeCommand(JSON.parse(JSON.stringify(actor.encodeCommand(command)))) as unknown
})

const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

const expectEqual = (what: string, wanted: unknown, found: unknown): void => {
  if (isDeepStrictEqual(wanted, found)) return
  throw new SpecificationFailed({ message: `${what}: wanted ${show(wanted)}, found ${show(found)}` })
}

/**
 * Begins a specification: an actor that has had these facts.
 *
 * Throws what a schema refuses, and `SpecificationFailed` when a state does not fit its schema or the rule is not pure: when it changes what it was given,
 * reads the machine's clock or random numbers, or answers the same question in two ways.
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Actor } from "sluice"
 * import { given } from "sluice/simulation"
 *
 * const Counter = Actor.make({
 *   kind: "counter",
 *   command: Schema.Struct({ add: Schema.Int }),
 *   fact: Schema.Struct({ added: Schema.Int }),
 *   state: Schema.Int,
 *   initial: () => 0,
 *   evolve: (total, { added }) => total + added,
 *   decide: (total, { add }) =>
 *     add > 0 ? Actor.decided({ facts: [{ added: add }], reply: total + add }) : Actor.rejected("nothing to add")
 * })
 *
 * given(Counter, [{ added: 2 }])
 *   .when({ add: 3 })
 *   .then({ facts: [{ added: 3 }], reply: 5 })
 * given(Counter, []).when({ add: 0 }).then({ rejection: "nothing to add" })
 * console.log("as specified") // as specified
 * ```
 */
export const given = <Command, Fact, State, Reply, Rejection>(
  defined: Actor<Command, Fact, State, Reply, Rejection>,
  facts: ReadonlyArray<Fact> = [],
  options: SpecificationOptions = {}
) => {
  const watch = new RuleWatch()
  let impurity: string | undefined
  watch.begin((sentence, isImpure) => {
    if (isImpure) impurity ??= sentence
  })
  const actor = watch.of(defined) as typeof defined
  const checkPurity = () => {
    if (impurity !== undefined) throw new SpecificationFailed({ message: impurity })
  }
  /** The state as a checkpoint keeps it: the engine refuses one that its schema cannot write and read. */
  const stored = (state: unknown): State => {
    const problem = actor.stateProblem(state)
    if (problem !== undefined)
      throw new SpecificationFailed({
        message: `${actor.kind} has a state that its schema refuses, ${show(state)}: ${problem}`
      })
    return state as State
  }
  const initial = actor.options.initial(options.key ?? "")
  const state = stored(facts.reduce<unknown>(evolveOf(actor), initial))
  checkPurity()
  const decided = (decide: (context: DecideContext) => Decision<Fact, Reply, Rejection> | WakeAgain) => {
    const answer = decide(contextOf(actor, options))
    const wakeAgainAt = answer instanceof WakeAgain ? answer.time : undefined
    const decision = answer instanceof WakeAgain ? nothingDecided<Fact, Reply>({}) : answer
    const after = stored(decision.facts.reduce<unknown>(evolveOf(actor), state))
    checkPurity()
    const result: Decided<Fact, State, Reply, Rejection> = {
      decision,
      wakeAgainAt,
      state: after,
      // biome-ignore lint/suspicious/noThenProperty: the word of the specification; nobody awaits it
      then: (wanted) => {
        const expected: ExpectedDecision<Fact, Reply, Rejection> = Array.isArray(wanted)
          ? { facts: wanted as ReadonlyArray<Fact> }
          : (wanted as ExpectedDecision<Fact, Reply, Rejection>)
        expectEqual("wakeAgain", expected.wakeAgain, wakeAgainAt)
        if ("rejection" in expected) expectEqual("rejection", expected.rejection, decision.rejection)
        else if (!decision.accepted) {
          throw new SpecificationFailed({ message: `it was rejected with ${show(decision.rejection)}` })
        }
        if (expected.facts !== undefined) expectEqual("facts", expected.facts, decision.facts)
        if ("reply" in expected) expectEqual("reply", expected.reply, decision.reply)
        if (expected.others !== undefined) {
          const others = decision.others.map((other) => ({
            kind: other.actor.kind,
            key: other.key,
            facts: other.facts
          }))
          expectEqual("facts of others", expected.others, others)
        }
        if (expected.events !== undefined) {
          expectEqual(
            "events",
            expected.events,
            decision.events.map(({ type }) => type)
          )
        }
        if (expected.messages !== undefined) expectEqual("messages", expected.messages, decision.messages.map(received))
      }
    }
    return result
  }
  return {
    state,
    /** A command is asked. */
    when: (command: Command) => {
      const codec = Schema.toCodecJson(actor.options.command)
      const asked = Schema.decodeUnknownSync(codec)(Schema.encodeUnknownSync(codec)(command))
      return decided((context) => actor.options.decide(state, asked, context))
    },
    /** Wakes the actor. Throws `SpecificationFailed` when it does not want to be woken. */
    whenWoken: () => {
      const { wake, wakeAt } = actor.options
      const at = wakeAt?.(state)
      if (wake === undefined || at === undefined) {
        throw new SpecificationFailed({ message: `${actor.kind} does not want to be woken` })
      }
      return decided(
        (context) => wake(state, { ...context, now: options.now ?? at }) as Decision<Fact, Reply, Rejection> | WakeAgain
      )
    }
  }
}
