/**
 * Serves the page behind a mailed link (docs/platform.md, 9.14). Mail programs and scanners open links on their own, so
 * a GET only shows a button, and the POST of that button verifies the address. Needs `Senders` and `HttpRouter`.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { Page } from "../../http/server.ts"
import { tokenLength } from "../senders/addresses/limits.ts"
import { confirmationPath, Senders } from "../senders/addresses/Senders.ts"
import { escaped, htmlPage } from "./htmlPage.ts"

const page = (status: number, body: string) => htmlPage("Confirm a sender", status, body)

const notGood = page(
  404,
  "<h1>This link is not good any more</h1><p>It was used, or it is older than 24 hours. Ask for a new one.</p>"
)

const unavailable = page(503, "<h1>This cannot be done right now</h1><p>Please open the link again in a moment.</p>")

/** The token in the address; undefined for what none of ours can be. */
const tokenOf = (url: string): string | undefined => {
  const token = URL.parse(url, "http://localhost")?.searchParams.get("token") ?? ""
  return token.length === tokenLength && /^[0-9A-Za-z]+$/.test(token) ? token : undefined
}

const withToken = <E extends { readonly _tag: string }, R>(
  answer: (token: string) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const token = tokenOf(url)
    if (token === undefined) return Effect.succeed(notGood)
    return Effect.catch(answer(token), (error) =>
      error._tag === "LinkInvalid"
        ? Effect.succeed(notGood)
        : Effect.as(Effect.logWarning("A sender could not be confirmed", error), unavailable)
    )
  })

const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const senders = yield* Senders
    yield* router.add(
      "GET",
      confirmationPath,
      withToken((token) =>
        Effect.map(senders.linked(token), ({ email }) =>
          page(
            200,
            `<h1>Send from ${escaped(email)}?</h1><p>Somebody asked to send email from this address. If that was you, confirm it.</p>
<form method="post" action="${confirmationPath}?token=${token}"><button>Confirm ${escaped(email)}</button></form>`
          )
        )
      )
    )
    yield* router.add(
      "POST",
      confirmationPath,
      withToken((token) =>
        Effect.map(senders.confirm(token), ({ email }) =>
          page(200, `<h1>${escaped(email)} is confirmed</h1><p>You can close this page.</p>`)
        ).pipe(
          Effect.catchTag("SenderConflict", ({ message }) =>
            Effect.succeed(page(409, `<h1>This address cannot be confirmed</h1><p>${escaped(message)}</p>`))
          )
        )
      )
    )
  })
)

/** The page, for the listener of the public API. */
export const confirmationPage: Effect.Effect<Page, never, Senders> = Effect.map(Senders, (senders) => ({
  path: confirmationPath,
  methods: ["GET", "POST"] as const,
  layer: layer.pipe(Layer.provide(Layer.succeed(Senders, senders)))
}))
