/**
 * Implements access by site credential: finds it in the request, looks up its organization and counts the request.
 * Needs `SiteCredentials`.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RequestState } from "../http/RequestState.ts"
import { unknownParameter } from "../http/unknownNames.ts"
import {
  EnvelopeInvalidRequest,
  EnvelopeRateLimited,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { overLimit, rateLimitFields } from "../limits/headers.ts"
import { SiteCredentials } from "./SiteCredentials.ts"
import { SiteRate, type SiteRateShape } from "./SiteRate.ts"
import { CurrentSite, SiteAccess } from "./siteAccess.ts"

/** The refusals of an access by site credential, in its product's shape. */
export interface SiteRefusals<E> {
  readonly unauthorized: (message: string) => E
  readonly invalid: (message: string) => E
  readonly rateLimited: (message: string) => E
  readonly unavailable: (message: string) => E
}

const unauthorizedMessage = "Invalid or missing site credential"

/** Makes an access by site credential that refuses in a product's own shape. */
export const makeSiteAccess =
  <Refusal>(
    { rate, sites }: { readonly sites: SiteCredentials["Service"]; readonly rate: SiteRateShape },
    refusals: SiteRefusals<Refusal>
  ) =>
  <E, R>(
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E | Refusal, Exclude<R, CurrentSite>> =>
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const { headers, url } = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
      const credential = /^bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1] ?? ""
      const site = yield* Effect.mapError(sites.verify(credential), () =>
        refusals.unavailable("The site credential cannot be checked right now")
      )
      if (site === null) return yield* Effect.fail(refusals.unauthorized(unauthorizedMessage))
      const taken = rate.take(site)
      const decision = Effect.isEffect(taken) ? yield* taken : taken
      if (decision !== undefined) {
        Context.getUnsafe(context, RequestState).responseHeaders = rateLimitFields(decision)
        if (!decision.allowed) return yield* Effect.fail(refusals.rateLimited(overLimit(decision)))
      }
      if (url.includes("?")) {
        const given = Object.keys(Context.getUnsafe(context, HttpServerRequest.ParsedSearchParams))
        const unknown = unknownParameter(given, endpoint, [])
        if (unknown !== undefined) return yield* Effect.fail(refusals.invalid(unknown))
      }
      return yield* Effect.provideService(httpEffect, CurrentSite, site)
    })

/** The services that an access by site credential uses. */
export const siteServices = Effect.gen(function* () {
  return { sites: yield* SiteCredentials, rate: yield* SiteRate }
})

/** The access of other product sites to the platform. */
export const layerSiteAccess: Layer.Layer<SiteAccess, never, SiteCredentials> = Layer.effect(
  SiteAccess,
  Effect.map(siteServices, (given) =>
    makeSiteAccess<EnvelopeInvalidRequest | EnvelopeUnauthorized | EnvelopeRateLimited | EnvelopeUnavailable>(given, {
      unauthorized: EnvelopeUnauthorized.of,
      invalid: EnvelopeInvalidRequest.of,
      rateLimited: EnvelopeRateLimited.of,
      unavailable: EnvelopeUnavailable.of
    })
  )
)
