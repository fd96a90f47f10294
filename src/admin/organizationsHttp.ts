/**
 * Handles the admin API's requests about organizations: creating, changing and deleting them (docs/platform.md, 8.3).
 */

import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { isRetryable } from "../engine/errors.ts"
import { idempotentRequest } from "../http/idempotency.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { EnvelopeInvalidRequest, type EnvelopeNotFound, type EnvelopeUnavailable } from "../http/wireErrors.ts"
import { AuditLog } from "../platform/audit/AuditLog.ts"
import { auditPage } from "../platform/audit/auditHttp.ts"
import type { OrganizationState } from "../platform/OrganizationActor.ts"
import { OrganizationPlans, type PlansUnavailable } from "../platform/OrganizationPlans.ts"
import { Organizations } from "../platform/Organizations.ts"
import { RequestLog } from "../platform/requests/RequestLog.ts"
import { requestDetail, requestsPage } from "../platform/requests/requestsHttp.ts"
import { RiskSignals, riskOf, type SignUpSignal, sameDomainMillis } from "../send/index.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { conflict, invalidCursor, notFound, repeatable, unavailable, withReplayed } from "./failures.ts"
import { type DeletionError, OrganizationDeletion } from "./OrganizationDeletion.ts"

const deletionAnswered = <A>(effect: Effect.Effect<A, DeletionError>) =>
  Effect.catch(
    effect,
    (error): Effect.Effect<never, EnvelopeNotFound | EnvelopeInvalidRequest | EnvelopeUnavailable> => {
      switch (error._tag) {
        case "OrganizationNotFound":
          return Effect.fail(notFound(error))
        case "NameDiffers":
          return Effect.fail(EnvelopeInvalidRequest.of(error.message))
        case "SqlError":
          return unavailable(error)
        case "BillingUnavailable":
        case "EngineNotStarted":
        case "ContentsUnavailable":
          return repeatable(error)
        default:
          return isRetryable(error, { isIdempotent: true }) ? repeatable(error) : Effect.die(error)
      }
    }
  )

/** Makes the decision, records the act, and answers the organization as its row will show it. */
const changing =
  (organizations: Organizations["Service"], acts: AdminActs["Service"]) =>
  (
    id: string,
    act: string,
    detail: object,
    decide: (id: string) => Effect.Effect<OrganizationState, PlansUnavailable>
  ) =>
    Effect.gen(function* () {
      const organization = yield* organizations.get(id)
      const state = yield* decide(id)
      yield* acts.record(act, id, detail)
      return {
        ...organization,
        plan: state.plan ?? organization.plan,
        sendPlan: state.sendPlan ?? organization.sendPlan,
        requestsPerMinute: state.limits.requestsPerMinute
      }
    }).pipe(
      Effect.catchTags({
        OrganizationNotFound: (error) => Effect.fail(notFound(error)),
        PlansUnavailable: repeatable,
        SqlError: unavailable
      })
    )

export const layerOrganizations = HttpApiBuilder.group(
  AdminApi,
  "organizations",
  Effect.fn(function* (handlers) {
    const organizations = yield* Organizations
    const acts = yield* AdminActs
    const audit = yield* AuditLog
    const plans = yield* OrganizationPlans
    const signals = yield* RiskSignals
    const deletion = yield* OrganizationDeletion
    const requests = yield* RequestLog
    const changed = changing(organizations, acts)
    const there = (id: string) =>
      Effect.catchTags(organizations.get(id), {
        OrganizationNotFound: (error) => Effect.fail(notFound(error)),
        SqlError: unavailable
      })
    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload, headers }) {
        const now = yield* Clock.currentTimeMillis
        const { email = null, plan = "free", risk: declared, sendPlan = "hobby" } = payload
        let found: ReadonlyArray<SignUpSignal> = []
        const risk = signals
          .ofSignUp({
            email,
            declared,
            earlierOfDomain: (domain) => organizations.madeSince(domain, now - sameDomainMillis)
          })
          .pipe(
            Effect.tap((signUp) => Effect.sync(() => (found = signUp))),
            Effect.map(riskOf)
          )
        return yield* organizations
          .create(
            { name: payload.name, email, plan, sendPlan, risk },
            idempotentRequest(headers["idempotency-key"], payload),
            ({ id }) => acts.record("organization.created", id, { ...payload, riskSignals: found })
          )
          .pipe(
            Effect.map(({ organization, replayed }) => withReplayed(organization, replayed)),
            Effect.catchTags({
              IdempotencyConflict: (error) => Effect.fail(conflict(error)),
              PlansUnavailable: repeatable,
              SqlError: unavailable
            })
          )
      }),
      setPlans: ({ params, payload }) =>
        changed(params.id, "organization.plans_set", payload, (id) =>
          plans.setPlans(id, { ...payload, by: "operator" })
        ),
      followSubscription: ({ params }) =>
        changed(params.id, "organization.subscription_followed", {}, plans.followSubscription),
      setLimits: ({ params, payload }) =>
        changed(params.id, "organization.limits_set", payload, (id) => plans.setLimits(id, payload)),
      audit: ({ params: { id: organizationId }, query }) =>
        Effect.andThen(there(organizationId), auditPage(audit, { ...query, mode: undefined, organizationId })),
      requests: ({ params: { id: organizationId }, query }) =>
        Effect.andThen(there(organizationId), requestsPage(requests, { mode: undefined, organizationId }, query)),
      request: ({ params: { id: organizationId, recordId } }) =>
        Effect.andThen(there(organizationId), requestDetail(requests, { mode: undefined, organizationId }, recordId)),
      remove: ({ params, query }) => deletionAnswered(deletion.remove(params.id, query.name)),
      list: ({ query }) =>
        organizations
          .list({ limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor, search: query.search })
          .pipe(Effect.catchTags({ InvalidCursor: () => Effect.fail(invalidCursor()), SqlError: unavailable })),
      get: ({ params }) =>
        organizations
          .get(params.id)
          .pipe(
            Effect.catchTags({ OrganizationNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
          )
    })
  })
)
