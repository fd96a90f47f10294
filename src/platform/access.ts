/**
 * Describes access by API key for the API: the caller's principal, and the middleware of each product before its
 * endpoints. Definitions only, so that the typed client can share them; `layerAccess.ts` implements them.
 */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  NestedForbidden,
  NestedInternalError,
  NestedInvalidRequest,
  NestedRateLimited,
  NestedUnauthorized,
  NestedUnavailable
} from "../http/nestedErrors.ts"
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
  SentenceForbidden,
  SentenceInternalError,
  SentenceInvalidRequest,
  SentenceRateLimited,
  SentenceUnauthorized,
  SentenceUnavailable,
  Unauthorized,
  Unavailable
} from "../http/wireErrors.ts"
import type { Principal, Scope } from "./model.ts"

/** The verified key of the request being handled. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()(
  "sluice/platform/CurrentPrincipal"
) {}

/**
 * The scopes of an endpoint (docs/platform.md, 2.5): a key must have one of them, or none when the list is empty. A
 * refusal names the first one.
 */
export const RequiredScopes = Context.Reference<ReadonlyArray<Scope>>("sluice/platform/RequiredScopes", {
  defaultValue: () => []
})

/**
 * Whether sessions of portals may ask an endpoint (docs/platform.md, 6.14). They may ask no other one, and its handler
 * takes what it may see from `ownerOf`.
 */
export const OpenToPortals = Context.Reference<boolean>("sluice/platform/OpenToPortals", {
  defaultValue: () => false
})

/**
 * Whether viewers may ask an endpoint that changes something (docs/platform.md, 2.13): their own session. They may ask no
 * other one.
 */
export const OpenToViewers = Context.Reference<boolean>("sluice/platform/OpenToViewers", {
  defaultValue: () => false
})

/** Whether the request log leaves an endpoint out: reading the log would fill it (docs/platform.md, 2.12). */
export const LeftOutOfRequestLog = Context.Reference<boolean>("sluice/platform/LeftOutOfRequestLog", {
  defaultValue: () => false
})

/**
 * Access to the number directory: a key with the service `directory`, in `Authorization: Bearer`, `X-API-Key` or
 * `?apiKey=`. The first form present decides (docs/platform.md, 2.4). Errors: 400, 401, 403, 429, 503.
 */
export class DirectoryAccess extends HttpApiMiddleware.Service<DirectoryAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/DirectoryAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}

/** Access to telco: a key with the service `telco` (docs/platform.md, 2.5). Errors as in the directory. */
export class TelcoAccess extends HttpApiMiddleware.Service<TelcoAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/TelcoAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}

/**
 * Access to talk: a key with the service `talk` and the required scope, errors as sentences (docs/platform.md, 10.1).
 */
export class TalkAccess extends HttpApiMiddleware.Service<TalkAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/TalkAccess",
  {
    error: [
      SentenceInvalidRequest,
      SentenceUnauthorized,
      SentenceForbidden,
      SentenceRateLimited,
      SentenceInternalError,
      SentenceUnavailable
    ]
  }
) {}

/** Access to webhook endpoints: a key with the required scope, whatever its services (docs/platform.md, 2.5). */
export class WebhooksAccess extends HttpApiMiddleware.Service<WebhooksAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/WebhooksAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}

/**
 * Access to the event log: by scope like webhook endpoints, with errors in the generic envelope (docs/platform.md,
 * 1.4).
 */
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

/** Access to billing: by scope, whatever the key's services (docs/platform.md, 11). Errors in the generic envelope. */
export class BillingAccess extends HttpApiMiddleware.Service<BillingAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/BillingAccess",
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

/**
 * Access to an organization's own keys: by scope, whatever the key's services (docs/platform.md, 2.10). Errors in the
 * generic envelope.
 */
export class KeysAccess extends HttpApiMiddleware.Service<KeysAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/KeysAccess",
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

/**
 * Access to sending: a key with the service `send` (docs/platform.md, 2.5). Errors as in the directory, in send's
 * shape. It counts against the platform's request rate, so the endpoints that accept email have an access of their own.
 */
export class SendAccess extends HttpApiMiddleware.Service<SendAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/SendAccess",
  {
    error: [
      NestedInvalidRequest,
      NestedUnauthorized,
      NestedForbidden,
      NestedRateLimited,
      NestedInternalError,
      NestedUnavailable
    ]
  }
) {}
