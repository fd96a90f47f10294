/**
 * The platform's request rate (docs/platform.md, 3.1). Each organization has one limiter over all its keys, in a lane
 * of the engine, which answers from memory and keeps the limiter for the whole window. The count outlives a change of plan,
 * because plan and limits are read from the organization's facts at each decision. The rate fails open: after
 * 250 ms without an answer of the owner a request passes, and a metric counts it. Needs `Engine`.
 */
import { Context, Effect, type Exit, Layer, Metric } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { AskError } from "../engine/errors.ts"
import * as Lane from "../engine/Lane.ts"
import * as Limiter from "../limits/actor.ts"
import { requestsPerMinute } from "../limits/plans.ts"
import type { Decision } from "../limits/rules.ts"
import type { PlatformPlan, Principal } from "./model.ts"
import { OrganizationActor } from "./OrganizationActor.ts"

/** How long a request waits for its limiter before it passes uncounted (docs/platform.md, 3.1). */
export const limiterTimeoutMillis = 250

/**
 * The wait is made in steps. A process that was held up itself then finds one step over, not all of them, and receives
 * an answer that has come meanwhile before it takes the owner for unreachable.
 */
const timeoutSteps = 5
const unreachable = Effect.sleep(limiterTimeoutMillis / timeoutSteps).pipe(Effect.repeat({ times: timeoutSteps - 1 }))

/** What the lane is asked. */
export interface TakeRequest {
  readonly cost: number
  /** The plan in the organization's row. It counts while the log knows no plan yet. */
  readonly plan: PlatformPlan
}

/** One limiter an organization. */
export const requestLimiter = Lane.make<TakeRequest, Limiter.LimiterState, Limiter.LimiterReply>({
  kind: "request-rate",
  initial: Limiter.initial,
  touches: () => [OrganizationActor.at()],
  decide: (state, { cost, plan }, { now, read }) => {
    const organization = read(OrganizationActor)
    const limit = requestsPerMinute(organization.plan ?? plan, organization.limits.requestsPerMinute)
    return Limiter.decide(state, { _tag: "Take", cost }, limit, now)
  },
  keepUntil: Limiter.keepUntil
})

const passed = Metric.counter("sluice_request_rate_passed_total", {
  description: "Requests that passed uncounted because their limiter could not be reached",
  incremental: true
})

export class RequestRate extends Context.Service<
  RequestRate,
  {
    /**
     * Counts a request of the key's organization. Answers the decision, nearly always at once, or an Effect that waits
     * for the owner. Undefined means that the limiter could not be reached and the request passes.
     */
    readonly take: (principal: Principal) => Decision | undefined | Effect.Effect<Decision | undefined>
  }
>()("sluice/platform/RequestRate") {
  static readonly layer: Layer.Layer<RequestRate, never, Engine> = Layer.effect(
    RequestRate,
    Effect.gen(function* () {
      const engine = yield* Engine
      const context = yield* Effect.context<never>()

      const pass = (): undefined => {
        passed.updateUnsafe(1, context)
        return undefined
      }
      const decisionOf = (exit: Exit.Exit<Limiter.LimiterReply, AskError>): Decision | undefined =>
        exit._tag === "Success" && exit.value._tag === "Decided" ? exit.value.decision : pass()

      return RequestRate.of({
        take: (principal) => {
          let resume: ((exit: Exit.Exit<Limiter.LimiterReply, AskError>) => void) | undefined
          let early: Exit.Exit<Limiter.LimiterReply, AskError> | undefined
          const exit = engine.askLaneNow(
            requestLimiter,
            { organization: principal.organizationId },
            { cost: 1, plan: principal.plan },
            (answer) => {
              early = answer
              resume?.(answer)
            }
          )
          if (exit !== undefined) return decisionOf(exit)
          return Effect.callback<Decision | undefined>((done) => {
            resume = (answer) => done(Effect.sync(() => decisionOf(answer)))
            if (early !== undefined) resume(early)
          }).pipe(Effect.raceFirst(Effect.map(unreachable, pass)))
        }
      })
    })
  )

  /** Limits nothing, for embedding the server without an engine. */
  static readonly layerUnlimited: Layer.Layer<RequestRate> = Layer.succeed(
    RequestRate,
    RequestRate.of({ take: () => undefined })
  )
}
