/** What `/` answers: where to go on, as a page for people and as JSON for everybody else. Needs `HttpRouter`. */
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { version } from "../common/version.ts"
import type { Page } from "../http/server.ts"

const places = { docs: "/docs", openapi: "/openapi.json", health: "/v1/health" }

/** The address that was asked, as far as it can be one; what a header says is never put into a page unread. */
const originOf = ({ host, "x-forwarded-proto": protocol }: Readonly<Record<string, string | undefined>>): string =>
  host !== undefined && /^[\w.-]+(:\d+)?$|^\[[\da-f:]+\](:\d+)?$/i.test(host)
    ? `${protocol === "https" ? "https" : "http"}://${host}`
    : "http://127.0.0.1:8080"

const page = (origin: string) => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sluice</title>
<style>
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:4rem auto;padding:0 1rem}
pre{padding:1rem;overflow-x:auto;background:#8882;border-radius:.4rem}
</style></head>
<body><h1>Sluice ${version}</h1>
<p>The API is running. The number directory answers without a key how much it knows:</p>
<pre>curl ${origin}/v1/stats</pre>
<p>and with one (the first start prints it; <code>sluice keys create</code> makes more) who serves an area code:</p>
<pre>curl -H "Authorization: Bearer $KEY" '${origin}/v1/npa/212?limit=3'</pre>
<ul>
<li><a href="/docs">Documentation</a> of every endpoint and event, also as <a href="/openapi.json">OpenAPI</a></li>
<li><a href="/v1/health">Health</a>: how the platform is</li>
</ul></body></html>
`

/** Whether a browser asks. */
const wantsPage = (accept: string | undefined): boolean => accept?.includes("text/html") === true

const layerLanding: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use((router) =>
  router.add(
    "GET",
    "/",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      wantsPage(headers.accept)
        ? HttpServerResponse.html(page(originOf(headers)))
        : HttpServerResponse.jsonUnsafe({ name: "Sluice", version, ...places })
    ).pipe(Effect.map(HttpServerResponse.setHeader("vary", "Accept")))
  )
)

export const landingPage: Page = { path: "/", layer: layerLanding }
