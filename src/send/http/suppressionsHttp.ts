/**
 * Handles the endpoints of the suppression list. Needs `SuppressionList` and `PageCursors`; the access middleware gives
 * the account.
 */
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { PageCursors } from "../../http/PageCursors.ts"
import { quote } from "../../http/parameters.ts"
import { SuppressionInvalid, SuppressionList, SuppressionNotFound } from "../account/suppressions/SuppressionList.ts"
import type { Origin, Suppression } from "../account/suppressions/suppression.ts"
import { answerPage } from "./answerPage.ts"
import { csvAnswer } from "./csvExport.ts"
import { currentAccount } from "./currentAccount.ts"
import { available, SendIdempotencyConflict, SendInvalidRequest, SendNotFound } from "./sendErrors.ts"
import { SendSuppressionsApi } from "./suppressionsApi.ts"
import { makeSuppressionsCsv } from "./suppressionsCsv.ts"

const object = "suppression" as const

const listed = ({ createdAt, ...suppression }: Suppression) => ({
  ...suppression,
  // The facts of a bounce do not say in which report it came.
  source_id: null,
  created_at: new Date(createdAt).toISOString()
})

const invalid = ({ given }: SuppressionInvalid) =>
  Effect.fail(
    SendInvalidRequest.of(
      `Invalid address ${quote(given)}. Expected one such as bob@example.com, and none of the simulator.`
    )
  )
const notFound = ({ message }: SuppressionNotFound) => Effect.fail(SendNotFound.of(message))

/** Makes the handler that writes a list as CSV. */
const makeExport = (list: SuppressionList["Service"]) => {
  const csv = makeSuppressionsCsv(list)
  return ({ query: { origin } }: { readonly query: { readonly origin?: Origin | undefined } }) =>
    available(
      csvAnswer(
        "suppressions.csv",
        Effect.flatMap(currentAccount, (account) => csv(account, origin))
      )
    )
}

const onlyOne = SendInvalidRequest.of("Give 'emails' or 'ids', and one of them.")

export const layerSendSuppressions = HttpApiBuilder.group(
  baseApi.add(SendSuppressionsApi),
  "sendSuppressions",
  Effect.fn(function* (handlers) {
    const list = yield* SuppressionList
    const paged = Effect.provideService(PageCursors, yield* PageCursors)
    const add = <A>(
      operation: string,
      key: string | undefined,
      emails: ReadonlyArray<string>,
      bodyOf: (added: ReadonlyArray<{ readonly object: typeof object; readonly id: string }>) => A
    ) =>
      Effect.flatMap(currentAccount, (account) =>
        list.add(account, emails, { request: idempotentRequest(key, { operation, emails }) })
      ).pipe(
        Effect.map(({ ids, isReplayed }) => ({
          body: bodyOf(ids.map((id) => ({ object, id }))),
          headers: isReplayed ? { "idempotency-replayed": "true" } : {}
        })),
        Effect.map(HttpApiSchema.withHeaders),
        // The answer that is remembered is of a few bytes.
        Effect.catchTag("ReplyTooLarge", Effect.die),
        available,
        Effect.catchTags({
          SuppressionInvalid: invalid,
          IdempotencyConflict: ({ message }) => Effect.fail(SendIdempotencyConflict.of(message))
        })
      )
    const remove = (idsOrEmails: ReadonlyArray<string>) =>
      Effect.flatMap(currentAccount, (account) => list.remove(account, idsOrEmails)).pipe(
        Effect.map((removed) => removed.map((one) => ({ object, ...one }))),
        available,
        Effect.catchTags({ SuppressionInvalid: invalid })
      )
    return handlers.handleAll({
      add: ({ headers, payload }) =>
        add("addSuppression", headers["idempotency-key"], [payload.email], ([one]) => one!),
      addBatch: ({ headers, payload }) =>
        add("addSuppressions", headers["idempotency-key"], payload.emails, (data) => ({ data })),
      delete: ({ params: { idOrEmail } }) =>
        Effect.flatMap(remove([idOrEmail]), ([one]) =>
          one!.deleted
            ? Effect.succeed({ ...one!, deleted: true as const })
            : notFound(new SuppressionNotFound({ idOrEmail }))
        ),
      removeBatch: ({ payload: { emails, ids } }) => {
        if ((emails === undefined) === (ids === undefined)) return Effect.fail(onlyOne)
        // The list would take it for an id.
        const given = emails?.find((one) => !one.includes("@"))
        return given === undefined
          ? Effect.map(remove(emails ?? ids ?? []), (data) => ({ data }))
          : invalid(new SuppressionInvalid({ given }))
      },
      get: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => list.get(account, params.idOrEmail)).pipe(
          Effect.map((suppression) => ({ object, ...listed(suppression) })),
          available,
          Effect.catchTags({ SuppressionNotFound: notFound })
        ),
      export: makeExport(list),
      list: ({ query: { origin, ...query } }) =>
        Effect.gen(function* () {
          const account = yield* currentAccount
          const name = `sendSuppressions ${account.organizationId} ${account.mode} ${origin ?? ""}`
          const page = yield* answerPage(name, query, {
            placeOf: (id) =>
              Effect.map(
                Effect.catchTag(list.get(account, id), "SuppressionNotFound", () => Effect.succeed(undefined)),
                (found) => found?.createdAt
              ),
            page: (beyond, limit) => list.page(account, origin, beyond, limit),
            at: ({ createdAt, id }) => ({ at: createdAt, id })
          })
          return { object: "list" as const, ...page, data: page.data.map(listed) }
        }).pipe(paged, available)
    })
  })
)
