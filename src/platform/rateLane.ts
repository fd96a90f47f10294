/**
 * Makes request rates: a limiter in a lane of the engine (docs/architecture.md, rule 15), and the function that access
 * counts requests with. It gives an immediate answer if there is one, and a pass if the owner does not answer, because
 * request rates fail open.
 */
import { Effect, type Exit, Metric } from "effect"
import type { JsonCodec, Touched } from "../engine/Actor.ts"
import type { ActorAddress, Target } from "../engine/address.ts"
import { Engine } from "../engine/Engine.ts"
import type { AskError } from "../engine/errors.ts"
import * as Lane from "../engine/Lane.ts"
import * as Limiter from "../limits/actor.ts"
import type { Decision, Limit } from "../limits/rules.ts"

/** How long a request waits for its limiter before it passes uncounted (docs/platform.md, 3.1). */
export const limiterTimeoutMillis = 250

/**
 * The wait is made in steps. A process that was frozen itself then finds one step over, not all of them, and receives a
 * pending answer before it considers the owner unreachable.
 */
const timeoutSteps = 5
const unreachable = Effect.sleep(limiterTimeoutMillis / timeoutSteps).pipe(Effect.repeat({ times: timeoutSteps - 1 }))

/** A decision, undefined for a request that passes uncounted, or an Effect that waits for one of them. */
export type LaneTaken = Decision | undefined | Effect.Effect<Decision | undefined>

/** The definition of a request rate. */
export interface RateLaneOptions<Command> {
  /** Unique among the engine's lanes. */
  readonly kind: string
  /** The schema by which a command crosses processes; without it the lane answers only in its own process. */
  readonly command?: JsonCodec<Command>
  readonly touches: (self: ActorAddress) => ReadonlyArray<Touched>
  /** Whether a command only looks at what is left; none does without it. */
  readonly isLook?: (command: Command) => boolean
  /** Requests per minute, from the command and the facts of the actors that the lane touches. */
  readonly limitOf: (command: Command, context: Lane.LaneContext) => Limit
  /** The counter of requests that pass uncounted. */
  readonly passed: { readonly name: string; readonly description: string }
}

/** A request rate: the engine's lane, and the function that counts a request. */
export interface RateLane<Command> {
  readonly lane: Lane.Lane<Command, Limiter.LimiterState, Limiter.LimiterReply>
  readonly take: Effect.Effect<(target: Target, command: Command) => LaneTaken, never, Engine>
}

/** Makes a request rate, each of whose requests costs one unit. */
export const makeRateLane = <Command>({
  command: schema,
  isLook = () => false,
  kind,
  limitOf,
  passed,
  touches
}: RateLaneOptions<Command>): RateLane<Command> => {
  const lane = Lane.make<Command, Limiter.LimiterState, Limiter.LimiterReply>({
    kind,
    ...(schema === undefined ? {} : { command: schema, reply: Limiter.LimiterReply }),
    initial: Limiter.initial,
    touches,
    decide: (state, command, context) =>
      Limiter.decide(
        state,
        { _tag: isLook(command) ? "Peek" : "Take", cost: 1 },
        limitOf(command, context),
        context.now
      ),
    keepUntil: Limiter.keepUntil
  })
  const counter = Metric.counter(passed.name, { description: passed.description, incremental: true })
  return {
    lane,
    take: Effect.gen(function* () {
      const engine = yield* Engine
      const context = yield* Effect.context<never>()
      counter.updateUnsafe(0, context)
      return makeTake(engine, lane, () => counter.updateUnsafe(1, context))
    })
  }
}

/** Makes the function that asks a limiter's lane. `onPass` is called for each request that passes uncounted. */
const makeTake =
  <Command, State>(
    engine: Engine["Service"],
    lane: Lane.Lane<Command, State, Limiter.LimiterReply>,
    onPass: () => void
  ): ((target: Target, command: Command) => LaneTaken) =>
  (target, command) => {
    const pass = (): undefined => {
      onPass()
      return undefined
    }
    const decisionOf = (exit: Exit.Exit<Limiter.LimiterReply, AskError>): Decision | undefined =>
      exit._tag === "Success" && exit.value._tag === "Decided" ? exit.value.decision : pass()
    let resume: ((exit: Exit.Exit<Limiter.LimiterReply, AskError>) => void) | undefined
    let early: Exit.Exit<Limiter.LimiterReply, AskError> | undefined
    const exit = engine.askLaneNow(lane, target, command, (answer) => {
      early = answer
      resume?.(answer)
    })
    if (exit !== undefined) return decisionOf(exit)
    return Effect.callback<Decision | undefined>((done) => {
      resume = (answer) => done(Effect.sync(() => decisionOf(answer)))
      if (early !== undefined) resume(early)
    }).pipe(Effect.raceFirst(Effect.map(unreachable, pass)))
  }
