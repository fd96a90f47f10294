/**
 * Writes the page around a script of `src/console` (docs/platform.md, 12.3): the console, the local mailbox, the
 * documentation. It names the script and the style, says what the script has to know, and says in words where to go on
 * without a script. Needs no service.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { type ConsoleAssets, consoleAssets, type PageName } from "./consoleBundle.ts"

export interface ShellOptions {
  readonly page: PageName
  readonly title: string
  /** The values of `<meta>` elements, by name. */
  readonly meta: Readonly<Record<string, string>>
  /** The content of the page without a script, as HTML. */
  readonly withoutScript: string
  readonly policy: string
}

/** The headers of a page and of its files. */
export const pageHeaders = (policy: string) => ({
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "x-dns-prefetch-control": "off"
})

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%23275df0'/%3E%3Cpath d='M4 5h8M4 8h5M4 11h8' stroke='white' stroke-width='1.6' stroke-linecap='round'/%3E%3C/svg%3E"

const shellOf = (
  { pages }: ConsoleAssets,
  { meta, page, title, withoutScript }: ShellOptions
): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">${Object.entries(meta)
  .map(([name, value]) => `<meta name="${name}" content="${value}">`)
  .join("")}
<title>${title}</title><link rel="icon" href="${icon}">
<link rel="stylesheet" href="/console/assets/${pages[page].style}">
<script type="module" src="/console/assets/${pages[page].script}"></script></head>
<body><div id="app"></div>
<noscript><main class="plain">${withoutScript}</main></noscript>
</body></html>
`

const unbundled = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sluice</title></head>
<body><main><h1>Sluice</h1><p>The page is not bundled here, because esbuild is not installed: run <code>npm ci</code> in the checkout, or use the package.</p>
<p><a href="/openapi.json">The API's description</a></p></main></body></html>
`

/** The page's answer, made when it is first asked for. */
export const pageShell = (
  options: ShellOptions
): Effect.Effect<Effect.Effect<HttpServerResponse.HttpServerResponse>> => {
  const answer = (page: string, status: number) =>
    HttpServerResponse.text(page, {
      status,
      contentType: "text/html; charset=utf-8",
      headers: { ...pageHeaders(options.policy), "cache-control": "no-store", vary: "Accept" }
    })
  return Effect.cached(
    Effect.tryPromise(consoleAssets).pipe(
      Effect.map((assets) => answer(shellOf(assets, options), 200)),
      Effect.tapError((error) => Effect.logWarning(`The page '${options.title}' cannot be shown`, error)),
      Effect.orElseSucceed(() => answer(unbundled, 503))
    )
  )
}
