/**
 * Serves the documentation's page: one document with everything in it, megabytes of script included, so the server
 * compresses it once and lets clients keep it. Needs `HttpRouter`.
 */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApi, type HttpApiGroup, HttpApiScalar } from "effect/http-api"
import { hasAlready, makeTag, type Tag } from "../http/cacheHeaders.ts"
import type { Page } from "../http/server.ts"
import { type Encoding, encodingFor } from "./encodings.ts"

/** How long clients keep the page without asking again, so short that a new version shows soon. */
const cacheSeconds = 300

/** Compresses well enough, in a fraction of a second for the whole page. */
const brotliQuality = 5

interface Compressed {
  readonly tag: Tag
  readonly bytes: Readonly<Record<Encoding, Uint8Array>>
}

const compress = Effect.fnUntraced(function* (whole: Uint8Array) {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }
  const [br, zipped] = yield* Effect.promise(() =>
    Promise.all([promisify(brotliCompress)(whole, options), promisify(gzip)(whole)])
  )
  const tag = makeTag(createHash("sha256").update(whole).digest("base64url").slice(0, 22))
  return { tag, bytes: { br, gzip: zipped, identity: whole } } satisfies Compressed
})

const respond = ({ bytes, tag }: Compressed, request: HttpServerRequest.HttpServerRequest) => {
  const headers = {
    etag: tag,
    vary: "Accept-Encoding",
    "cache-control": `public, max-age=${cacheSeconds}`
  }
  if (hasAlready(request.headers["if-none-match"], tag)) return HttpServerResponse.empty({ status: 304, headers })
  const encoding = encodingFor(request.headers["accept-encoding"])
  return HttpServerResponse.uint8Array(bytes[encoding], {
    contentType: "text/html; charset=utf-8",
    headers: encoding === "identity" ? headers : { ...headers, "content-encoding": encoding }
  })
}

/**
 * The renderer's own: no fonts from its maker's server, no button that opens the description in its maker's client, no
 * bar that offers to register it there. The link that says who made it cannot be switched off, so it is not shown.
 */
const renderer = {
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  customCss: `a[href*="scalar.com"], a[href*="/scalar"] { display: none !important }`
}

/** Serves the page at the path. The page is made when it is first asked for. */
const layerDocs = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  path: `/${string}`
): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      let made: Effect.Effect<HttpServerResponse.HttpServerResponse> | undefined
      // The library that makes the page adds a route for it, which is captured here.
      const taking = {
        ...router,
        add: (_method: unknown, _path: unknown, handler: typeof made) =>
          Effect.sync(() => {
            made = handler
          })
      }
      // Its type lacks some of the settings that its script reads.
      const maker = HttpApiScalar.layer(api, { path, scalar: renderer as HttpApiScalar.ScalarConfig })
      yield* Layer.build(
        maker.pipe(Layer.provide(Layer.succeed(HttpRouter.HttpRouter, taking as unknown as typeof router)))
      )
      const page = yield* Effect.cached(
        Effect.gen(function* () {
          const { body } = yield* made!
          if (body._tag !== "Uint8Array") return yield* Effect.die(new Error(`The page of ${path} is no text`))
          return yield* compress(body.body)
        })
      )
      yield* router.add(
        "GET",
        path,
        Effect.gen(function* () {
          return respond(yield* page, yield* HttpServerRequest.HttpServerRequest)
        })
      )
    })
  )

/** The page at `/docs`. */
export const docsPage = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): Page => ({ path: "/docs", layer: layerDocs(api, "/docs") })
