/** Describes the part of the admin API for the members of organizations (docs/platform.md, 2.13). */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeStateConflict,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { InvitedShown, InviteMember, MemberList, MemberShown, memberId } from "../platform/people/membersApi.ts"
import { AdminAccess } from "./access.ts"
import { organizationId as id } from "./organizationId.ts"

export const membersGroup = HttpApiGroup.make("members")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/organizations/:id/members", {
      params: { id },
      success: MemberList,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.post("invite", "/admin/v1/organizations/:id/members", {
      params: { id },
      payload: InviteMember,
      success: InvitedShown.pipe(HttpApiSchema.status(201)),
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeStateConflict, EnvelopeRateLimited, EnvelopeUnavailable]
    }),
    HttpApiEndpoint.delete("remove", "/admin/v1/members/:id", {
      params: { id: memberId },
      success: MemberShown,
      error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeStateConflict, EnvelopeUnavailable]
    })
  )
  .middleware(AdminAccess)
  .annotateMerge(
    OpenApi.annotations({
      title: "Members",
      description: "The people of organizations. An operator invites the first owner; the last one stays."
    })
  )
