/**
 * Decides over several limits together (docs/limits.md, "All of these limits or none"): each is asked by its own rule,
 * and all are counted or none. Pure: the states come by a function, so that the same rule decides in memory and on an
 * engine.
 */
import { Schema } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import { maximumNameLength } from "../engine/address.ts"
import type { BucketCap, BucketDecision } from "./bucketRules.ts"
import type { DistinctDecision } from "./distinctRules.ts"
import { InvalidArgument } from "./errors.ts"
import { takenOf, type WindowRule } from "./keyedWindow.ts"
import type { Limit, LimitOutcome } from "./rules.ts"
import { distinctWindow, fixedWindow, monthlyQuota, rollingWindow, tokenBucket } from "./windowActors.ts"
import type { RollingCap, WindowDecision } from "./windowDecision.ts"

/** Most limits of one decision. See {@link AllOrNone}. */
export const maximumLimitsOfOne = 32

/** The key that a limit counts for, and the units of a request. See {@link AllOrNone}. */
export interface AskOptions {
  /** The counted caller within the organization; default: the organization as a whole. */
  readonly key?: string | undefined
  /** The cost of the request, an integer of at least 1. Default 1. */
  readonly cost?: number | undefined
}

/** Asks a fixed window, as `RateLimiter` has them. See {@link AllOrNone}. */
export interface FixedAsk extends AskOptions {
  readonly kind: "fixed"
  readonly limit: Limit
  /** Length of the window, whole seconds up to a day, aligned to UTC. */
  readonly windowMillis: number
}

/** Asks a rolling window, as `RollingWindow` has them. See {@link AllOrNone}. */
export interface RollingAsk extends AskOptions, RollingCap {
  readonly kind: "rolling"
}

/** Asks a monthly quota, as `MonthlyQuota` has them. See {@link AllOrNone}. */
export interface MonthlyAsk extends AskOptions {
  readonly kind: "monthly"
  readonly limit: Limit
}

/** Asks a token bucket, as `TokenBucket` has them. See {@link AllOrNone}. */
export interface BucketAsk extends AskOptions, BucketCap {
  readonly kind: "bucket"
}

/** Asks a window of different values, as `DistinctWindow` has them. See {@link AllOrNone}. */
export interface DistinctAsk extends RollingCap, Pick<AskOptions, "key"> {
  readonly kind: "distinct"
  readonly values: ReadonlyArray<string>
}

/** One of the limits of a request, with its cap as it is now. See {@link AllOrNone}. */
export type LimitAsk = FixedAsk | RollingAsk | MonthlyAsk | BucketAsk | DistinctAsk

/** The answer of a limit of some kind. See {@link AllOrNone}. */
export type AskDecision<Ask extends LimitAsk> = Ask extends DistinctAsk
  ? DistinctDecision
  : Ask extends BucketAsk
    ? BucketDecision
    : WindowDecision

const shared = { name: Schema.String, key: Schema.String }
const cost = Schema.Number
const AnyLimit = Schema.Union([Schema.Number, Schema.Literal("unlimited")])
const window = { windowMillis: Schema.Number, limit: Schema.Number }

/** An ask with its name and its defaults, as it goes to the actor. */
export const NamedAsk = Schema.Union([
  Schema.Struct({
    ...shared,
    kind: Schema.Literal("fixed"),
    limit: AnyLimit,
    windowMillis: Schema.Number,
    cost
  }),
  Schema.Struct({ ...shared, kind: Schema.Literal("rolling"), ...window, cost }),
  Schema.Struct({ ...shared, kind: Schema.Literal("monthly"), limit: AnyLimit, cost }),
  Schema.Struct({
    ...shared,
    kind: Schema.Literal("bucket"),
    burst: Schema.Number,
    tokens: Schema.Number,
    everyMillis: Schema.Number,
    cost
  }),
  Schema.Struct({ ...shared, kind: Schema.Literal("distinct"), ...window, values: Schema.Array(Schema.String) })
])
export type NamedAsk = typeof NamedAsk.Type

/** A limit as its own rule and its own actor know it. */
export interface NamedLimit {
  readonly name: string
  /** The key of its actor. */
  readonly key: string
  readonly actor: AnyActor
  // biome-ignore lint/suspicious/noExplicitAny: limits of all kinds side by side; each rule only gets its own states and requests
  readonly rule: WindowRule<any, any, any>
  readonly request: unknown
}

const windows = {
  fixed: fixedWindow,
  rolling: rollingWindow,
  monthly: monthlyQuota,
  bucket: tokenBucket,
  distinct: distinctWindow
}

