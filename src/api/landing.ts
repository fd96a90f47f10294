/** What `/` answers: where to go on, as a page for people and as JSON for everybody else. Needs `HttpRouter`. */
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { version } from "../common/version.ts"
import type { Page } from "../http/server.ts"

const places = { docs: "/docs", openapi: "/openapi.json", health: "/v1/health" }

const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sluice</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}</style></head>
<body><h1>Sluice ${version}</h1><p>This is an API. Its endpoints are described in the <a href="/docs">documentation</a>, also as
<a href="/openapi.json">OpenAPI</a>; how it is, <a href="/v1/health">/v1/health</a> says.</p></body></html>
`

/** Whether a browser asks. */
const wantsPage = (accept: string | undefined): boolean => accept?.includes("text/html") === true

const layerLanding: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use((router) =>
  router.add(
    "GET",
    "/",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      wantsPage(headers.accept)
        ? HttpServerResponse.html(page)
        : HttpServerResponse.jsonUnsafe({ name: "Sluice", version, ...places })
    )
  )
)

export const landingPage: Page = { path: "/", layer: layerLanding }
