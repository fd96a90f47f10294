/** Handles the endpoints of accounts. Needs `Tenants`; the access middleware gives the key. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { CurrentPrincipal } from "../../platform/access.ts"
import type { Principal } from "../../platform/model.ts"
import type { Cap } from "../account/tenants/limitUsage.ts"
import { type TenantShown, Tenants } from "../account/tenants/Tenants.ts"
import { available, SendForbidden } from "./sendErrors.ts"
import { SendTenantsApi } from "./tenantsApi.ts"

const iso = (at: number): string => new Date(at).toISOString()

const shownCap = ({ limit, resetsAt, used }: Cap) => ({
  limit,
  used,
  resetsAt: resetsAt === null ? null : iso(resetsAt)
})

const shown = ({ mode }: Principal, { month, plan, probation, senders, triggers, trust }: TenantShown) => ({
  mode,
  plan,
  trustStage: trust.trustStage,
  ...(trust.probationEndsAt === undefined ? {} : { probationEndsAt: iso(trust.probationEndsAt) }),
  ...(trust.pausedAt === undefined ? {} : { pausedAt: iso(trust.pausedAt) }),
  ...(trust.pauseReason === undefined ? {} : { pauseReason: trust.pauseReason }),
  caps: {
    emailsPerMonth: shownCap(month),
    ...(probation === null
      ? {}
      : {
          emailsPerHour: shownCap(probation.hour),
          emailsPerDay: shownCap(probation.day),
          recipientDomainsPerHour: shownCap(probation.domains)
        }),
    senders: shownCap(senders)
  },
  ...(triggers === null ? {} : { triggers })
})

export const layerSendTenants = HttpApiBuilder.group(
  baseApi.add(SendTenantsApi),
  "sendTenants",
  Effect.fn(function* (handlers) {
    const tenants = yield* Tenants
    return handlers.handleAll({
      get: () =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          return shown(principal, yield* tenants.get(principal, principal.sendPlan))
        }).pipe(available),
      facts: () =>
        Effect.gen(function* () {
          const found = yield* tenants.facts(yield* CurrentPrincipal)
          return { data: found.map((one) => ({ ...one, fact: { ...one.fact } })) }
        }).pipe(available),
      reset: () =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          if (principal.mode !== "test")
            return yield* SendForbidden.of(
              "Only a test key can start its account anew: the live account is not for trying things"
            )
          return shown(principal, yield* tenants.reset(principal.organizationId, principal.sendPlan))
        }).pipe(available)
    })
  })
)
