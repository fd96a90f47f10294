/**
 * Access by API key as the API's description sees it: who is asking, and the middleware each product puts before its
 * endpoints. Definitions only, so that the typed client can share them; `layerAccess.ts` implements them.
 */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { Forbidden, InternalError, InvalidRequest, RateLimited, Unauthorized, Unavailable } from "../http/wireErrors.ts"
import type { Principal, Scope } from "./model.ts"

/** The verified key of the request being handled. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()(
  "sluice/platform/CurrentPrincipal"
) {}

/** The scope an endpoint asks for, where it asks for one (platform-api.md, "Authentication"; decisions). */
export const RequiredScope = Context.Reference<Scope | undefined>("sluice/platform/RequiredScope", {
  defaultValue: () => undefined
})

/**
 * The number directory's: a key with the service `directory`, in `Authorization: Bearer`, `X-API-Key` or `?apiKey=`;
 * the first form present decides (number-directory.md, "Authentication").
 */
export class DirectoryAccess extends HttpApiMiddleware.Service<DirectoryAccess, { provides: CurrentPrincipal }>()(
  "sluice/platform/DirectoryAccess",
  { error: [InvalidRequest, Unauthorized, Forbidden, RateLimited, InternalError, Unavailable] }
) {}
