/**
 * Counts a request under several limits of one organization, or under none of them (docs/limits.md, "All of these
 * limits or none"). Time comes from the Clock. `layerMemory` counts in this process and needs nothing else.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import { isSubjectToken } from "../engine/address.ts"
import { Engine } from "../engine/EngineService.ts"
import { AllOrNoneActor } from "./allOrNoneActor.ts"
import {
  type AskDecision,
  type CombinedDecision,
  combinedOf,
  type LimitAsk,
  limitActors,
  maximumLimitsOfOne,
  type NamedAsk,
  type NamedLimit,
  namedAsks,
  namedLimit,
  peekAll,
  takenAll
} from "./allOrNoneRules.ts"
import { attempt } from "./attempt.ts"
import { InvalidArgument, LimiterUnreachable } from "./errors.ts"
import { KeyedStates } from "./KeyedStates.ts"
import { fullOf, type KeyedWindowOptions } from "./keyedWindow.ts"
import type { LimitOutcome } from "./rules.ts"

/** The limits of a request, by names of your own. See {@link AllOrNone}. */
export type LimitAsks = Readonly<Record<string, LimitAsk>>

/** The answer to a request under several limits. See {@link AllOrNone}. */
export interface AllOrNoneDecision<Asks extends LimitAsks> {
  /** Whether the request may proceed. Only then was it counted, by every limit. */
  readonly allowed: boolean
  /** `cost_above_limit` if one of the limits never lets it pass, else `full` or `limited` if one refused. */
  readonly outcome: LimitOutcome
  /** Names of all limits that refused, in the order of the request. */
  readonly refused: ReadonlyArray<keyof Asks & string>
  /**
   * The latest `resetsAt` of those limits: the earliest instant at which all of them let this request pass if nothing
   * else is counted. For an allowed one the time of the decision.
   */
  readonly resetsAt: number
  /** Whole seconds until `resetsAt`, rounded up, so that a retry then passes; 0 for an allowed request. */
  readonly retryAfterSeconds: number
  /** The answer of each limit by itself. After a refusal those that would have let it pass have counted nothing. */
  readonly decisions: { readonly [Name in keyof Asks]: AskDecision<Asks[Name]> }
}

/**
 * Counts a request under several limits of one organization, or under none (docs/limits.md, "All of these limits or
 * none").
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { AllOrNone, type BucketAsk, type MonthlyAsk } from "sluice/limits"
 *
 * const perSecond: BucketAsk = { kind: "bucket", burst: 20, tokens: 10, everyMillis: 1_000 }
 * const perMonth: MonthlyAsk = { kind: "monthly", limit: 3_000 }
 *
 * const program = Effect.gen(function* () {
 *   const { take } = yield* AllOrNone
 *   const ask = (key: string, cost: number) =>
 *     take("acme", { perSecond: { ...perSecond, key }, perMonth: { ...perMonth, cost } })
 *   const [first, second] = [yield* ask("ann", 2_000), yield* ask("ben", 2_000)]
 *   return [first.allowed, second.refused, second.decisions.perSecond.remaining]
 * })
 * console.log(await Effect.runPromise(Effect.provide(program, AllOrNone.layerMemory()))) // [ true, [ 'perMonth' ], 20 ]
 * ```
 */
export class AllOrNone extends Context.Service<
  AllOrNone,
  {
    /**
     * Asks all limits and counts the request under each of them, if every one lets it pass. A refusal counts nothing
     * anywhere.
     */
    readonly take: <const Asks extends LimitAsks>(
      organization: string,
      asks: Asks
    ) => Effect.Effect<AllOrNoneDecision<Asks>, InvalidArgument | LimiterUnreachable>
    /** Returns the answer that `take` would give, counting nothing. */
    readonly peek: <const Asks extends LimitAsks>(
      organization: string,
      asks: Asks
    ) => Effect.Effect<AllOrNoneDecision<Asks>, InvalidArgument | LimiterUnreachable>
  }
