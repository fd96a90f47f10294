/**
 * Receives Stripe's notices (docs/platform.md, 11.10). Their signature is over the bytes as they came. A notice that
 * could not be processed is answered 503, and Stripe sends it again. Needs `StripeNotices` and `HttpRouter`.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ErrorCode, errorBody, errorStatus } from "../../http/errors.ts"
import type { Page } from "../../http/server.ts"
import { StripeNotices } from "../StripePayments.ts"

export const stripeNoticesPath = "/stripe/webhook"

/** How long a notice may take. Stripe waits some ten seconds more. */
const noticeTimeoutMillis = 20_000

const refused = (code: ErrorCode, message: string) =>
  HttpServerResponse.jsonUnsafe(errorBody("envelope", code, message), { status: errorStatus[code] })

const forged = refused("invalid_request", "The signature does not fit.")
const away = refused("unavailable", "The notice cannot be taken in right now; send it again.")

const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const notices = yield* StripeNotices
    const take = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      // The bytes as they came, whatever they are: what is not signed is nobody's business.
      const body = Buffer.from(yield* request.arrayBuffer)
      yield* notices.take(body, request.headers["stripe-signature"] ?? "")
      return HttpServerResponse.jsonUnsafe({ received: true })
    }).pipe(Effect.timeout(noticeTimeoutMillis))
    yield* router.add(
      "POST",
      stripeNoticesPath,
      Effect.catch(take, (error) =>
        error._tag === "NoticeForged"
          ? Effect.succeed(forged)
          : // Too large, or it did not come whole: the edge has answers for both.
            error._tag === "HttpServerError"
            ? Effect.die(error)
            : Effect.as(Effect.logWarning("A notice of Stripe's could not be taken in", error), away)
      )
    )
  })
)

/** The place for notices, for the listener of the public API, where Stripe takes payments. */
export const stripeNotices: Effect.Effect<ReadonlyArray<Page>> = Effect.map(
  Effect.serviceOption(StripeNotices),
  (found) =>
    found._tag === "None"
      ? []
      : [
          {
            path: stripeNoticesPath,
            methods: ["POST" as const],
            layer: layer.pipe(Layer.provide(Layer.succeed(StripeNotices, found.value)))
          }
        ]
)
