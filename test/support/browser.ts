/**
 * A real browser for tests: the system's Chromium, driven by Playwright, with no connection but the ones that a page asks for. `needing("chromium")`
 * stands beside a test that uses it.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { patienceMillis } from "./patience.ts"

const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Pages of one origin need no processes of their own, and starting them takes most of a test's time.
  "--disable-site-isolation-trials",
  "--renderer-process-limit=1",
  "--disable-features=SpareRendererForSitePerProcess,IsolateOrigins,site-per-process,Translate,OptimizationHints,MediaRouter"
]

/** A browser with an empty profile. Close it; its folder goes with it. */
export const openBrowser = async (
  options: BrowserContextOptions = {}
): Promise<{ readonly context: BrowserContext; readonly close: () => Promise<void> }> => {
  const profile = mkdtempSync(join(tmpdir(), "sluice-browser-"))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    args,
    ...options
  })
  context.setDefaultTimeout(patienceMillis)
  return {
    context,
    close: async () => {
      await context.close()
      rmSync(profile, { recursive: true, force: true })
    }
  }
}

/** A browser whose contexts have a profile each, for tests that need several. Close it. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: "/usr/bin/chromium", headless: true, args })

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/**
 * What `axe-core` holds against a page, a line each: the rule, and the elements. The page's policy for scripts does not stop it. A page that was
 * looked at may be asked for its `colours` alone in another theme, which changes nothing else.
 */
export const accessibilityFaults = async (
  page: Page,
  what: "all" | "colours" = "all"
): Promise<ReadonlyArray<string>> => {
  const session = await page.context().newCDPSession(page)
  const evaluated = async (expression: string): Promise<unknown> => {
    const options = { awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression, ...options })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text)
    return result.value
  }
  // Half a megabyte, which a page that is looked at again has already.
  if ((await evaluated("typeof axe")) === "undefined") await evaluated(`${axe}; undefined`)
  const found =
    await evaluated(`axe.run(document, ${what === "all" ? "{}" : '{ runOnly: ["color-contrast"] }'}).then(({ violations }) => JSON.stringify(violations.map(
    ({ id, nodes }) => id + ": " + nodes.map(({ target }) => target.join(" ")).join(", "))))`)
  await session.detach()
  return JSON.parse(found as string) as ReadonlyArray<string>
}
