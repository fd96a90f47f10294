/** Handlers of the admin API's group for accounts that send. Needs `Organizations`, `SendOperator` and `AdminActs`. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql"
import { EnvelopeInvalidRequest } from "../http/wireErrors.ts"
import { type OrganizationNotFound, Organizations } from "../platform/Organizations.ts"
import { type AccountOf, type AccountUnavailable, type ActRefused, type Mode, SendOperator } from "../send/index.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./api.ts"
import { notFound, repeatable, unavailable } from "./failures.ts"

type Failure = OrganizationNotFound | ActRefused | AccountUnavailable | SqlError.SqlError

const answered = <A>(effect: Effect.Effect<A, Failure>) =>
  Effect.catchTags(effect, {
    OrganizationNotFound: (error) => Effect.fail(notFound(error)),
    ActRefused: ({ message }) => Effect.fail(EnvelopeInvalidRequest.of(`${message}.`)),
    AccountUnavailable: repeatable,
    SqlError: unavailable
  })

export const layerSend = HttpApiBuilder.group(
  AdminApi,
  "send",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    const operator = yield* SendOperator
    const acts = yield* AdminActs
    const account = (
      id: string,
      mode: Mode = "live"
    ): Effect.Effect<AccountOf, OrganizationNotFound | SqlError.SqlError> =>
      Effect.map(organizations.get(id), (organization) => ({ organization, mode }))
    /** Makes the decision, then records the act. */
    const acted = <A>(
      id: string,
      act: string,
      { mode = "live", ...detail }: { readonly mode?: Mode | undefined },
      decide: (of: AccountOf) => Effect.Effect<A, ActRefused | AccountUnavailable>
    ) =>
      answered(
        Effect.gen(function* () {
          const done = yield* decide(yield* account(id, mode))
          yield* acts.record(act, id, { mode, ...detail })
          return done
        })
      )
    return handlers.handleAll({
      show: ({ params, query }) =>
        answered(
          Effect.gen(function* () {
            const of = yield* account(params.id, query.mode)
            const facts = yield* operator.facts(of)
            return { ...(yield* operator.show(of)), facts: facts.map((one) => ({ ...one, fact: { ...one.fact } })) }
          })
        ),
      lift: ({ params, payload }) => acted(params.id, "send.lifted", payload, operator.lift),
      setRisk: ({ params, payload }) =>
        acted(params.id, "send.risk_set", payload, (of) => operator.setRisk(of, payload.risk)),
      setLimits: ({ params, payload }) =>
        acted(params.id, "send.limits_set", payload, (of) => {
          const { emailsPerMonth, probation, requestsPerMinute = null } = payload
          return operator.setLimits(of, {
            emailsPerMonth,
            probation,
            ...(requestsPerMinute === null ? {} : { requestsPerMinute })
          })
        }),
      setCap: ({ params, payload }) =>
        acted(params.id, "send.cap_set", payload, (of) => operator.setDailyCap(of, payload.sender, payload.dailyCap))
    })
  })
)
