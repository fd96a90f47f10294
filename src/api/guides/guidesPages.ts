/**
 * Serves the guides under `/guides`: the built site, the text of each page (`.md`), and `llms.txt` and `llms-full.txt`
 * for language models. The texts need no build. Files are read and compressed when they are first asked for. Needs
 * `HttpRouter`.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join, sep } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { hasAlready, makeTag, type Tag } from "../../http/cacheHeaders.ts"
import type { Page } from "../../http/server.ts"
import { type Encoding, encodingFor } from "../encodings.ts"
import { documentsFolder, llmsFullText, llmsText } from "./guideContents.ts"
import { buildSite, isSiteFresh, siteFolder } from "./guidesSite.ts"

const prefix = "/guides/"

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  md: "text/markdown; charset=utf-8",
  ts: "text/plain; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  woff2: "font/woff2"
}

const extensionOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** Compresses well enough, in a moment for every file. */
const brotliQuality = 5

interface Stored {
  readonly tag: Tag
  readonly type: string
  /** Hashes of the page's own scripts, for its policy. */
  readonly scripts: ReadonlyArray<string>
  readonly bytes: Readonly<Record<Encoding, Uint8Array>>
}

const hashed = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

const scriptsOf = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, script]) => hashed(script!))

/** Restricts a page as the console's is: nothing from elsewhere, and of scripts in the page those that it was built with. */
const policy = (scripts: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

const headersOf = (scripts: ReadonlyArray<string>) => ({
  "content-security-policy": policy(scripts),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin"
})

const stored = async (whole: Uint8Array, type: string): Promise<Stored> => {
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(whole, options), promisify(gzip)(whole)])
  return {
    tag: makeTag(createHash("sha256").update(whole).digest("base64url").slice(0, 22)),
    type,
    scripts: type.startsWith("text/html") ? scriptsOf(Buffer.from(whole).toString()) : [],
    bytes: { br, gzip: zipped, identity: whole }
  }
}

const answer = (file: Stored, path: string, status: number, headers: Readonly<Record<string, string | undefined>>) => {
  const common = {
    ...headersOf(file.scripts),
    etag: file.tag,
    vary: "Accept-Encoding",
    "cache-control": path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "public, no-cache"
  }
  if (status === 200 && hasAlready(headers["if-none-match"], file.tag))
    return HttpServerResponse.empty({ status: 304, headers: common })
  const encoding = encodingFor(headers["accept-encoding"])
  return HttpServerResponse.uint8Array(file.bytes[encoding], {
    status,
    contentType: file.type,
    headers: encoding === "identity" ? common : { ...common, "content-encoding": encoding }
  })
}

const shell = (text: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Sluice guides</title></head>
<body><main><h1>Guides</h1><p>${text}</p><p>Their texts are at <a href="${prefix}llms.txt">${prefix}llms.txt</a>.</p></main></body></html>
`

const waitSeconds = 3

/** The answer while the site is built, and where it cannot be. */
const unbuilt = (isPossible: boolean) =>
  HttpServerResponse.text(
    shell(
      isPossible
        ? "The guides are being built, once, which takes some seconds. This page then shows them."
        : "The guides cannot be built here; the log of the platform says why. The package has them built."
    ),
    {
      status: 503,
      contentType: "text/html; charset=utf-8",
      headers: {
        ...headersOf([]),
        "cache-control": "no-store",
        ...(isPossible ? { "retry-after": String(waitSeconds), refresh: String(waitSeconds) } : {})
      }
    }
  )

const filesIn = (folder: string): ReadonlyArray<string> =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll(sep, "/"))
    : []

/** The texts, by path below `/guides/`. */
const textFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ...filesIn(documentsFolder)
      .filter((file) => /\.(?:md|ts)$/.test(file) && !file.startsWith("."))
      .map((file) => [file, join(documentsFolder, file)] as const),
    ["index.md", join(documentsFolder, "README.md")]
  ])

const siteFiles = (): ReadonlyMap<string, string> =>
  new Map(
    filesIn(siteFolder)
      .filter((file) => types[extensionOf(file)] !== undefined && !file.endsWith(".txt"))
      .map((file) => [file, join(siteFolder, file)])
  )

/** The file of a path below `/guides/`; pages have no extension. */
const fileOf = (path: string): string => (path === "" ? "index.html" : /\.\w+$/.test(path) ? path : `${path}.html`)

const generated: Readonly<Record<string, () => string>> = { "llms.txt": llmsText, "llms-full.txt": llmsFullText }

/** Files that were asked for; there are as many as the guides have. */
class Files {
  private readonly kept = new Map<string, Promise<Stored>>()

  get(path: string, read: () => Promise<Uint8Array>): Promise<Stored> {
    const before = this.kept.get(path)
    if (before !== undefined) return before
    const made = read().then((whole) => stored(whole, types[extensionOf(path)]!))
    this.kept.set(path, made)
    made.catch(() => this.kept.delete(path))
    return made
  }
}

const layerGuides: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const files = new Files()
    const texts = yield* Effect.cached(Effect.sync(textFiles))
    let state: "unknown" | "building" | "failed" | "built" = "unknown"
    let pages: ReadonlyMap<string, string> = new Map()
    const look = Effect.sync(() => {
      pages = siteFiles()
      state = "built"
    })
    const build = Effect.tryPromise(() => buildSite()).pipe(
      Effect.andThen(look),
      Effect.catch((error) =>
        Effect.andThen(
          Effect.sync(() => {
            state = "failed"
          }),
          Effect.logWarning("The guides cannot be shown", error)
        )
      )
    )
    const scope = yield* Effect.scope
    const begin = Effect.suspend(() => {
      if (isSiteFresh()) return look
      state = "building"
      return Effect.asVoid(Effect.forkIn(build, scope))
    })
    yield* router.add(
      "GET",
      "/guides/*",
      Effect.gen(function* () {
        const { headers, url } = yield* HttpServerRequest.HttpServerRequest
        const target = url.split(/[?#]/, 1)[0]!
        if (!target.startsWith(prefix)) return HttpServerResponse.redirect(prefix, { status: 302 })
        const path = target.slice(prefix.length)
        const made = generated[path]
        const text = (yield* texts).get(path)
        if (made !== undefined || text !== undefined) {
          const read = () => (text === undefined ? Promise.resolve(Buffer.from(made!())) : readFile(text))
          return answer(yield* Effect.promise(() => files.get(path, read)), path, 200, headers)
        }
        if (state === "unknown") yield* begin
        if (state === "building" || state === "failed") return unbuilt(state === "building")
        const name = fileOf(path)
        const found = pages.get(name) === undefined ? "404.html" : name
        const page = yield* Effect.promise(() => files.get(found, () => readFile(pages.get(found)!)))
        return answer(page, found, found === name ? 200 : 404, headers)
      })
    )
  })
)

/** The guides' pages. */
export const guidesPages: Page = { path: "/guides/*", layer: layerGuides }
