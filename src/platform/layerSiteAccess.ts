/**
 * Implements access by site credential: finds it in the request and looks up for whom it speaks. Needs `SiteCredentials`.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { unknownParameter } from "../http/unknownNames.ts"
import { EnvelopeInvalidRequest, EnvelopeUnauthorized, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { SiteCredentials } from "./SiteCredentials.ts"
import { CurrentSite, SiteAccess } from "./siteAccess.ts"

/** The refusals of an access by site credential, in its product's shape. */
export interface SiteRefusals<E> {
  readonly unauthorized: (message: string) => E
  readonly invalid: (message: string) => E
  readonly unavailable: (message: string) => E
}

const unauthorizedMessage = "Invalid or missing site credential"

/** Makes an access by site credential that refuses in a product's own shape. */
export const makeSiteAccess =
  <Refusal>(sites: SiteCredentials["Service"], refusals: SiteRefusals<Refusal>) =>
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
      if (url.includes("?")) {
        const given = Object.keys(Context.getUnsafe(context, HttpServerRequest.ParsedSearchParams))
        const unknown = unknownParameter(given, endpoint, [])
        if (unknown !== undefined) return yield* Effect.fail(refusals.invalid(unknown))
      }
      return yield* Effect.provideService(httpEffect, CurrentSite, site)
    })

/** The access of other product sites to the platform. */
export const layerSiteAccess: Layer.Layer<SiteAccess, never, SiteCredentials> = Layer.effect(
  SiteAccess,
  Effect.map(SiteCredentials, (sites) =>
    makeSiteAccess<EnvelopeInvalidRequest | EnvelopeUnauthorized | EnvelopeUnavailable>(sites, {
      unauthorized: EnvelopeUnauthorized.of,
      invalid: EnvelopeInvalidRequest.of,
      unavailable: EnvelopeUnavailable.of
    })
  )
)
