/** Handles the request log (docs/platform.md, 2.12). Needs `RequestLog`; the access middleware gives the principal. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { defaultCursorPageSize, type InvalidCursor } from "../../http/PageCursors.ts"
import { quote } from "../../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeNotFound, type EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { CurrentPrincipal } from "../access.ts"
import { databaseAway } from "../answeredInTime.ts"
import {
  type RequestDetail,
  RequestLog,
  type RequestNotFound,
  type RequestPage,
  type RequestPageOptions,
  type RequestsOwner
} from "./RequestLog.ts"
import { RequestsApi } from "./requestsApi.ts"

/** The filters of a list, as a request gives them. */
export interface RequestsQuery extends Omit<RequestPageOptions, "limit" | "mode" | "organizationId" | "status"> {
  readonly limit?: number | undefined
  /** Such as 422 or 4xx. */
  readonly status?: string | undefined
}

/** A page of requests, with the errors that its endpoints describe. */
export const requestsPage = (
  log: RequestLog["Service"],
  owner: RequestsOwner,
  { limit = defaultCursorPageSize, status, ...filter }: RequestsQuery
): Effect.Effect<RequestPage, EnvelopeInvalidRequest | EnvelopeUnavailable> =>
  Effect.catchTags(
    log.list({ ...filter, ...owner, limit, status: status === undefined ? undefined : Number.parseInt(status, 10) }),
    {
      InvalidCursor: (_: InvalidCursor) =>
        Effect.fail(
          EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave.")
        ),
      SqlError: databaseAway
    }
  )

/** A request, with the errors that its endpoints describe. */
export const requestDetail = (
  log: RequestLog["Service"],
  owner: RequestsOwner,
  id: string
): Effect.Effect<RequestDetail, EnvelopeNotFound | EnvelopeUnavailable> =>
  Effect.catchTags(log.get(owner, id), {
    RequestNotFound: (error: RequestNotFound) => Effect.fail(EnvelopeNotFound.of(`No request ${quote(error.id)}.`)),
    SqlError: databaseAway
  })

const ownerOf = ({ mode, organizationId }: RequestsOwner): RequestsOwner => ({ mode, organizationId })

export const layerRequests = HttpApiBuilder.group(
  baseApi.add(RequestsApi),
  "requests",
  Effect.fn(function* (handlers) {
    const log = yield* RequestLog
    return handlers.handleAll({
      list: ({ query }) =>
        Effect.flatMap(CurrentPrincipal, (principal) => requestsPage(log, ownerOf(principal), query)),
      get: ({ params }) =>
        Effect.flatMap(CurrentPrincipal, (principal) => requestDetail(log, ownerOf(principal), params.id))
    })
  })
)
