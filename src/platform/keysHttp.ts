/**
 * Handles an organization's own keys (docs/platform.md, 2.10). A key cannot create, rotate or revoke one with more
 * rights than its own. Needs `ApiKeys`, `IdempotentRequests` and `SqlClient`; the access middleware gives the
 * principal.
 */
import { Clock, Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { SqlClient, type SqlError } from "effect/sql"
import { baseApi } from "../http/baseApi.ts"
import { idempotentRequest } from "../http/idempotency.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import {
  EnvelopeConflict,
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeStateConflict
} from "../http/wireErrors.ts"
import { type ApiKeyNotFound, ApiKeys, type NewApiKey } from "./ApiKeys.ts"
import { CurrentPrincipal } from "./access.ts"
import { answeredInTime } from "./answeredInTime.ts"
import { IdempotentRequests, type Keep } from "./IdempotentRequests.ts"
import { defaultOverlapSeconds, KeysApi } from "./keysApi.ts"
import { type ApiKey, lackOf, ownerOf, type Principal, type Rights } from "./model.ts"

/** Refuses a key with rights that the caller lacks: the caller may neither create nor end such a key. */
const allowed = (principal: Principal, rights: Rights): Effect.Effect<void, EnvelopeForbidden> => {
  const lack = lackOf(principal, rights)
  return lack === undefined
    ? Effect.void
    : EnvelopeForbidden.of(`A key cannot give or take what it does not have itself: this one lacks ${lack}.`)
}

/** The end of a new key, in Unix milliseconds: at most that of the key that creates it; null for none. */
const endOf = (principal: Principal, wanted: number | null | undefined, now: number) => {
  // Keys created in the console outlive the session.
  const latest = principal.session === undefined ? principal.expiresAtMillis : principal.session.keyEndsAtMillis
  if (wanted === undefined) return Effect.succeed(latest)
  if (wanted !== null && wanted <= now)
    return EnvelopeInvalidRequest.of("Invalid field 'expiresAt'. Expected a time to come.")
  if (latest !== null && (wanted === null || wanted > latest))
    return EnvelopeForbidden.of(`A key cannot give what it does not have itself: this one ends at ${latest}.`)
  return Effect.succeed(wanted)
}

type Created = ApiKey & { readonly key: string }

const available = answeredInTime("it is safe to repeat")

type Refused = EnvelopeForbidden | EnvelopeInvalidRequest | EnvelopeStateConflict | ApiKeyNotFound

/** Makes the functions that create keys. Each does so in one transaction with its records. */
const makeMaking = Effect.gen(function* () {
  const apiKeys = yield* ApiKeys
  const requests = yield* IdempotentRequests
  const sql = yield* SqlClient.SqlClient

  const made = ({ organizationId }: Principal, key: NewApiKey) =>
    apiKeys.create(organizationId, key).pipe(
      // Without an idempotency key in the table every creation shows its text, and the calling key belongs to its
      // organization.
      Effect.map(({ apiKey, key: text }): Created => ({ ...apiKey, key: text! })),
      Effect.catchTags({ OrganizationNotFound: Effect.die, IdempotencyConflict: Effect.die })
    )

  return {
    /** Creates a key once, and keeps its answer in the same transaction: the text itself is stored nowhere else. */
    once: (
      principal: Principal,
      idempotencyKey: string | undefined,
      asked: object,
      make: Effect.Effect<Created, Refused | SqlError.SqlError>
    ) =>
      requests
        .once(ownerOf(principal), idempotentRequest(idempotencyKey, asked), {
          choose: () => null,
          act: (_chosen: null, keep: Keep<Created>) => sql.withTransaction(Effect.tap(make, keep)),
          isRejection: () => true
        })
        .pipe(
          Effect.map(({ answer, isReplayed }) =>
            HttpApiSchema.withHeaders({ body: answer, headers: isReplayed ? { "idempotency-replayed": "true" } : {} })
          ),
          Effect.catchTags({
            IdempotencyConflict: ({ message }) => Effect.fail(EnvelopeConflict.of(message)),
            RequestUnderWay: ({ message }) => Effect.fail(EnvelopeStateConflict.of(message))
          })
        ),

    create: Effect.fnUntraced(function* (
      principal: Principal,
      payload: Rights & { readonly name?: string | null; readonly expiresAt?: number | null }
    ): Effect.fn.Return<Created, Refused | SqlError.SqlError> {
      const expiresAtMillis = yield* endOf(principal, payload.expiresAt, yield* Clock.currentTimeMillis)
      const { name = null, scopes, services } = payload
      return yield* made(principal, { name, mode: principal.mode, services, scopes, expiresAtMillis })
    }),

    rotate: Effect.fnUntraced(function* (
      principal: Principal,
      id: string,
      overlapSeconds: number
    ): Effect.fn.Return<Created, Refused | SqlError.SqlError> {
      const old = yield* apiKeys.get(principal.organizationId, principal.mode, id)
      const now = yield* Clock.currentTimeMillis
      if (!old.active || (old.expiresAt !== null && old.expiresAt <= now))
        return yield* EnvelopeStateConflict.of("The key has ended, and has no successor.")
      const { name, scopes, services } = old
      const expiresAtMillis = yield* endOf(principal, old.expiresAt, now)
      const successor = yield* made(principal, { name, mode: old.mode, services, scopes, expiresAtMillis })
      yield* overlapSeconds === 0 ? apiKeys.revoke(id) : apiKeys.endBy(id, now + overlapSeconds * 1_000)
      return successor
    })
  }
})

const notFound = ({ message }: ApiKeyNotFound) => Effect.fail(EnvelopeNotFound.of(message))
const invalidCursor = () =>
  Effect.fail(EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave."))

export const layerKeys = HttpApiBuilder.group(
  baseApi.add(KeysApi),
  "ownKeys",
  Effect.fn(function* (handlers) {
    const apiKeys = yield* ApiKeys
    const { create, once, rotate } = yield* makeMaking
    /** Acts on a key of the organization, within the rights of the caller. */
    const within = <A, E, R>(id: string, act: (principal: Principal) => Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        yield* allowed(principal, yield* apiKeys.get(principal.organizationId, principal.mode, id))
        return yield* act(principal)
      })
    return handlers.handleAll({
      list: ({ query: { cursor, limit = defaultCursorPageSize } }) =>
        Effect.flatMap(CurrentPrincipal, ({ mode, organizationId }) =>
          apiKeys.list({ organizationId, mode, limit, cursor })
        ).pipe(available, Effect.catchTags({ OrganizationNotFound: Effect.die, InvalidCursor: invalidCursor })),
      create: ({ headers, payload }) =>
        Effect.flatMap(
          CurrentPrincipal,
          (principal) =>
            // Before a repeat too: its answer has the text of the key.
            Effect.andThen(
              allowed(principal, payload),
              once(principal, headers["idempotency-key"], { operation: "key", ...payload }, create(principal, payload))
            )
          // No key is looked up.
        ).pipe(available, Effect.catchTag("ApiKeyNotFound", Effect.die)),
      rotate: ({ headers, params: { id }, payload: { overlapSeconds = defaultOverlapSeconds } }) =>
        within(id, (principal) =>
          once(
            principal,
            headers["idempotency-key"],
            { operation: "rotate key", id, overlapSeconds },
            rotate(principal, id, overlapSeconds)
          )
        ).pipe(available, Effect.catchTag("ApiKeyNotFound", notFound)),
      revoke: ({ params: { id } }) =>
        within(id, () => apiKeys.revoke(id)).pipe(available, Effect.catchTag("ApiKeyNotFound", notFound))
    })
  })
)
