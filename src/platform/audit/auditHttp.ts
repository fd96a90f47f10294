/** Handles the audit log (docs/platform.md, 2.11). Needs `AuditLog`; the access middleware gives the principal. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { defaultCursorPageSize, type InvalidCursor } from "../../http/PageCursors.ts"
import { EnvelopeInvalidRequest, type EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { CurrentPrincipal } from "../access.ts"
import { databaseAway } from "../answeredInTime.ts"
import { AuditLog, type AuditPage, type AuditPageOptions } from "./AuditLog.ts"
import { AuditApi } from "./auditApi.ts"

/** A page of entries, with the errors that its endpoints describe. */
export const auditPage = (
  audit: AuditLog["Service"],
  options: Omit<AuditPageOptions, "limit"> & { readonly limit?: number | undefined }
): Effect.Effect<AuditPage, EnvelopeInvalidRequest | EnvelopeUnavailable> =>
  Effect.catchTags(audit.list({ ...options, limit: options.limit ?? defaultCursorPageSize }), {
    InvalidCursor: (_: InvalidCursor) =>
      Effect.fail(EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave.")),
    SqlError: databaseAway
  })

export const layerAudit = HttpApiBuilder.group(
  baseApi.add(AuditApi),
  "audit",
  Effect.fn(function* (handlers) {
    const audit = yield* AuditLog
    return handlers.handleAll({
      list: ({ query }) =>
        Effect.flatMap(CurrentPrincipal, ({ mode, organizationId }) =>
          auditPage(audit, { ...query, mode, organizationId })
        )
    })
  })
)
