/** Serves invoices as PDF behind signed addresses (docs/platform.md, 11.5). Needs `Invoices` and `HttpRouter`. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody } from "../../http/errors.ts"
import type { Page } from "../../http/server.ts"
import { documentsPath, Invoices } from "../Invoices.ts"
import { invoiceDocument } from "../pdf/invoiceDocument.ts"

const suffix = ".pdf"
const ids = /^[A-Za-z0-9_]{1,255}$/

const headers = {
  // Its address ends, and what was fetched need not be fetched again.
  "cache-control": "private, max-age=3600",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'"
}

const notGood = HttpServerResponse.jsonUnsafe(
  errorBody("envelope", "not_found", "This address is not good, or not any more. The list of invoices has a new one."),
  { status: 404, headers: { "cache-control": "no-store" } }
)

const unavailable = HttpServerResponse.jsonUnsafe(
  errorBody("envelope", "unavailable", "The invoice cannot be made right now; the request is safe to repeat."),
  { status: 503, headers: { "cache-control": "no-store", "retry-after": "1" } }
)

const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const invoices = yield* Invoices
    const answer = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const { file = "" } = yield* HttpRouter.params
      const id = file.endsWith(suffix) ? file.slice(0, -suffix.length) : ""
      const query = URL.parse(url, "http://localhost")?.searchParams
      if (!ids.test(id) || query === undefined) return notGood
      const invoice = yield* invoices.documented(id, query)
      if (invoice === undefined) return notGood
      return HttpServerResponse.uint8Array(yield* invoiceDocument(invoice), {
        contentType: "application/pdf",
        headers: { ...headers, "content-disposition": `inline; filename="${id}.pdf"` }
      })
    })
    yield* router.add(
      "GET",
      `${documentsPath}/:file`,
      Effect.catch(answer, (error) => Effect.as(Effect.logWarning("An invoice could not be shown", error), unavailable))
    )
  })
)

/** The documents, for the listener of the public API. */
export const invoiceDocuments: Effect.Effect<Page, never, Invoices> = Effect.map(Invoices, (invoices) => ({
  path: `${documentsPath}/:file`,
  layer: layer.pipe(Layer.provide(Layer.succeed(Invoices, invoices)))
}))
