/** A platform for tests of the console, with a filled organization, another one, and a browser. */
import { randomBytes } from "node:crypto"
import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll, inject } from "vitest"
import { adminUrlOf } from "../http/harness.ts"
import { launchBrowser } from "../support/browser.ts"
import { urlOf } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { makeCopy } from "../support/templates.ts"
import { type Filled, type FillOptions, fill, fillPaused, startReceivers } from "./fill.ts"

export interface ConsolePlatform extends FillOptions {
  readonly process: Platform
  readonly databaseUrl: string
  readonly filled: Filled
  readonly paused: Pick<Filled, "key" | "keyId" | "organization">
  /** A browser's window with an empty profile, which goes with the file. */
  readonly browser: (options?: BrowserContextOptions) => Promise<BrowserContext>
}

export const useConsolePlatform = (isNeeded: boolean): (() => ConsolePlatform) => {
  let made: ConsolePlatform | undefined
  const cleanup: Array<() => Promise<unknown>> = []
  beforeAll(async () => {
    if (!isNeeded) return
    const scope = Scope.makeUnsafe()
    cleanup.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const databaseUrl = urlOf((await Effect.runPromise(makeCopy("bundled").pipe(Scope.provide(scope)))).name)
    const adminKey = `adm_${randomBytes(24).toString("hex")}`
    const process = await startPlatform({
      SLUICE_ADMIN_KEY: adminKey,
      SLUICE_WEBHOOK_TARGETS: "any",
      SLUICE_WEBHOOK_RETRY_DELAYS: "1h,1h,1h,1h,1h",
      DATABASE_URL: databaseUrl,
      NATS_URL: inject("natsUrl")
    })
    cleanup.push(process.stop)
    const receivers = await startReceivers()
    cleanup.push(receivers.close)
    const options = { url: process.url, adminUrl: await adminUrlOf(process), adminKey, receivers }
    const browser = await launchBrowser()
    cleanup.push(() => browser.close())
    made = {
      ...options,
      process,
      databaseUrl,
      filled: await fill(options),
      paused: await fillPaused(options),
      // Colours that are still changing are nobody's.
      browser: async (given = {}) => {
        const context = await browser.newContext({ reducedMotion: "reduce", ...given })
        context.setDefaultTimeout(patienceMillis)
        return context
      }
    }
  }, patienceMillis)
  afterAll(async () => {
    for (const step of cleanup.reverse()) await step()
  }, patienceMillis)
  return () => made!
}

/** Signs in as somebody does who types a key. */
export const signIn = async (page: Page, url: string, key: string): Promise<void> => {
  await page.goto(`${url}/console`)
  await page.getByLabel(/API key|Admin credential/).fill(key)
  await page.keyboard.press("Enter")
  await page.getByRole("navigation", { name: "Console" }).waitFor()
}
