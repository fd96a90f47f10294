/**
 * Describes access by site credential for the API (docs/platform.md, 2.8): the organization for which a site acts, and
 * the middleware before its endpoints. Definitions only; `layerSiteAccess.ts` implements them. A product whose errors
 * have another shape makes its own with `makeSiteAccess`.
 */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  EnvelopeInternalError,
  EnvelopeInvalidRequest,
  EnvelopeRateLimited,
  EnvelopeUnauthorized,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import type { Site } from "./SiteCredentials.ts"

/** The organization for which the site of the current request acts. */
export class CurrentSite extends Context.Service<CurrentSite, Site>()("sluice/platform/CurrentSite") {}

/** Access by site credential, with errors in the generic envelope. Errors: 400, 401, 429, 503. */
export class SiteAccess extends HttpApiMiddleware.Service<SiteAccess, { provides: CurrentSite }>()(
  "sluice/platform/SiteAccess",
  {
    error: [
      EnvelopeInvalidRequest,
      EnvelopeUnauthorized,
      EnvelopeRateLimited,
      EnvelopeInternalError,
      EnvelopeUnavailable
    ]
  }
) {}
