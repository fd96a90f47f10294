/**
 * Answers `/`: the console for people, and JSON with the addresses of the rest for everybody else. Needs `HttpRouter`.
 */
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { version } from "../common/version.ts"
import type { Page } from "../http/server.ts"

const places = {
  console: "/console",
  docs: "/docs",
  guides: "/guides",
  openapi: "/openapi.json",
  health: "/v1/health"
}

/** Whether a browser asks. */
const wantsPage = (accept: string | undefined): boolean => accept?.includes("text/html") === true

const layerLanding: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use((router) =>
  router.add(
    "GET",
    "/",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      wantsPage(headers.accept)
        ? HttpServerResponse.redirect(places.console, { status: 302 })
        : HttpServerResponse.jsonUnsafe({ name: "Sluice", version, ...places })
    ).pipe(Effect.map(HttpServerResponse.setHeader("vary", "Accept")))
  )
)

export const landingPage: Page = { path: "/", layer: layerLanding }
