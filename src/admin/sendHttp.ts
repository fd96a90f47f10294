/**
 * Handles requests to the admin API's group for accounts that send. Needs `Organizations`, `SendOperator`,
 * `DomainChecks`, `FeedbackIntake` and `AdminActs`.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql"
import { isRetryable } from "../engine/errors.ts"
import { quote } from "../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeNotFound, type EnvelopeUnavailable } from "../http/wireErrors.ts"
import { type OrganizationNotFound, Organizations } from "../platform/Organizations.ts"
import { FeedbackIntake } from "../send/feedback/intake/FeedbackIntake.ts"
import { type AccountOf, type AccountUnavailable, type ActRefused, type Mode, SendOperator } from "../send/index.ts"
import { type CheckError, DomainChecks } from "../send/senders/domains/DomainChecks.ts"
import { shownRecords } from "../send/senders/domains/dnsRecords.ts"
import { type Domain, statusOf } from "../send/senders/domains/model.ts"
import { normalizedDomain } from "../send/senders/domains/normalizedDomain.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { notFound, repeatable, unavailable } from "./failures.ts"

type Failure = OrganizationNotFound | ActRefused | AccountUnavailable | SqlError.SqlError

const answered = <A>(effect: Effect.Effect<A, Failure>) =>
  Effect.catchTags(effect, {
    OrganizationNotFound: (error) => Effect.fail(notFound(error)),
    ActRefused: ({ message }) => Effect.fail(EnvelopeInvalidRequest.of(`${message}.`)),
    AccountUnavailable: repeatable,
    SqlError: unavailable
  })

/** A domain as operators see it: what it lacks, and what is wrong with its SPF and DMARC. */
const domainShown = (domain: Domain, advisedSpf: string) => ({
  id: domain.id,
  mode: domain.mode,
  name: domain.name,
  status: statusOf(domain),
  proof: domain.proof,
  lacks: shownRecords(domain, domain.records, advisedSpf)
    .filter(({ required, status }) => required && status !== "verified")
    .map(({ name, record, value }) => ({ record, name, value })),
  authentication:
    domain.authentication === null
      ? []
      : domain.authentication.verdicts.map((verdict) => ({
          ...verdict,
          checkedAt: domain.authentication!.checkedAt
        }))
})

interface DomainToVerify {
  readonly mode?: Mode | undefined
  readonly domain: string
  readonly unchecked?: boolean
}

const domainAnswered = <A>(
  effect: Effect.Effect<A, CheckError | OrganizationNotFound | EnvelopeNotFound>
): Effect.Effect<A, EnvelopeNotFound | EnvelopeInvalidRequest | EnvelopeUnavailable> =>
  Effect.catch(
    effect,
    (error): Effect.Effect<never, EnvelopeNotFound | EnvelopeInvalidRequest | EnvelopeUnavailable> => {
      switch (error._tag) {
        case "EnvelopeNotFound":
          return Effect.fail(error)
        case "OrganizationNotFound":
          return Effect.fail(notFound(error))
        case "SqlError":
          return unavailable(error)
        case "TooManySenders":
          return Effect.fail(EnvelopeInvalidRequest.of(`The account has ${error.maximum} senders already.`))
        case "EngineNotStarted":
          return repeatable(error)
        default:
          return isRetryable(error, { isIdempotent: true }) ? repeatable(error) : Effect.die(error)
      }
    }
  )

export const layerSend = HttpApiBuilder.group(
  AdminApi,
  "send",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    const operator = yield* SendOperator
    const acts = yield* AdminActs
    const checks = yield* DomainChecks
    const intake = yield* FeedbackIntake
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
    const domainOf = Effect.fnUntraced(function* (id: string, name: string, mode: Mode) {
      yield* organizations.get(id)
      const known = normalizedDomain(name)
      const domain = known === undefined ? undefined : yield* checks.find({ organizationId: id, mode }, known)
      if (domain === undefined)
        return yield* EnvelopeNotFound.of(`The organization has no domain ${quote(name)} in the mode ${mode}.`)
      return domain
    })
    const verifyDomain = Effect.fnUntraced(function* (id: string, given: DomainToVerify) {
      const { domain: name, mode = "live", unchecked = false } = given
      const domain = yield* domainOf(id, name, mode)
      const verified = (yield* unchecked ? checks.vouch(domain) : checks.check(domain, { isAsked: true })) ?? domain
      const act = { mode, name: verified.name, status: statusOf(verified), proof: verified.proof, unchecked }
      yield* acts.record("send.domain_verified", id, act)
      return domainShown(verified, checks.advisedSpf)
    })
    return handlers.handleAll({
      takeFeedback: ({ payload }) =>
        Effect.catch(
          Effect.map(intake.takeFile(Buffer.from(payload.mail, "base64")), (outcome) => ({ outcome })),
          repeatable
        ),
      showDomain: ({ params, query }) =>
        domainAnswered(
          Effect.map(domainOf(params.id, params.domain, query.mode ?? "live"), (domain) =>
            domainShown(domain, checks.advisedSpf)
          )
        ),
      verifyDomain: ({ params, payload }) => domainAnswered(verifyDomain(params.id, payload)),
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
