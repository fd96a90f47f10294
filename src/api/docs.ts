/**
 * Serves the API's documentation (docs/platform.md, 12.7): a page at `/docs`, and the description that its script shows,
 * which is made and compressed once. Needs `HttpRouter`.
 */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { hasAlready, makeTag, type Tag } from "../http/cacheHeaders.ts"
import type { Page } from "../http/server.ts"
import { consolePolicy } from "./consolePages.ts"
import { type Encoding, encodingFor } from "./encodings.ts"
import { pageHeaders, pageShell } from "./pageShell.ts"

/** How long clients keep the description without asking again, so short that a new version shows soon. */
const cacheSeconds = 300

/** Compresses well enough, in a fraction of a second. */
const brotliQuality = 7

/** Restricts the page to its own files and to the API of its server. */
export const docsPolicy = consolePolicy.replace("style-src 'self' 'unsafe-inline'", "style-src 'self'")

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
    ...pageHeaders(docsPolicy),
    etag: tag,
    vary: "Accept-Encoding",
    "cache-control": `public, max-age=${cacheSeconds}`
  }
  if (hasAlready(request.headers["if-none-match"], tag)) return HttpServerResponse.empty({ status: 304, headers })
  const encoding = encodingFor(request.headers["accept-encoding"])
  return HttpServerResponse.uint8Array(bytes[encoding], {
    contentType: "application/json",
    headers: encoding === "identity" ? headers : { ...headers, "content-encoding": encoding }
  })
}

const descriptionPath = "/docs/description.json"

/** Serves both. The description is made when it is first asked for. */
const layerDocs = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const page = yield* pageShell({
        page: "docs",
        title: "API · Sluice",
        meta: {},
        withoutScript: `<h1>API</h1><p>The page needs JavaScript. The API is described as
<a href="/openapi.json">OpenAPI</a> too, and the <a href="/guides/">guides</a> need no script.</p>`,
        policy: docsPolicy
      })
      const description = yield* Effect.cached(
        Effect.suspend(() => compress(Buffer.from(JSON.stringify(OpenApi.fromApi(api)))))
      )
      yield* router.add("GET", "/docs", page)
      yield* router.add(
        "GET",
        descriptionPath,
        Effect.gen(function* () {
          return respond(yield* description, yield* HttpServerRequest.HttpServerRequest)
        })
      )
    })
  )

/** The page at `/docs`, and its description. */
export const docsPages = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<Page> => [
  { path: "/docs", layer: layerDocs(api) },
  { path: descriptionPath, layer: Layer.empty }
]
