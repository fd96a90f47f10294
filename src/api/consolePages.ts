/**
 * Serves the console's page and the files of all pages (docs/platform.md, 12.3). The page is the same for every address
 * under `/console`, and says in itself which console it is; the files are compressed once and kept by browsers for ever.
 * Needs `HttpRouter`.
 */
import { promisify } from "node:util"
import { brotliCompress, gzip } from "node:zlib"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { errorBody } from "../http/errors.ts"
import type { Page } from "../http/server.ts"
import { type Asset, consoleAssets, licencesFile } from "./consoleBundle.ts"
import { type Encoding, encodingFor } from "./encodings.ts"
import { pageHeaders, pageShell } from "./pageShell.ts"

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

/** The mailbox's page shows mails in frames of the server's own, which bring policies of their own, and their pictures. */
export const mailboxPolicy = consolePolicy
  .replace("style-src 'self' 'unsafe-inline'", "style-src 'self'")
  .replace("frame-src 'none'", "frame-src 'self'")
  .replace("img-src data:", "img-src 'self' data:")

const withoutScript = (
  audience: ConsoleAudience
): string => `<h1>Sluice</h1><p>The console needs JavaScript. The API does not:
see its <a href="/guides/">guides</a>, its <a href="/docs">documentation</a>, its description as <a href="/openapi.json">OpenAPI</a>${audience === "operator" ? "" : ', and its <a href="/v1/health">health</a>'}.</p>`

interface Compressed {
  readonly name: string
  readonly type: string
  readonly bytes: Readonly<Record<Encoding, Uint8Array>>
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

const compressedFiles = async (): Promise<ReadonlyArray<Compressed>> =>
  Promise.all((await consoleAssets()).files.map(compressed))

const noAsset = HttpServerResponse.jsonUnsafe(errorBody("envelope", "not_found", "The console has no such file."), {
  status: 404,
  headers: { "cache-control": "no-store" }
})

const assetAnswer = (file: Compressed, acceptEncoding: string | undefined) => {
  const encoding = encodingFor(acceptEncoding)
  return HttpServerResponse.uint8Array(file.bytes[encoding], {
    contentType: file.type,
    headers: {
      ...pageHeaders(consolePolicy),
      vary: "Accept-Encoding",
      // The name of the licences stays when they change.
      "cache-control": file.name === licencesFile ? "public, max-age=300" : "public, max-age=31536000, immutable",
      ...(encoding === "identity" ? {} : { "content-encoding": encoding })
    }
  })
}

export interface ConsoleOptions {
  readonly audience: ConsoleAudience
  /** Where the local mailbox is; undefined where there is none. */
  readonly mailbox?: string | undefined
}

const layer = ({ audience, mailbox }: ConsoleOptions): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const files = yield* Effect.cached(
        Effect.orElseSucceed(Effect.tryPromise(compressedFiles), (): ReadonlyArray<Compressed> => [])
      )
      const page = yield* pageShell({
        page: "console",
        title: "Sluice",
        meta: { "sluice-console": audience, ...(mailbox === undefined ? {} : { "sluice-mailbox": mailbox }) },
        withoutScript: withoutScript(audience),
        policy: consolePolicy
      })
      // The same route has `/console` itself.
      yield* router.add("GET", "/console/*", page)
      yield* router.add(
        "GET",
        "/console/assets/:file",
        Effect.gen(function* () {
          const { file = "" } = yield* HttpRouter.params
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          const found = (yield* files).find(({ name }) => name === file)
          return found === undefined ? noAsset : assetAnswer(found, headers["accept-encoding"])
        })
      )
    })
  )

/** The console's pages. */
export const consolePages = (options: ConsoleOptions): ReadonlyArray<Page> => [
  { path: "/console/*", layer: layer(options) },
  { path: "/console/assets/:file", layer: Layer.empty }
]

/** The page of the local mailbox, which loads its mails from the paths beside it. */
export const mailboxShell = pageShell({
  page: "mailbox",
  title: "Mailbox · Sluice",
  meta: {},
  withoutScript: `<h1>Mailbox</h1><p>The page needs JavaScript. Without it, the mails are there as JSON:
<code>curl /dev/mailbox</code>. See <a href="/guides/handoff">the guide</a>.</p>`,
  policy: mailboxPolicy
})
