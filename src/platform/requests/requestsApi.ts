/**
 * Describes the request log as an HttpApi group (docs/platform.md, 2.12). Definitions only; `requestsHttp.ts` implements
 * them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { KeysAccess, LeftOutOfRequestLog, RequiredScopes } from "../access.ts"

const nullable = (description: string) => Schema.NullOr(Schema.String).annotate({ description })

const fields = {
  id: Schema.String.annotate({ description: "rq_…" }),
  at: Schema.Int.annotate({ description: "When it was answered, milliseconds since the Unix epoch" }),
  mode: Schema.Literals(["live", "test"]).annotate({ description: "The mode of its key" }),
  keyId: Schema.String.annotate({ description: "key_…" }),
  method: Schema.String,
  path: Schema.String.annotate({
    description: "Without its query. Ids stay; every other parameter shows as its name, such as {tn}"
  }),
  route: Schema.String.annotate({ description: "The endpoint's path, such as /v1/send/emails/{id}" }),
  status: Schema.Int,
  code: nullable("The code of a failure, where its answer has one"),
  durationMillis: Schema.Int.annotate({ description: "Milliseconds from its arrival to its answer" }),
  requestId: Schema.String.annotate({ description: "The X-Request-Id of its answer" }),
  address: nullable("The network address that it came from"),
  count: Schema.Int.annotate({
    description: "How many requests of that second it stands for: 1, unless more came than are kept"
  })
}

export const LoggedRequestShown = Schema.Struct(fields).annotate({ identifier: "LoggedRequest" })

export const RequestDetailShown = Schema.Struct({
  ...fields,
  requestBody: nullable(
    "Of a failed request, where it was read: its shape, with the values of harmless fields; at most 2,048 bytes"
  ),
  answerBody: nullable("Of a failed request: without the values that it repeated; at most 2,048 bytes"),
  facts: Schema.NullOr(Schema.JsonObject).annotate({
    description: "Of a request to send that the rules refused: the things that they decided by"
  })
}).annotate({ identifier: "RequestDetail" })

export const RequestsPage = Schema.Struct({
  data: Schema.Array(LoggedRequestShown),
  pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
}).annotate({ identifier: "RequestsPage" })

const pattern = (expression: RegExp, message: string, description: string) =>
  Schema.optional(Schema.String.check(Schema.isPattern(expression, { message }))).annotate({ description })

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

/** The filters and the page of a list of requests. */
export const requestsQuery = {
  method: Schema.optional(Schema.Literals(["GET", "POST", "PUT", "PATCH", "DELETE"])).annotate({
    description: "Requests of this method alone"
  }),
  path: pattern(
    /^\/[^\s?#]{0,199}$/,
    "Expected a path of at most 200 characters, beginning with a slash",
    "Requests of this path alone: an endpoint's, such as /v1/send/emails/{id}, or one with the id itself"
  ),
  status: pattern(
    /^[1-5](?:\d\d|xx)$/,
    "Expected a status such as 422, or a class such as 4xx",
    "Requests answered by this status alone, such as 422, or by a class of them, such as 4xx"
  ),
  key: pattern(/^key_[A-Za-z0-9]{1,64}$/, "Expected the id of a key", "Requests of this key alone: key_…"),
  requestId: pattern(
    /^[A-Za-z0-9._:-]{1,128}$/,
    "Expected an X-Request-Id",
    "Requests with this X-Request-Id; callers may give the same one to several"
  ),
  since: time("Requests from this time on, milliseconds since the Unix epoch"),
  until: time("Requests before this time, milliseconds since the Unix epoch"),
  limit: Schema.optional(integerParameter(1, maximumPageSize)),
  cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
}

/** The id of a request in a path. */
export const recordId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_]{1,64}$/, { message: "Expected an id of letters, digits and underscores" })
)

const list = HttpApiEndpoint.get("list", "/v1/requests", {
  query: requestsQuery,
  success: RequestsPage,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List requests, newest first",
    description:
      "The requests of the organization's keys of the mode of the key that asks, within a second or two after their answers. Kept for seven days. Of many in a second a random choice is kept."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/requests/:id", {
  params: { id: recordId },
  success: RequestDetailShown,
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get a request",
    description: "With the bodies of a failed one: without secrets, addresses, contents of mail and numbers."
  })
)

/** The endpoints of the request log. */
export class RequestsApi extends HttpApiGroup.make("requests")
  .add(list, get)
  .middleware(KeysAccess)
  .annotateEndpoints(RequiredScopes, ["platform:requests:read"])
  .annotateEndpoints(LeftOutOfRequestLog, true)
  .annotateMerge(OpenApi.annotations({ title: "Requests", description: "The requests of an organization's keys." })) {}
