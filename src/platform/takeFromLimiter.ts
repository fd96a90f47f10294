/**
 * Counts requests with a limiter in a lane of the engine (docs/architecture.md, rule 15), for access: an immediate
 * answer if there is one, and a pass if the owner does not answer, because request rates fail open.
 */
import { Effect, type Exit } from "effect"
import type { Target } from "../engine/address.ts"
import type { Engine } from "../engine/Engine.ts"
import type { AskError } from "../engine/errors.ts"
import type { Lane } from "../engine/Lane.ts"
import type * as Limiter from "../limits/actor.ts"
import type { Decision } from "../limits/rules.ts"

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

/** Makes the function that asks a limiter's lane. `onPass` is called for each request that passes uncounted. */
export const makeTakeFromLimiter =
  <Command, State>(
    engine: Engine["Service"],
    lane: Lane<Command, State, Limiter.LimiterReply>,
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