/** The actors of all kinds of limits. */
export const limitActors: ReadonlyArray<AnyActor> = Object.values(windows).map(({ actor }) => actor)

/** The key of a limit's actor: no name has a slash, so that no two pairs have the same one. */
const actorKey = (name: string, key: string): string => (key === "" ? name : `${name}/${key}`)

export const namedLimit = ({ key, kind, name, ...request }: NamedAsk): NamedLimit => {
  const { actor, rule } = windows[kind]
  return { name, key: actorKey(name, key), actor, rule, request }
}

const assertNamed = (name: string, key: string): void => {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new InvalidArgument({
      argument: "asks",
      message: `the name of a limit must be a letter, then up to 63 letters, digits, - or _, got ${name.slice(0, 80)}`
    })
  }
  const longest = maximumNameLength - name.length - 1
  if (key.length > longest || !key.isWellFormed() || key.includes("\0")) {
    throw new InvalidArgument({
      argument: "key",
      message: `the key of ${name} must have at most ${longest} characters, got ${key.length}`
    })
  }
}

/** @throws InvalidArgument for asks that no state would let pass. */
export const namedAsks = (asks: Readonly<Record<string, LimitAsk>>): ReadonlyArray<NamedAsk> => {
  const names = Object.keys(asks)
  if (names.length === 0 || names.length > maximumLimitsOfOne) {
    throw new InvalidArgument({
      argument: "asks",
      message: `a request must ask 1 to ${maximumLimitsOfOne} limits, got ${names.length}`
    })
  }
  return names.map((name) => {
    const ask = asks[name] as LimitAsk
    if (!Object.hasOwn(windows, ask.kind)) {
      throw new InvalidArgument({ argument: "asks", message: `${name} is of no kind of limit: ${ask.kind}` })
    }
    const key = ask.key ?? ""
    assertNamed(name, key)
    const named = { ...ask, ...(ask.kind === "distinct" ? {} : { cost: ask.cost ?? 1 }), name, key } as NamedAsk
    // The rule refuses a cost or a cap that is outside its range, whatever the state is.
    const { request, rule } = namedLimit(named)
    rule.peek(rule.initial, request, 0)
    return named
  })
}

/** The answer of the actor; `AllOrNone` gives the decisions by their names. */
export interface CombinedDecision {
  readonly allowed: boolean
  readonly outcome: LimitOutcome
  readonly refused: ReadonlyArray<string>
  readonly resetsAt: number
  readonly retryAfterSeconds: number
  readonly decisions: ReadonlyArray<WindowDecision>
}

/** The gravest first: a request that one limit never lets pass does not pass, whatever the others say. */
const gravest: ReadonlyArray<LimitOutcome> = ["cost_above_limit", "full", "limited", "allowed"]

export const combinedOf = (
  limits: ReadonlyArray<NamedLimit>,
  decisions: ReadonlyArray<WindowDecision>,
  now: number
): CombinedDecision => {
  const refusals = decisions.filter(({ allowed }) => !allowed)
  const resetsAt = refusals.reduce((latest, decision) => Math.max(latest, decision.resetsAt), now)
  return {
    allowed: refusals.length === 0,
    outcome: gravest.find((one) => decisions.some(({ outcome }) => outcome === one)) ?? "allowed",
    refused: limits.flatMap(({ name }, index) => (decisions[index]?.allowed === true ? [] : [name])),
    resetsAt,
    retryAfterSeconds: Math.ceil((resetsAt - now) / 1000),
    decisions
  }
}

/** Asks every limit, counting nothing: all of them are asked even after a refusal, so that the answer names each. */
export const peekAll = (
  limits: ReadonlyArray<NamedLimit>,
  stateOf: (limit: NamedLimit) => unknown,
  now: number
): CombinedDecision =>
  combinedOf(
    limits,
    limits.map((limit) => limit.rule.peek(stateOf(limit), limit.request, now)),
    now
  )

/** The answer when all are counted, after `peekAll` of the same states has let them pass. */
export const takenAll = (
  limits: ReadonlyArray<NamedLimit>,
  stateOf: (limit: NamedLimit) => unknown,
  would: CombinedDecision,
  now: number
): CombinedDecision => ({
  ...would,
  decisions: limits.map((limit, index) =>
    takenOf(limit.rule, would.decisions[index] as WindowDecision, limit.request, () =>
      limit.rule.record(stateOf(limit), limit.request, now)
    )
  )
})
