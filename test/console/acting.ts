/** Acts on pages for tests: moves the keyboard, presses, types, looks for forbidden effects, and writes pictures. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { BrowserContext, Locator, Page } from "playwright-core"
import { expect } from "vitest"
import { accessibilityFaults } from "../support/browser.ts"

const pictures = process.env.SLUICE_PICTURES

const shownInReadme: ReadonlySet<string> = new Set(["overview-light", "sending-paused-light"])

/** Writes a picture for a person to look at, where a folder is named. */
export const picture = async (page: Page, name: string): Promise<void> => {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
  // What the README shows is as large as a window.
  const size = page.viewportSize()
  if (!shownInReadme.has(name) || size === null) return
  await page.setViewportSize({ width: 1080, height: 680 })
  await page.screenshot({ path: join(pictures, `readme-${name}.png`) })
  await page.setViewportSize(size)
}

export const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor()

/** Moves the keyboard's place to an element by Tab alone. */
export const tabTo = async (page: Page, target: Locator): Promise<void> => {
  await target.first().waitFor()
  for (let steps = 0; steps < 300; steps++) {
    if (await target.first().evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`Tab does not reach ${target}`)
}

/** Presses a button, or follows a link, by keyboard alone. */
export const press = async (page: Page, role: "button" | "link" | "tab", name: string | RegExp): Promise<void> => {
  await tabTo(page, page.getByRole(role, { name, ...(typeof name === "string" ? { exact: true } : {}) }))
  await page.keyboard.press("Enter")
}

export const typeInto = async (page: Page, label: string, text: string): Promise<void> => {
  await tabTo(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.press("ControlOrMeta+a")
  await page.keyboard.type(text)
}

/** What a page asked of other hosts, what it complained of, and whether a dialog came up. */
export const watch = (context: BrowserContext, origins: ReadonlyArray<string>) => {
  const seen: Array<string> = []
  const isElsewhere = (url: string): boolean =>
    !/^(data|blob|about):/.test(url) && !origins.some((origin) => url.startsWith(origin))
  // The browser tells of requests too that the page's policy has stopped before they were sent.
  context.on("requestfailed", (request) => {
    const words = request.failure()?.errorText ?? ""
    if (isElsewhere(request.url()) && words !== "csp") seen.push(`${request.url()} ${words}`)
  })
  context.on("response", (response) => {
    if (isElsewhere(response.url())) seen.push(response.url())
  })
  context.on("page", (page) => {
    page.on("dialog", (dialog) => {
      seen.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on("pageerror", (error) => seen.push(`error ${error.message}`))
  })
  return seen
}

/** Waits until a view has loaded what it shows. */
export const settled = async (page: Page): Promise<void> => {
  await page.locator("main:not(:has(.loading))").waitFor()
}

/** Looks at a view that is open: its title, no alert, and no fault of axe in either theme, of which it keeps pictures. */
export const expectView = async (page: Page, name: string, title: string | RegExp): Promise<void> => {
  await heading(page, title)
  await settled(page)
  expect(await page.getByRole("alert").allTextContents(), name).toEqual([])
  for (const colours of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: colours })
    const what = colours === "light" ? "all" : "colours"
    expect(await accessibilityFaults(page, what), `${name} (${colours})`).toEqual([])
    await picture(page, `${name}-${colours}`)
  }
}
