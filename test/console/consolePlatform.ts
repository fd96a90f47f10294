/** The world of the console's tests on the shared platform: a filled organization, another one, and a browser. */
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { afterAll, beforeAll } from "vitest"
import { launchBrowser } from "../support/browser.ts"
import { patienceMillis } from "../support/patience.ts"
import type { Platform } from "../support/platform.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"
import { type Filled, type FillOptions, fill, fillPaused, fillWarned, startReceivers } from "./fill.ts"

export interface ConsolePlatform extends FillOptions {
  readonly process: Platform
  readonly databaseUrl: string
  readonly filled: Filled
  /** One step before its pause. */
  readonly warned: Pick<Filled, "key" | "keyId" | "organization">
  readonly paused: Pick<Filled, "key" | "keyId" | "organization">
  /** A browser's window with an empty profile, which goes with the file. */
  readonly browser: (options?: BrowserContextOptions) => Promise<BrowserContext>
}

export const useConsolePlatform = (isNeeded: boolean): (() => ConsolePlatform) => {
  const shared = useSharedPlatform()
  let made: ConsolePlatform | undefined
  const cleanup: Array<() => Promise<unknown>> = []
  beforeAll(async () => {
    if (!isNeeded) return
    const { adminKey, adminUrl, databaseUrl, process, url } = shared()
    const receivers = await startReceivers()
    cleanup.push(receivers.close)
    const options = { url, adminUrl, adminKey, receivers }
    const browser = await launchBrowser()
    cleanup.push(() => browser.close())
    made = {
      ...options,
      process,
      databaseUrl,
      filled: await fill(options),
      warned: await fillWarned(options),
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
