/** Handles requests to the admin API's group for members. Needs `Members` and `AdminActs`. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { EnvelopeStateConflict } from "../http/wireErrors.ts"
import { type MemberConflict, Members } from "../platform/people/Members.ts"
import { invitedShown, tooManyLinks } from "../platform/people/membersHttp.ts"
import { AdminActs } from "./AdminActs.ts"
import { AdminApi } from "./adminApi.ts"
import { notFound, unavailable } from "./failures.ts"

const stateConflict = ({ message }: MemberConflict) => Effect.fail(EnvelopeStateConflict.of(message))

export const layerAdminMembers = HttpApiBuilder.group(
  AdminApi,
  "members",
  Effect.fn(function* (handlers) {
    const members = yield* Members
    const acts = yield* AdminActs
    return handlers.handleAll({
      list: ({ params }) =>
        members.list(params.id).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTags({ OrganizationNotFound: (error) => Effect.fail(notFound(error)), SqlError: unavailable })
        ),
      invite: ({ params, payload: { email, role } }) =>
        members.invite(params.id, email.toLowerCase(), role).pipe(
          Effect.tap(({ member }) => acts.record("member.invited", member.id, { role }, params.id)),
          Effect.map(invitedShown),
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            MemberConflict: stateConflict,
            TooManyLinks: tooManyLinks,
            SqlError: unavailable
          })
        ),
      remove: ({ params: { id } }) =>
        Effect.gen(function* () {
          const organization = yield* members.organizationOf(id)
          const { member } = yield* members.remove(organization, id)
          yield* acts.record("member.removed", id, {}, organization)
          return member
        }).pipe(
          Effect.catchTags({
            OrganizationNotFound: (error) => Effect.fail(notFound(error)),
            MemberNotFound: (error) => Effect.fail(notFound(error)),
            MemberConflict: stateConflict,
            SqlError: unavailable
          })
        )
    })
  })
)
