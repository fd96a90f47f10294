/**
 * Access by API key as the API's description sees it: who is asking, and the middleware each product puts before its
 * endpoints. Definitions only, so that the typed client can share them; `layerAccess.ts` implements them.
 */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  EnvelopeForbidden,
  EnvelopeInternalError,
  EnvelopeInvalidRequest,
  EnvelopeRateLimited,
  EnvelopeUnauthorized,
  EnvelopeUnavailable,
  Forbidden,
  InternalError,
  InvalidRequest,
  RateLimited,
  Unauthorized,
  Unavailable
} from "../http/wireErrors.ts"
import type { Principal, Scope } from "./model.ts"

/** The verified key of the request being handled. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()(
  "sluice/platform/CurrentPrincipal"
) {}

/**
 * The scopes an endpoint asks for, of which a key must have one; none where it asks for none (docs/platform.md, 2.5).
 * The first is the one that a refusal names.
 */
export const RequiredScopes = Context.Reference<ReadonlyArray<Scope>>("sluice/platform/RequiredScopes", {
  defaultValue: () => []
})

/**
 * The number directory's: a key with the service `directory`, in `Authorization: Bearer`, `X-API-Key` or `?apiKey=`;
 * the first form present decides (docs/platform.md, 2.4).
 */
export class DirectoryAccess extends HttpApiMiddleware.Service<DirectoryAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/DirectoryAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}

/** Telco's: a key with the service `telco` (docs/platform.md, 2.5). Errors as in the directory. */
export class TelcoAccess extends HttpApiMiddleware.Service<TelcoAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/TelcoAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}

/** The webhook endpoints': a key with the endpoint's scope (docs/platform.md, 2.5), whatever its services. */
export class WebhooksAccess extends HttpApiMiddleware.Service<WebhooksAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/WebhooksAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}

/** The event log's: like the webhook endpoints', with errors in the generic envelope. */
export class EventsAccess extends HttpApiMiddleware.Service<EventsAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/EventsAccess",
  {
    error: [
      EnvelopeInvalidRequest,
      EnvelopeUnauthorized,
      EnvelopeForbidden,
      EnvelopeRateLimited,
      EnvelopeInternalError,
      EnvelopeUnavailable
    ]
  }
) {}
