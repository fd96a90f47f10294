/**
 * Serves the page behind `List-Unsubscribe` (docs/platform.md, 9.15). A POST removes the recipient, with no session, no
 * redirect and no question (RFC 8058). A GET, which programs make on their own, only shows a button. Needs
 * `SuppressionList` and `HttpRouter`.
 */
import { Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { SecretsKeys } from "../../common/secretsKeys.ts"
import type { Page } from "../../http/server.ts"
import { SuppressionList } from "../account/suppressions/SuppressionList.ts"
import { readUnsubscribeToken, type Unsubscription, unsubscribePath } from "../feedback/unsubscribe/unsubscribeLink.ts"
import { escaped, htmlPage } from "./htmlPage.ts"

const page = (status: number, body: string) => htmlPage("Unsubscribe", status, body)

const notGood = page(404, "<h1>This link is not good</h1><p>Please use the whole link of the mail.</p>")

const unavailable = page(503, "<h1>This cannot be done right now</h1><p>Please try again in a moment.</p>")

const ask = ({ address }: Unsubscription, action: string) =>
  page(
    200,
    `<h1>Stop this mail?</h1><p>${escaped(address)} gets no more mail from this sender then.</p>
<form method="post" action="${escaped(action)}"><button>Unsubscribe</button></form>`
  )

const done = ({ address }: Unsubscription) =>
  page(200, `<h1>Unsubscribed</h1><p>${escaped(address)} gets no more mail from this sender.</p>`)

const layer = (keys: SecretsKeys) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const list = yield* SuppressionList
      const withLink = (answer: (link: Unsubscription, action: string) => Effect.Effect<ReturnType<typeof page>>) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
          const token = URL.parse(url, "http://localhost")?.searchParams.get("token") ?? ""
          const link = readUnsubscribeToken(keys, token)
          return link === undefined ? Effect.succeed(notGood) : answer(link, `${unsubscribePath}?token=${token}`)
        })
      yield* router.add(
        "GET",
        unsubscribePath,
        withLink((link, action) => Effect.succeed(ask(link, action)))
      )
      yield* router.add(
        "POST",
        unsubscribePath,
        withLink((link) =>
          Effect.matchCauseEffect(list.add(link, [link.address], { reason: "unsubscribed" }), {
            onSuccess: () => Effect.succeed(done(link)),
            onFailure: (cause) =>
              Effect.as(Effect.logWarning("a recipient could not be unsubscribed", cause), unavailable)
          })
        )
      )
    })
  )

/** The page, for the listener of the public API. */
export const unsubscribePage = (keys: Redacted.Redacted<SecretsKeys>): Effect.Effect<Page, never, SuppressionList> =>
  Effect.map(SuppressionList, (list) => ({
    path: unsubscribePath,
    methods: ["GET", "POST"] as const,
    layer: layer(Redacted.value(keys)).pipe(Layer.provide(Layer.succeed(SuppressionList, list)))
  }))
