/**
 * Describes single addresses as senders as an HttpApi group (docs/platform.md, 9.14). Definitions only:
 * `sendersHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { SendAccess } from "../../platform/access.ts"
import { senderStatuses } from "../senders/addresses/model.ts"
import { pageOf, pageQuery } from "./answerPage.ts"
import { idempotent, listedTier, once, standing } from "./domainsApi.ts"
import { idParameter } from "./idParameter.ts"
import {
  SendConflict,
  SendIdempotencyConflict,
  SendInvalidRequest,
  SendNotFound,
  SendUnavailable,
  VerificationTooSoonError
} from "./sendErrors.ts"

const Timestamp = Schema.String.annotate({ description: "ISO 8601" })

const listed = {
  id: Schema.String.annotate({ description: "snd_…" }),
  email: Schema.String.annotate({
    description: "In lower case, its domain in punycode",
    examples: ["ann@example.com"]
  }),
  status: Schema.Literals(senderStatuses),
  created_at: Timestamp,
  verified_at: Schema.NullOr(Timestamp)
}

const ListedSender = Schema.Struct({ ...listed, ...listedTier }).annotate({ identifier: "ListedSendSender" })

export const SendSenderShown = Schema.Struct({ object: Schema.Literal("sender"), ...listed, ...standing }).annotate({
  identifier: "SendSender"
})

const create = HttpApiEndpoint.post("create", "/v1/send/senders", {
  headers: idempotent,
  payload: Schema.Struct({
    email: Schema.String.annotate({ description: "An address without a name", examples: ["ann@example.com"] })
  }).annotate({ identifier: "CreateSendSender" }),
  success: once(SendSenderShown, 201),
  error: [SendInvalidRequest, SendConflict, SendIdempotencyConflict, VerificationTooSoonError, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Mail a link to an address",
    description:
      "Who opens the link and says yes lets the account send from the address. Ask again for another link; one mail per address in five minutes."
  })
)

const list = HttpApiEndpoint.get("list", "/v1/send/senders", {
  query: pageQuery,
  success: pageOf(ListedSender),
  error: [SendInvalidRequest, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List addresses, newest first",
    description: "The single sender addresses of the key's mode, with their states."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/send/senders/:id", {
  params: { id: idParameter },
  success: SendSenderShown,
  error: [SendInvalidRequest, SendNotFound, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get an address and its standing",
    description: "One sender address: whether it is verified, and how much it may send."
  })
)

const remove = HttpApiEndpoint.delete("delete", "/v1/send/senders/:id", {
  params: { id: idParameter },
  success: Schema.Struct({ object: Schema.Literal("sender"), id: Schema.String, deleted: Schema.Literal(true) }),
  error: [SendInvalidRequest, SendNotFound, SendConflict, SendUnavailable]
}).annotateMerge(
  OpenApi.annotations({ summary: "Delete an address", description: "409 while mail of it is held or scheduled." })
)

/** All endpoints of single addresses. */
export class SendSendersApi extends HttpApiGroup.make("sendSenders")
  .add(create, list, get, remove)
  .middleware(SendAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Send: addresses",
      description:
        "Single addresses from which an organization sends where their domain is not verified. A key sees those of its own mode."
    })
  ) {}
