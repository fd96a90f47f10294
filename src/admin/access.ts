/** Checks the credential that the admin API requires (docs/platform.md, 8.3). */
import { HttpApiMiddleware } from "effect/http-api"
import { EnvelopeUnauthorized, EnvelopeUnavailable } from "../http/wireErrors.ts"

/** Requires the admin credential. */
export class AdminAccess extends HttpApiMiddleware.Service<AdminAccess>()("sluice/admin/AdminAccess", {
  error: [EnvelopeUnauthorized, EnvelopeUnavailable]
}) {}
