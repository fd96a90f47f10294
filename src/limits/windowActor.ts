/**
 * Runs a window as an actor of the engine, so that its count survives the process: an accepted request is a fact. The
 * cap comes with each request, because it may change each time. Needs `Engine`, made with the actor.
 */
import { hash } from "node:crypto"
import { Effect, Schema } from "effect"
import { Numbers } from "../common/numbers.ts"
import * as Actor from "../engine/Actor.ts"
import { isSubjectToken, maximumNameLength } from "../engine/address.ts"
import { Engine } from "../engine/EngineService.ts"
import { attempt } from "./attempt.ts"
import { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import { type KeyedLayers, keyedLayers } from "./keyedLayers.ts"
import { type KeyedWindow, type KeyedWindowOptions, makeKeyedWindow, takenOf, type WindowRule } from "./keyedWindow.ts"
import type { WindowDecision } from "./windowDecision.ts"

/** How a window on the engine spreads its keys. See {@link RollingWindow}. */
export interface WindowEngineOptions {
  /**
   * The organization that a key belongs to: its partition, and its share of it. By default each key is one of its own,
   * so that keys spread over all partitions.
   */
  readonly organization?: ((key: string) => string) | undefined
}

/** The organization of a key that forms its own: the key, or a hash if it cannot be part of a subject. */
export const ownOrganization = (key: string): string =>
  isSubjectToken(key) ? key : `_${hash("sha256", key, "base64url").slice(0, 22)}`

/** @throws InvalidArgument unless the key can be that of an actor. */
export const assertKey = (key: string): void => {
  if (key.length === 0 || key.length > maximumNameLength || !key.isWellFormed() || key.includes("\0")) {
    throw new InvalidArgument({
      argument: "key",
      message: `key must have 1 to ${maximumNameLength} characters, got ${key.length}`
    })
  }
}

type Command<Request> = { readonly _tag: "Take" | "Peek"; readonly request: Request }
interface Counted<Request> {
  readonly at: number
  readonly request: Request
}

export type WindowActor<State, Request, Decision> = Actor.Actor<
  Command<Request>,
  Counted<Request>,
  State,
  Decision,
  never
>

export interface WindowSchemas<State, Request, Decision> {
  /** Stored in the log: never rename it. */
  readonly kind: string
  readonly state: Actor.JsonCodec<State>
  readonly request: Actor.JsonCodec<Request>
  readonly decision: Actor.JsonCodec<Decision>
}

/** A window: its rule, and the actor that follows it. */
export interface Window<State, Request, Decision> {
  readonly rule: WindowRule<State, Request, Decision>
  readonly actor: WindowActor<State, Request, Decision>
}

const windowActor = <State, Request, Decision extends WindowDecision>(
  rule: WindowRule<State, Request, Decision>,
  { decision, kind, request, state }: WindowSchemas<State, Request, Decision>
): WindowActor<State, Request, Decision> =>
  Actor.make<Command<Request>, Counted<Request>, State, Decision, never>({
    kind,
    command: Schema.Struct({ _tag: Schema.Literals(["Take", "Peek"]), request }) as Actor.JsonCodec<Command<Request>>,
    fact: Schema.Struct({ at: Schema.Finite, request }) as Actor.JsonCodec<Counted<Request>>,
    state,
    reply: decision,
    initial: () => rule.initial,
    evolve: (before, fact) => rule.record(before, fact.request, fact.at),
    decide: (before, { _tag, request }, { now }) => {
      const would = rule.peek(before, request, now)
      if (_tag === "Peek" || !would.allowed) return Actor.decided({ reply: would })
      const reply = takenOf(rule, would, request, () => rule.record(before, request, now))
      return Actor.decided({ facts: [{ at: now, request }], reply })
    }
  })

export const makeWindow = <State, Request, Decision extends WindowDecision>(
  rule: WindowRule<State, Request, Decision>,
  schemas: WindowSchemas<State, Request, Decision>
): Window<State, Request, Decision> => ({ rule, actor: windowActor(rule, schemas) })

/**
 * The interface of `makeKeyedWindow` over an engine, for requests that `requestOf` completes with the cap of their
 * key.
 */
const makeEngineWindow = <State, Asked, Request, Decision extends WindowDecision>(
  actor: WindowActor<State, Request, Decision>,
  requestOf: (key: string, asked: Asked) => Request,
  { organization = ownOrganization }: WindowEngineOptions
): Effect.Effect<KeyedWindow<Asked, Decision>, never, Engine> =>
  Effect.map(Engine, (engine) => {
    const ask = (_tag: "Take" | "Peek") => (key: string, asked: Asked) =>
      Effect.flatMap(
        attempt(() => {
          assertKey(key)
          const command: Command<Request> = { _tag, request: requestOf(key, asked) }
          // A bad argument fails as one, and not as a failed rule: the rule throws it whatever the state is.
          actor.options.decide(actor.options.initial(key), command, { now: 0 } as Actor.DecideContext)
          return { target: { organization: organization(key), key }, command }
        }),
        ({ command, target }) =>
          Effect.mapError(
            engine.ask(actor, target, command),
            (error) => new LimiterUnreachable({ message: error.message })
          )
      )
    return { take: ask("Take"), peek: ask("Peek") }
  })

/**
 * The layers of a window's service.
 * @param capOf checks the options, and returns the function that completes a request with the cap of its key
 */
export const windowLayers = <State, Asked, Request, Decision extends WindowDecision, Options extends object>(
  { actor, rule }: Window<State, Request, Decision>,
  capOf: (options: Options) => (key: string, asked: Asked) => Request
): KeyedLayers<
  KeyedWindow<Asked, Decision>,
  Options & KeyedWindowOptions,
  Options & WindowEngineOptions,
  InvalidArgument
> =>
  keyedLayers(
    (options) => makeKeyedWindow(options, rule, capOf(options)),
    (options) =>
      Effect.flatMap(
        attempt(() => capOf(options)),
        (requestOf) => makeEngineWindow(actor, requestOf, options)
      )
  )

const outcomes = ["allowed", "limited", "cost_above_limit", "full"] as const

/** The fields of a window's answer. A limit may be infinite if a caller's function says so. */
export const decisionFields = {
  allowed: Schema.Boolean,
  outcome: Schema.Literals(outcomes),
  cost: Schema.Number,
  limit: Schema.Union([Schema.Number, Schema.Literal("unlimited")]),
  used: Schema.Number,
  resetsAt: Schema.Number,
  retryAfterSeconds: Schema.Number
}

const entries = { startMillis: Schema.Finite, entries: Numbers }
export const RollingStateSchema = Schema.Struct({
  ...entries,
  /** Not in states of older versions. */
  recent: Schema.optionalKey(Schema.Struct(entries))
})
export const MonthlyStateSchema = Schema.Struct({ endMillis: Schema.Finite, used: Schema.Finite })
export const FixedStateSchema = Schema.Struct({ endMillis: Schema.Finite, used: Schema.Finite })
export const BucketStateSchema = Schema.Struct({ atMillis: Schema.Finite, missing: Schema.Finite })
export const DistinctStateSchema = Schema.Struct({
  startMillis: Schema.Finite,
  values: Schema.Array(Schema.String),
  deltas: Numbers
})
