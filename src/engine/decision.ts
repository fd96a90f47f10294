/**
 * Defines a rule's input and output: the context of a decision, and decisions with their facts, events and messages
 * (docs/architecture.md, "The way of a command"). Pure; needs no service.
 */
import type { Actor, ActorOfState, AnyActor } from "./Actor.ts"
import type { ActorAddress } from "./address.ts"

/**
 * A public event as part of a decision (docs/platform.md, 5.1); its id and time come from the frame. See
 * {@link Actor.decided}.
 */
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

/** The knowledge of a rule besides its state and the command. See {@link Actor.make}. */
export interface DecideContext {
  /** Milliseconds since the Unix epoch; never goes back within a partition. */
  readonly now: number
  readonly self: ActorAddress
  /**
   * The level of formats in force (docs/cluster.md, "Two versions together"): rules must not yet make facts that came
   * with a higher level, because the partition's next process may not know them. Infinity if no older program runs. It
   * never falls.
   */
  readonly level: number
  /**
   * Derives a UUIDv8 from (partition, epoch, frame, command, index). Within one decision the same `index` (an integer
   * from 0 to 65,535) gives the same id; no other decision gets that id.
   */
  readonly id: (index: number) => string
  /** Reads the state of another actor of the organization. Throws unless the command `touches` that actor. */
  readonly read: <State>(actor: ActorOfState<State>, key?: string) => State
}

/**
 * Facts for another actor of the same organization, part of the same atomic decision. Made by `Actor.facts`. See
 * {@link Actor.decided}.
 */
export interface OtherFacts {
  readonly actor: AnyActor
  readonly key: string
  readonly facts: ReadonlyArray<unknown>
}

/**
 * A command for an actor of any organization, sent when the decision is stored (docs/outbox.md). Made by
 * `Actor.message`. See {@link Actor.message}.
 */
export interface Message {
  readonly actor: AnyActor
  readonly organization: string
  readonly key: string
  readonly command: unknown
}

/** A named actor of the same organization. Made by `Actor.at`. See {@link Actor.make}. */
export interface Touched {
  readonly actor: AnyActor
  readonly key: string
  /** Claims that the actor has had no fact yet (docs/architecture.md, rule 20). */
  readonly fresh?: boolean
}

/** The answer of `decide`. Made by `decided` and `rejected`. See {@link Actor.decided}. */
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
 * Accepts a command: `facts` are of this actor, `others` of further actors of the organization, `events` and `messages`
 * are sent; all of it is stored in one frame or not at all, and then `reply` is given. Without facts, events and
 * messages it is an answer from the state.
 *
 * @example
 * ```ts
 * import { Actor } from "sluice"
 *
 * const decision = Actor.decided({ facts: [{ added: 2 }], reply: "done" })
 * console.log(decision.accepted, decision.facts, decision.reply) // true [ { added: 2 } ] done
 * ```
 */
export const decided = <const Fact = never, Reply = void>(decision: {
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

/**
 * Rejects a command with the rule's own error. Nothing happens.
 *
 * @example
 * ```ts
 * import { Actor } from "sluice"
 *
 * const decision = Actor.rejected("it is sold out")
 * console.log(decision.accepted, decision.rejection) // false it is sold out
 * ```
 */
export const rejected = <Rejection>(rejection: Rejection): Decision<never, never, Rejection> =>
  new Decision<never, never, Rejection>(false, none, undefined, rejection, none, none, none)

/**
 * A command for an actor of any organization, as part of a decision (docs/outbox.md). Once the decision is stored, the
 * command takes effect exactly once there, and in order with all others between the two organizations. The receiver is
 * an actor of the same engine that has a state; its reply is dropped, and a rejection is final. A decision takes 1,024
 * of them, each of at most 64 KiB as JSON.
 *
 * @example
 * ```ts
 * import { Schema } from "effect"
 * import { Actor } from "sluice"
 *
 * const Mailbox = Actor.make({
 *   kind: "mailbox",
 *   command: Schema.Struct({ text: Schema.String }),
 *   fact: Schema.Struct({ text: Schema.String }),
 *   state: Schema.Int,
 *   initial: () => 0,
 *   evolve: (count) => count + 1,
 *   decide: (_, letter) => Actor.decided({ facts: [letter] })
 * })
 *
 * // part of another actor's decision
 * const decision = Actor.decided({ messages: [Actor.message(Mailbox, "bolt", "main", { text: "hello" })] })
 * console.log(decision.messages[0]?.organization) // bolt
 * ```
 */
export const message = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  organization: string,
  key: string,
  command: NoInfer<Command>
): Message => ({ actor, organization, key, command })

/** The answer of `wake` when there is nothing to do yet. Made by `wakeAgain`. See {@link Actor.wakeAgain}. */
export class WakeAgain {
  /** Milliseconds since the Unix epoch. */
  readonly time: number

  constructor(time: number) {
    this.time = time
  }
}

/**
 * Answers a wake for which there is nothing to do yet: the actor is woken again at `time`, which must come after `now`
 * and be whole. It costs no fact, and so no frame. Only memory knows that time, and a change of the state ends it: then
 * `wakeAt` counts again. So a wake may come again before `time`, with the state it had: after a restart the actor is
 * woken at its `wakeAt`, immediately if that has passed (docs/architecture.md, "Wakes").
 *
 * @example
 * ```ts
 * import { Actor } from "sluice"
 *
 * const hourMillis = 3_600_000
 * // a wake that has nothing to do before eight in the morning
 * const wake = (now: number) => {
 *   const eight = Math.floor(now / (24 * hourMillis)) * 24 * hourMillis + 8 * hourMillis
 *   return now < eight ? Actor.wakeAgain(eight) : Actor.decided({ facts: [{ sentAt: now }] })
 * }
 * console.log(wake(0)) // WakeAgain { time: 28800000 }
 * ```
 */
export const wakeAgain = (time: number): WakeAgain => new WakeAgain(time)
