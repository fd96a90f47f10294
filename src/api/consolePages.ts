/**
 * Serves the console's page and its assets (docs/platform.md, 12.3). The page is the same for every address under
 * `/console`, and says in itself which console it is; the assets are compressed once and kept by browsers for ever.
 * Needs `HttpRouter`.
 */
import { promisify } from "node:util"
import { brotliCompress, gzip } from "node:zlib"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody } from "../http/errors.ts"
import type { Page } from "../http/server.ts"
import { type Asset, type ConsoleAssets, consoleAssets, licencesFile } from "./consoleBundle.ts"
import { type Encoding, encodingFor } from "./encodings.ts"

/**
 * Whom a console is for: the members of an organization, on the public listener, or operators, on the admin listener.
 */
export type ConsoleAudience = "organization" | "operator"

/**
 * Restricts the page. Styles may be in elements, because the frame that shows a mail has this policy too and mails have
 * their styles in them; without a place to load from, a style can tell nobody anything. No frame leads anywhere, so
 * that a click in a mail stays without effect.
 */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src data:",
  "connect-src 'self'",
  "frame-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const common = {
  "content-security-policy": consolePolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "x-dns-prefetch-control": "off"
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%23275df0'/%3E%3Cpath d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.6' stroke-linecap='round'/%3E%3C/svg%3E"

const html = ({ script, style }: ConsoleAssets, audience: ConsoleAudience): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="sluice-console" content="${audience}">
<title>Sluice</title><link rel="icon" href="${icon}">
<link rel="stylesheet" href="/console/assets/${style}">
<script type="module" src="/console/assets/${script}"></script></head>
<body><div id="app"></div>
<noscript><main class="plain"><h1>Sluice</h1><p>The console needs JavaScript. The API does not:
see its <a href="/guides/">guides</a>, its <a href="/docs">documentation</a>, its description as <a href="/openapi.json">OpenAPI</a>${audience === "operator" ? "" : ', and its <a href="/v1/health">health</a>'}.</p></main></noscript>
</body></html>
`

const plainPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sluice</title></head>
<body><h1>Sluice</h1><p>The console is not bundled here, because esbuild is not installed: run <code>npm ci</code> in the checkout, or use the package.</p>
<p><a href="/docs">Documentation</a></p></body></html>
`

interface Compressed {
  readonly name: string
  readonly type: string
  readonly bytes: Readonly<Record<Encoding, Uint8Array>>
}

interface Prepared {
  readonly page: string
  readonly files: ReadonlyArray<Compressed>
}

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8"
}

const compressed = async ({ name, text }: Asset): Promise<Compressed> => {
  const type = types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream"
  const identity = Buffer.from(text)
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity)])
  return { name, type, bytes: { identity, br, gzip: zipped } }
}

const prepare = async (audience: ConsoleAudience): Promise<Prepared> => {
  const assets = await consoleAssets()
  return {
    page: html(assets, audience),
    files: await Promise.all(assets.files.map(compressed))
  }
}

const htmlAnswer = (page: string, status: number) =>
  HttpServerResponse.text(page, {
    status,
    contentType: "text/html; charset=utf-8",
    headers: { ...common, "cache-control": "no-store" }
  })

const noAsset = HttpServerResponse.jsonUnsafe(errorBody("envelope", "not_found", "The console has no such file."), {
  status: 404,
  headers: { "cache-control": "no-store" }
})

const assetAnswer = (file: Compressed, acceptEncoding: string | undefined) => {
  const encoding = encodingFor(acceptEncoding)
  return HttpServerResponse.uint8Array(file.bytes[encoding], {
    contentType: file.type,
    headers: {
      ...common,
      vary: "Accept-Encoding",
      // The name of the licences stays when they change.
      "cache-control": file.name === licencesFile ? "public, max-age=300" : "public, max-age=31536000, immutable",
      ...(encoding === "identity" ? {} : { "content-encoding": encoding })
    }
  })
}

const layer = (audience: ConsoleAudience): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const prepared = yield* Effect.cached(
        Effect.tryPromise(() => prepare(audience)).pipe(
          Effect.tapError((error) => Effect.logWarning("The console cannot be shown", error)),
          Effect.orElseSucceed(() => undefined)
        )
      )
      const page = Effect.map(prepared, (made) =>
        made === undefined ? htmlAnswer(plainPage, 503) : htmlAnswer(made.page, 200)
      )
      // The same route has `/console` itself.
      yield* router.add("GET", "/console/*", page)
      yield* router.add(
        "GET",
        "/console/assets/:file",
        Effect.gen(function* () {
          const { file = "" } = yield* HttpRouter.params
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          const found = (yield* prepared)?.files.find(({ name }) => name === file)
          return found === undefined ? noAsset : assetAnswer(found, headers["accept-encoding"])
        })
      )
    })
  )

/** The console's pages. */
export const consolePages = (audience: ConsoleAudience): ReadonlyArray<Page> => [
  { path: "/console/*", layer: layer(audience) },
  { path: "/console/assets/:file", layer: Layer.empty }
]
