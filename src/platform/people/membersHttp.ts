/**
 * Handles the members of an organization (docs/platform.md, 2.13). Nobody gives, changes or removes a role with rights
 * that they lack. Needs `Members`, `IdempotentRequests` and `Authentication`; the access middleware gives the
 * principal.
 */
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { retryAfter } from "../../http/RequestState.ts"
import {
  EnvelopeConflict,
  EnvelopeForbidden,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeStateConflict,
  EnvelopeUnavailable
} from "../../http/wireErrors.ts"
import { Authentication } from "../Authentication.ts"
import { CurrentPrincipal } from "../access.ts"
import { answeredInTime } from "../answeredInTime.ts"
import { IdempotentRequests } from "../IdempotentRequests.ts"
import { lackOf, ownerOf, type Role } from "../model.ts"
import type { OrganizationNotFound } from "../Organizations.ts"
import { type Invited, type MemberConflict, type MemberNotFound, Members, type TooManyLinks } from "./Members.ts"
import { MembersApi } from "./membersApi.ts"
import { rightsOf } from "./rules.ts"

/** Refuses a role with rights that the caller lacks. */
const allowed = (role: Role): Effect.Effect<void, EnvelopeForbidden, CurrentPrincipal> =>
  Effect.flatMap(CurrentPrincipal, (principal) => {
    const lack = lackOf(principal, rightsOf[role])
    return lack === undefined
      ? Effect.void
      : EnvelopeForbidden.of(`Nobody can give or take a role with rights that they lack: of ${role} you lack ${lack}.`)
  })

/** An invitation as it is shown. */
export const invitedShown = ({ delivery, link, member }: Invited) => ({ ...member, delivery, link })

/** Says how long the next link must wait. */
export const tooManyLinks = ({ waitMillis }: TooManyLinks) => {
  const minutes = Math.ceil(waitMillis / 60_000)
  return Effect.andThen(
    retryAfter(waitMillis),
    Effect.fail(
      EnvelopeRateLimited.of(
        `So many invitations were made, or mailed to this address, that the next one must wait ${minutes} min.`
      )
    )
  )
}

const available = answeredInTime("look at the list")

const refusals = {
  // It was deleted a moment ago.
  OrganizationNotFound: (_: OrganizationNotFound) =>
    Effect.fail(EnvelopeUnavailable.of("The organization is being deleted")),
  MemberNotFound: ({ message }: MemberNotFound) => Effect.fail(EnvelopeNotFound.of(message)),
  MemberConflict: ({ message }: MemberConflict) => Effect.fail(EnvelopeStateConflict.of(message))
}

export const layerMembers = HttpApiBuilder.group(
  baseApi.add(MembersApi),
  "members",
  Effect.fn(function* (handlers) {
    const members = yield* Members
    const authentication = yield* Authentication
    const requests = yield* IdempotentRequests
    const organization = Effect.map(CurrentPrincipal, ({ organizationId }) => organizationId)
    /** The announcements may arrive after the answer, and the sessions must have their end or new rights by then. */
    const forget = (digests: ReadonlyArray<string>) => {
      for (const digest of digests) authentication.forget(digest)
    }
    const { MemberConflict, MemberNotFound, OrganizationNotFound } = refusals
    return handlers.handleAll({
      list: () =>
        Effect.flatMap(organization, members.list).pipe(
          Effect.map((data) => ({ data })),
          available,
          Effect.catchTags({ OrganizationNotFound })
        ),
      invite: ({ headers, payload: { email, role } }) =>
        Effect.gen(function* () {
          // Before a repeat too: its answer may have the link.
          yield* allowed(role)
          const principal = yield* CurrentPrincipal
          const asked = idempotentRequest(headers["idempotency-key"], { operation: "invite", email, role })
          const { answer, isReplayed } = yield* requests.once(ownerOf(principal), asked, {
            choose: () => null,
            // After a crash a repeat is told that the address is invited already.
            act: () => Effect.map(members.invite(principal.organizationId, email.toLowerCase(), role), invitedShown),
            isRejection: ({ _tag }) => _tag !== "SqlError"
          })
          const replayed = isReplayed ? { "idempotency-replayed": "true" } : {}
          return HttpApiSchema.withHeaders({ body: answer, headers: replayed })
        }).pipe(
          available,
          Effect.catchTags({
            OrganizationNotFound,
            MemberConflict,
            TooManyLinks: tooManyLinks,
            IdempotencyConflict: ({ message }) => Effect.fail(EnvelopeConflict.of(message)),
            RequestUnderWay: ({ message }) => Effect.fail(EnvelopeStateConflict.of(message))
          })
        ),
      update: ({ params: { id }, payload: { role } }) =>
        Effect.gen(function* () {
          const own = yield* organization
          yield* allowed((yield* members.get(own, id)).role)
          yield* allowed(role)
          const { changed, member } = yield* members.setRole(own, id, role)
          forget(changed)
          return member
        }).pipe(available, Effect.catchTags({ OrganizationNotFound, MemberConflict, MemberNotFound })),
      remove: ({ params: { id } }) =>
        Effect.gen(function* () {
          const own = yield* organization
          yield* allowed((yield* members.get(own, id)).role)
          const { ended, member } = yield* members.remove(own, id)
          forget(ended)
          return member
        }).pipe(available, Effect.catchTags({ OrganizationNotFound, MemberConflict, MemberNotFound })),
      resend: ({ params: { id } }) =>
        Effect.gen(function* () {
          const own = yield* organization
          yield* allowed((yield* members.get(own, id)).role)
          return invitedShown(yield* members.resend(own, id))
        }).pipe(
          available,
          Effect.catchTags({ OrganizationNotFound, MemberConflict, MemberNotFound, TooManyLinks: tooManyLinks })
        )
    })
  })
)
