/**
 * Defines the members of an organization as an HttpApi group (docs/platform.md, 2.13): paths, bodies, answers and
 * errors. Definitions only; `membersHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { IdempotencyKey } from "../../http/idempotency.ts"
import {
  EnvelopeConflict,
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeStateConflict,
  EnvelopeUnavailable
} from "../../http/wireErrors.ts"
import { KeysAccess, RequiredScopes } from "../access.ts"
import { roles } from "../model.ts"
import { deliveries } from "./rules.ts"

const time = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

/** The address of a person, as it is given; case does not matter. */
export const personAddress = Schema.String.check(
  Schema.isPattern(/^[^\s@<>"(),:;[\]\\\p{Cc}\p{Cs}]{1,64}@[^\s@<>"(),:;[\]\\\p{Cc}\p{Cs}]{1,190}$/u, {
    message: "Expected an email address"
  })
)

export const memberId = Schema.String.check(
  Schema.isPattern(/^mem_[A-Za-z0-9]{1,64}$/, { message: "Expected an id of a member" })
)

export const role = Schema.Literals(roles).annotate({
  description: "`owner`: everything; `developer`: all but people and the plan; `viewer`: reads"
})

/** A member, or somebody who is invited. */
export const MemberShown = Schema.Struct({
  id: Schema.String.annotate({ description: "mem_…" }),
  email: Schema.String.annotate({ description: "In lower case" }),
  role,
  state: Schema.Literals(["invited", "active"]),
  invitedAt: time,
  joinedAt: Schema.NullOr(time)
}).annotate({ identifier: "Member" })

export const MemberList = Schema.Struct({ data: Schema.Array(MemberShown) }).annotate({ identifier: "MemberList" })

export const InviteMember = Schema.Struct({ email: personAddress, role }).annotate({ identifier: "InviteMember" })

/** An invitation, and how it reached its address. */
export const InvitedShown = Schema.Struct({
  ...MemberShown.fields,
  delivery: Schema.Literals(deliveries).annotate({
    description: "`mailed`; `no_relay`: this platform mails no links; `failed`: the mail was not taken"
  }),
  link: Schema.NullOr(Schema.String).annotate({
    description:
      "Unless it was mailed: the address that accepts the invitation once. Hand it over; only this answer has it"
  })
}).annotate({ identifier: "InvitedMember" })

const list = HttpApiEndpoint.get("list", "/v1/members", {
  success: MemberList,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List members",
    description: "Members and open invitations, in the order in which they were invited."
  })
)

const invite = HttpApiEndpoint.post("invite", "/v1/members", {
  headers: { "idempotency-key": Schema.optional(IdempotencyKey) },
  payload: InviteMember,
  success: HttpApiSchema.WithHeaders(InvitedShown.pipe(HttpApiSchema.status(201)), {
    "idempotency-replayed": Schema.optional(Schema.String)
  }),
  error: [
    EnvelopeInvalidRequest,
    EnvelopeForbidden,
    EnvelopeConflict,
    EnvelopeStateConflict,
    EnvelopeRateLimited,
    EnvelopeUnavailable
  ]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Invite somebody",
    description: "Mails a link that works once, for seven days. Nobody gives a role with rights that they lack."
  })
)

const update = HttpApiEndpoint.patch("update", "/v1/members/:id", {
  params: { id: memberId },
  payload: Schema.Struct({ role }).annotate({ identifier: "ChangeMember" }),
  success: MemberShown,
  error: [EnvelopeInvalidRequest, EnvelopeForbidden, EnvelopeNotFound, EnvelopeStateConflict, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Change a role",
    description: "Open sessions have the new rights immediately. The last owner stays one."
  })
)

const remove = HttpApiEndpoint.delete("remove", "/v1/members/:id", {
  params: { id: memberId },
  success: MemberShown,
  error: [EnvelopeInvalidRequest, EnvelopeForbidden, EnvelopeNotFound, EnvelopeStateConflict, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Remove a member, or revoke an invitation",
    description: "Their sessions end immediately. Keys that they made belong to the organization and go on."
  })
)

const resend = HttpApiEndpoint.post("resend", "/v1/members/:id/resend", {
  params: { id: memberId },
  success: InvitedShown.pipe(HttpApiSchema.status(200)),
  error: [
    EnvelopeInvalidRequest,
    EnvelopeForbidden,
    EnvelopeNotFound,
    EnvelopeStateConflict,
    EnvelopeRateLimited,
    EnvelopeUnavailable
  ]
}).annotateMerge(
  OpenApi.annotations({ summary: "Send an invitation again", description: "With another link; the one before ends." })
)

/** All endpoints for the members of an organization. */
export class MembersApi extends HttpApiGroup.make("members")
  .add(list, invite, update, remove, resend)
  .middleware(KeysAccess)
  .annotateEndpoints(RequiredScopes, ["platform:people:manage"])
  .annotateMerge(
    OpenApi.annotations({
      title: "Members",
      description: "The people of an organization, who sign in to its console by links that are mailed to them."
    })
  ) {}