>()("sluice/limits/AllOrNone") {
  /**
   * Limits in this process. The layer fails for options outside their range; `maxKeys` counts every limit of every key,
   * and is at least as large as the largest request.
   */
  static readonly layerMemory = (options: KeyedWindowOptions = {}): Layer.Layer<AllOrNone, InvalidArgument> =>
    Layer.effect(
      AllOrNone,
      Effect.suspend(() => attempt(() => serviceOf(inMemory(options))))
    )

  /** The actors that an engine for `layer` must have: one that decides, and those of the limits. */
  static readonly actors: ReadonlyArray<AnyActor> = [AllOrNoneActor, ...limitActors]

  /** Limits on an engine. */
  static readonly layer: Layer.Layer<AllOrNone, never, Engine> = Layer.effect(
    AllOrNone,
    Effect.map(Engine, (engine) =>
      serviceOf((_tag, organization, asks) =>
        Effect.mapError(
          engine.ask(AllOrNoneActor, { organization }, { _tag, asks }),
          (error) => new LimiterUnreachable({ message: error.message })
        )
      )
    )
  )
}

type Decide = (
  _tag: "Take" | "Peek",
  organization: string,
  asks: ReadonlyArray<NamedAsk>
) => Effect.Effect<CombinedDecision, LimiterUnreachable>

const assertOrganization = (organization: string): void => {
  if (isSubjectToken(organization)) return
  throw new InvalidArgument({
    argument: "organization",
    message: `organization must be one token of a NATS subject, got ${organization.length} characters`
  })
}

const serviceOf = (decide: Decide): AllOrNone["Service"] => {
  const ask =
    (_tag: "Take" | "Peek") =>
    <const Asks extends LimitAsks>(organization: string, asks: Asks) =>
      Effect.flatMap(
        attempt(() => {
          assertOrganization(organization)
          return namedAsks(asks)
        }),
        (named) =>
          Effect.map(decide(_tag, organization, named), ({ decisions, ...combined }) => ({
            ...combined,
            decisions: Object.fromEntries(named.map(({ name }, index) => [name, decisions[index]]))
            // Each limit has answered by the rule of its kind.
          })) as Effect.Effect<AllOrNoneDecision<Asks>, LimiterUnreachable>
      )
  return { take: ask("Take"), peek: ask("Peek") }
}

/**
 * Makes room for new limits, or says until when there is none. That may drop another limit of the request, whose state
 * has ended: it needs room like a new one then.
 */
const roomFor = (
  states: KeyedStates<unknown>,
  newLimits: () => ReadonlyArray<NamedLimit>,
  now: number
): { readonly needy: ReadonlyArray<NamedLimit>; readonly until: number | undefined } => {
  const needy = newLimits()
  const until = needy.length === 0 ? undefined : states.fullUntil(now, needy.length)
  return newLimits().length === needy.length ? { needy, until } : roomFor(states, newLimits, now)
}

const inMemory = ({ maxKeys }: KeyedWindowOptions): Decide => {
  const states = new KeyedStates<unknown>(maxKeys, maximumLimitsOfOne)
  const decide = (
    counts: boolean,
    limits: ReadonlyArray<NamedLimit>,
    addressOf: (limit: NamedLimit) => string,
    now: number
  ): CombinedDecision => {
    const stateOf = (limit: NamedLimit) => states.get(addressOf(limit)) ?? limit.rule.initial
    const would = peekAll(limits, stateOf, now)
    if (!would.allowed) return would
    const isFresh = (limit: NamedLimit) => states.get(addressOf(limit)) === undefined
    const isUnlimited = (index: number) => would.decisions[index]?.limit === "unlimited"
    const { needy, until } = roomFor(
      states,
      () => limits.filter((limit, index) => isFresh(limit) && !isUnlimited(index)),
      now
    )
    if (until !== undefined) {
      const refused = would.decisions.map((decision, index) =>
        needy.includes(limits[index] as NamedLimit) ? fullOf(decision, until, now) : decision
      )
      return combinedOf(limits, refused, now)
    }
    if (!counts) return would
    const taken = takenAll(limits, stateOf, would, now)
    // An unlimited quota without room passes uncounted, so it leaves the room to the others.
    const spare = limits.filter((limit) => isFresh(limit) && !needy.includes(limit))
    for (const limit of [...limits.filter((one) => !spare.includes(one)), ...spare]) {
      if (spare.includes(limit) && states.fullUntil(now) !== undefined) continue
      const after = limit.rule.record(stateOf(limit), limit.request, now)
      states.set(addressOf(limit), after, limit.rule.endOf(after, limit.request))
    }
    return taken
  }
  return (_tag, organization, asks) =>
    Clock.clockWith((clock) =>
      Effect.sync(() =>
        decide(
          _tag === "Take",
          asks.map(namedLimit),
          ({ actor, key }) => `${organization}\n${actor.kind}\n${key}`,
          states.time(clock.currentTimeMillisUnsafe())
        )
      )
    )
}
