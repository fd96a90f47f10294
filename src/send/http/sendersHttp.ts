/**
 * Handles the endpoints of single addresses. Needs `Senders` and `PageCursors`; the access middleware gives the
 * account.
 */
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { PageCursors } from "../../http/PageCursors.ts"
import { quote } from "../../http/parameters.ts"
import { retryAfter } from "../../http/RequestState.ts"
import type { SingleSender } from "../senders/addresses/model.ts"
import { Senders, type SenderView, type VerificationTooSoon } from "../senders/addresses/Senders.ts"
import { answerPage } from "./answerPage.ts"
import { currentAccount } from "./currentAccount.ts"
import { shownProgress } from "./domainsHttp.ts"
import {
  available,
  SendConflict,
  SendIdempotencyConflict,
  SendInvalidRequest,
  SendNotFound,
  SendUnavailable,
  VerificationTooSoonError
} from "./sendErrors.ts"
import { SendSendersApi } from "./sendersApi.ts"

const iso = (at: number): string => new Date(at).toISOString()

const listed = ({ createdAt, email, id, status, verifiedAt }: SingleSender) => ({
  id,
  email,
  status,
  created_at: iso(createdAt),
  verified_at: verifiedAt === null ? null : iso(verifiedAt)
})

const shown = ({ sender, ...standing }: SenderView) => ({
  object: "sender" as const,
  ...listed(sender),
  ...shownProgress(standing)
})

const notFound = ({ message }: { readonly message: string }) => Effect.fail(SendNotFound.of(message))
const conflict = ({ message }: { readonly message: string }) => Effect.fail(SendConflict.of(message))

const tooSoon = ({ retryAfterMillis }: VerificationTooSoon) =>
  Effect.andThen(
    retryAfter(retryAfterMillis),
    Effect.fail(
      VerificationTooSoonError.of(
        `The address was mailed less than five minutes ago. Retry after ${Math.ceil(retryAfterMillis / 1000)} s.`
      )
    )
  )

export const layerSendSenders = HttpApiBuilder.group(
  baseApi.add(SendSendersApi),
  "sendSenders",
  Effect.fn(function* (handlers) {
    const senders = yield* Senders
    const paged = Effect.provideService(PageCursors, yield* PageCursors)
    return handlers.handleAll({
      create: ({ headers, payload: { email } }) =>
        Effect.gen(function* () {
          const account = yield* currentAccount
          const request = idempotentRequest(headers["idempotency-key"], { operation: "createSender", email })
          const { isReplayed, view } = yield* senders.create(account, email, request)
          return HttpApiSchema.withHeaders({
            body: shown(view),
            headers: isReplayed ? { "idempotency-replayed": "true" } : {}
          })
        }).pipe(
          available,
          Effect.catchTags({
            AddressInvalid: ({ given }) =>
              Effect.fail(
                SendInvalidRequest.of(
                  `Invalid field 'email': ${quote(given)}. Expected an address, such as ann@example.com.`
                )
              ),
            SenderConflict: conflict,
            IdempotencyConflict: ({ message }) => Effect.fail(SendIdempotencyConflict.of(message)),
            VerificationTooSoon: tooSoon,
            VerificationMailFailed: () =>
              Effect.fail(SendUnavailable.of("The link cannot be mailed right now; the request is safe to repeat"))
          })
        ),

      list: ({ query }) =>
        Effect.gen(function* () {
          const account = yield* currentAccount
          const page = yield* answerPage(`sendSenders ${account.organizationId} ${account.mode}`, query, {
            placeOf: (id) =>
              Effect.map(
                Effect.catchTag(senders.find(account, id), "SenderNotFound", () => Effect.succeed(undefined)),
                (sender) => sender?.createdAt
              ),
            page: (beyond, limit) => senders.page(account, beyond, limit),
            at: ({ createdAt, id }) => ({ at: createdAt, id })
          })
          const tiers = yield* senders.tiers(page.data)
          const data = page.data.map((one, at) => ({ ...listed(one), tier: tiers[at] ?? null }))
          return { object: "list" as const, ...page, data }
        }).pipe(paged, available),

      get: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => senders.get(account, params.id)).pipe(
          Effect.map(shown),
          available,
          Effect.catchTags({ SenderNotFound: notFound })
        ),

      delete: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => senders.remove(account, params.id)).pipe(
          Effect.as({ object: "sender" as const, id: params.id, deleted: true as const }),
          available,
          Effect.catchTags({ SenderNotFound: notFound, SenderConflict: conflict })
        )
    })
  })
)
