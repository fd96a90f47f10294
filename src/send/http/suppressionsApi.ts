/**
 * Describes the suppression list as an HttpApi group (docs/platform.md, 9.15), with the paths and fields of Resend's
 * API. Definitions only: `suppressionsHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { SendAccess } from "../../platform/access.ts"
import { origins } from "../account/suppressions/suppression.ts"
import { maximumEmails } from "../limits.ts"
import { pageOf, pageQuery } from "./answerPage.ts"
import { idempotent, once } from "./domainsApi.ts"
import {
  SendIdempotencyConflict,
  SendInvalidRequest,
  SendNotFound,
  SendRateLimited,
  SendUnavailable
} from "./sendErrors.ts"

const idOrEmail = Schema.String.check(
  Schema.isPattern(/^[^\s\p{Cc}\p{Cs}]{1,320}$/u, { message: "Expected an id of the list, or an address" })
)

const suppressionId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { message: "Expected an id of the list" })
)

const email = Schema.String.annotate({ description: "An address without a name", examples: ["bob@example.com"] })
const origin = Schema.Literals(origins).annotate({ message: `Expected one of ${origins.join(", ")}` })

const several = <S extends Schema.Top & { readonly Type: string }>(item: S) =>
  Schema.Array(item).check(
    Schema.isMinLength(1, { message: `Expected 1 to ${maximumEmails} of them` }),
    Schema.isMaxLength(maximumEmails, { message: `Expected 1 to ${maximumEmails} of them` })
  )

const listed = {
  id: Schema.String.annotate({ description: "sup_…" }),
  email: Schema.String.annotate({ description: "In lower case, its domain in punycode" }),
  origin,
  source_id: Schema.NullOr(Schema.String).annotate({ description: "Always null" }),
  created_at: Schema.String.annotate({ description: "ISO 8601" })
}

const Listed = Schema.Struct(listed).annotate({ identifier: "ListedSendSuppression" })
export const SendSuppression = Schema.Struct({ object: Schema.Literal("suppression"), ...listed }).annotate({
  identifier: "SendSuppression"
})

const Added = Schema.Struct({ object: Schema.Literal("suppression"), id: Schema.String }).annotate({
  identifier: "AddedSendSuppression"
})
const Removed = Schema.Struct({
  object: Schema.Literal("suppression"),
  id: Schema.String,
  deleted: Schema.Boolean.annotate({ description: "Whether it was on the list" })
}).annotate({ identifier: "RemovedSendSuppression" })

const add = HttpApiEndpoint.post("add", "/v1/send/suppressions", {
  headers: idempotent,
  payload: Schema.Struct({ email }).annotate({ identifier: "AddSendSuppression" }),
  success: once(Added, 201),
  error: [SendInvalidRequest, SendIdempotencyConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Suppress an address",
    description:
      "No email of the account goes there any more. One that is on the list stays as it is, and has the same id."
  })
)

const list = HttpApiEndpoint.get("list", "/v1/send/suppressions", {
  query: { ...pageQuery, origin: Schema.optional(origin) },
  success: pageOf(Listed),
  error: [SendInvalidRequest, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List suppressed addresses, newest first",
    description: "The addresses to which the account of the key's mode sends nothing, and why."
  })
)

const exported = HttpApiEndpoint.get("export", "/v1/send/suppressions/export", {
  query: { origin: Schema.optional(origin) },
  success: HttpApiSchema.StreamUint8Array({ contentType: "text/csv" }),
  error: [SendInvalidRequest, SendRateLimited, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Export the suppressed addresses as CSV",
    description:
      "A line for each address, oldest first, with `email`, `origin` and `created_at` in ISO 8601, behind a line with these names. It is written as it is read. An organization may export 2 lists concurrently, else 429."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/send/suppressions/:idOrEmail", {
  params: { idOrEmail },
  success: SendSuppression,
  error: [SendInvalidRequest, SendNotFound, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get a suppressed address by its id or itself",
    description: "Whether the account sends nothing to an address, and why; 404 if it is not on the list."
  })
)

const remove = HttpApiEndpoint.delete("delete", "/v1/send/suppressions/:idOrEmail", {
  params: { idOrEmail },
  success: Schema.Struct({ ...Removed.fields, deleted: Schema.Literal(true) }),
  error: [SendInvalidRequest, SendNotFound, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Take an address off the list",
    description: "The account may send to the address again. Another bounce puts it on the list again."
  })
)

const addBatch = HttpApiEndpoint.post("addBatch", "/v1/send/suppressions/batch/add", {
  headers: idempotent,
  payload: Schema.Struct({ emails: several(email) }).annotate({ identifier: "AddSendSuppressions" }),
  success: once(Schema.Struct({ data: Schema.Array(Added) }), 201),
  error: [SendInvalidRequest, SendIdempotencyConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({ summary: "Suppress up to 100 addresses", description: "One answer for each, in order." })
)

const removeBatch = HttpApiEndpoint.post("removeBatch", "/v1/send/suppressions/batch/remove", {
  payload: Schema.Struct({
    emails: Schema.optionalKey(several(email)),
    ids: Schema.optionalKey(several(suppressionId)).annotate({ description: "Give addresses or ids, not both" })
  }).annotate({ identifier: "RemoveSendSuppressions" }),
  success: Schema.Struct({ data: Schema.Array(Removed) }).pipe(HttpApiSchema.status(200)),
  error: [SendInvalidRequest, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Take up to 100 addresses off the list",
    description: "One answer for each, in order."
  })
)

/** All endpoints of the suppression list. */
export class SendSuppressionsApi extends HttpApiGroup.make("sendSuppressions")
  .add(add, list, exported, get, remove, addBatch, removeBatch)
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Send: suppressions",
      description:
        "Addresses that an account does not send to: those that bounced for good or complained, and those that were added. A key sees those of its own mode."
    })
  ) {}
