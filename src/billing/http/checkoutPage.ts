/**
 * Serves the page on which a customer pays (docs/platform.md, 11.4): one form without scripts. Opening it pays nothing,
 * because mail programs and scanners open addresses on their own. Needs `BuiltInCheckouts` and `HttpRouter`.
 */
import { hash } from "node:crypto"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { Page } from "../../http/server.ts"
import { BuiltInCheckouts, type CheckoutPage, checkoutPath } from "../BuiltInCheckouts.ts"
import { moneyText } from "../money.ts"

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

const style = `:root{color-scheme:light dark;background:Canvas;color:CanvasText}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem}dd{margin:0}form{margin:1.5rem 0}
.test{border:2px solid;padding:.5rem .8rem;border-radius:.3rem}button{font:inherit;padding:.6rem 1.2rem;border:2px solid;border-radius:.3rem;cursor:pointer}:focus-visible{outline:3px solid Highlight;outline-offset:2px}`

/** Forbids to keep, frame or share anything of the page: its address is the secret. It may use only its one style. */
const headers = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** `next`: where the browser goes on by itself. A redirect of the form's answer would be stopped by its own policy. */
const page = (status: number, title: string, body: string, next?: string) =>
  HttpServerResponse.html(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>${next === undefined ? "" : `<meta http-equiv="refresh" content="0;url=${escaped(next)}">`}
<style>${style}</style></head>
<body><main><h1>${escaped(title)}</h1>
${body}</main></body></html>
`
  ).pipe(HttpServerResponse.setStatus(status), HttpServerResponse.setHeaders(headers))

const gone = page(
  404,
  "This checkout is not open any more",
  "<p>It has expired, was replaced by another one, or never was. Nothing was paid. Begin again where you came from.</p>"
)

const unavailable = page(
  503,
  "This cannot be done right now",
  "<p>Nothing was paid that is not shown as paid. Please open this page again in a moment.</p>"
)

const full = page(409, "This cannot be ordered now", "<p>Too many invoices wait for payment already.</p>")

const link = (url: string, text: string) => `<p><a href="${escaped(url)}">${escaped(text)}</a></p>`

const orderOf = ({
  isTest,
  organization,
  price
}: CheckoutPage) => `${isTest ? `<p class="test"><strong>Test mode</strong> This checkout was begun in test mode. Both modes share the plan, so it changes that of the whole organization.</p>\n` : ""}<dl>
<dt>Organization</dt><dd>${escaped(organization)}</dd>
<dt>Plan</dt><dd>${escaped(price.name)}</dd>
<dt>Price</dt><dd>${escaped(moneyText(price.amount, price.currency))} each ${price.interval}</dd>
</dl>`

const shown = (secret: string, checkout: CheckoutPage): HttpServerResponse.HttpServerResponse => {
  const { cancelUrl, price, state, successUrl } = checkout
  switch (state) {
    case "open":
      return page(
        200,
        "Checkout",
        `${orderOf(checkout)}
${checkout.paysItself ? "<p>Payments are automatic on this platform: pressing the button takes no money.</p>\n" : ""}<p>The new plan begins with the payment, for a whole ${price.interval}, and renews until it is canceled.</p>
<form method="post" action="${checkoutPath}/${secret}"><button>Pay ${escaped(moneyText(price.amount, price.currency))}</button></form>
${link(cancelUrl, "Go back without paying")}`
      )
    case "submitted":
      return page(
        200,
        "Thank you for your order",
        `${orderOf(checkout)}
<p>Your invoice waits for its payment. The new plan begins as soon as that is confirmed.</p>
${link(successUrl, "Continue")}`
      )
    case "paid":
      return page(200, "Paid", `${orderOf(checkout)}\n${link(successUrl, "Continue")}`, successUrl)
  }
}

const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const checkouts = yield* BuiltInCheckouts
    const answered = <E extends { readonly _tag: string }>(
      ask: (secret: string) => Effect.Effect<CheckoutPage, E>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpRouter.RouteContext> =>
      Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
        Effect.matchEffect(ask(id), {
          onSuccess: (checkout) => Effect.succeed(shown(id, checkout)),
          onFailure: (error) => {
            if (error._tag === "CheckoutNotFound") return Effect.succeed(gone)
            if (error._tag === "TooManyInvoices") return Effect.succeed(full)
            return Effect.as(Effect.logWarning("A checkout could not be shown or paid", error), unavailable)
          }
        })
      )
    yield* router.add("GET", `${checkoutPath}/:id`, answered(checkouts.find))
    yield* router.add("POST", `${checkoutPath}/:id`, answered(checkouts.submit))
  })
)

/** The page, for the listener of the public API. */
export const checkoutPage: Effect.Effect<Page, never, BuiltInCheckouts> = Effect.map(BuiltInCheckouts, (checkouts) => ({
  path: `${checkoutPath}/:id`,
  methods: ["GET", "POST"] as const,
  layer: layer.pipe(Layer.provide(Layer.succeed(BuiltInCheckouts, checkouts)))
}))
