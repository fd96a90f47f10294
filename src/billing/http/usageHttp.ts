/**
 * Handles requests for usage. Needs `Billing`, `Usage` and, for an account's own limit, `Engine`; the access
 * middlewares give the principal.
 */
import { Clock, Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { quote } from "../../http/parameters.ts"
import { builtWith } from "../../http/smallContext.ts"
import { EnvelopeConflict, EnvelopeInvalidRequest } from "../../http/wireErrors.ts"
import { BillingAccess, CurrentPrincipal } from "../../platform/access.ts"
import { CurrentSite, SiteAccess } from "../../platform/siteAccess.ts"
import { Billing } from "../Billing.ts"
import { monthAt, monthNamed } from "../periods.ts"
import { Usage } from "../usage/Usage.ts"
import { figuresSince } from "../usage/UsageKeeper.ts"
import { available } from "./failures.ts"
import { UsageApi, UsageReportsApi } from "./usageApi.ts"

const iso = (at: number): string => new Date(at).toISOString()

/** The calendar month that a request names. */
const periodOf = Effect.fnUntraced(function* (text: string) {
  const now = yield* Clock.currentTimeMillis
  const period = text === "current" ? monthAt(now) : monthNamed(text)
  const since = figuresSince(now)
  const problem =
    period === undefined
      ? "Expected current, or a month such as 2026-07."
      : period.start < since
        ? `Figures are kept since ${iso(since).slice(0, "2026-07".length)}.`
        : period.start > now
          ? "The period has not begun."
          : undefined
  return period === undefined || problem !== undefined
    ? yield* EnvelopeInvalidRequest.of(`Invalid parameter 'period': ${quote(text)}. ${problem}`)
    : period
})

export const layerUsage = HttpApiBuilder.group(
  baseApi.add(UsageApi),
  "usage",
  Effect.fn(function* (handlers) {
    const billing = yield* Billing
    const usage = yield* Usage
    return handlers.handleAll({
      entitlement: ({ query: { product } }) =>
        Effect.gen(function* () {
          const { organizationId } = yield* CurrentPrincipal
          const month = monthAt(yield* Clock.currentTimeMillis)
          const { emails: limit, hasAccess } = yield* billing.entitlement(organizationId, product)
          const { apiCalls, emails } = yield* usage.of(organizationId, month, product)
          return { hasAccess, product, limits: { apiCalls: null, emails: limit }, usage: { apiCalls, emails } }
        }).pipe(available),
      usage: ({ query: { period: text = "current" } }) =>
        Effect.gen(function* () {
          const { organizationId } = yield* CurrentPrincipal
          const period = yield* periodOf(text)
          const figures = yield* available(usage.of(organizationId, period))
          return { period: { start: iso(period.start), end: iso(period.end) }, usage: figures }
        })
    })
  })
).pipe(builtWith(Billing, Usage, BillingAccess))

export const layerUsageReports = HttpApiBuilder.group(
  baseApi.add(UsageReportsApi),
  "usageReports",
  Effect.fn(function* (handlers) {
    const usage = yield* Usage
    return handlers.handleAll({
      report: ({ headers, payload }) =>
        Effect.gen(function* () {
          const { organizationId } = yield* CurrentSite
          const idempotent = idempotentRequest(headers["idempotency-key"], payload)
          const { isReplayed, total } = yield* usage.report(organizationId, payload, idempotent)
          return HttpApiSchema.withHeaders({
            body: { success: true as const, data: { ...payload, total } },
            headers: isReplayed ? { "idempotency-replayed": "true" } : {}
          })
        }).pipe(
          available,
          Effect.catchTag("IdempotencyConflict", ({ message }) => Effect.fail(EnvelopeConflict.of(message)))
        )
    })
  })
).pipe(builtWith(Usage, SiteAccess))
