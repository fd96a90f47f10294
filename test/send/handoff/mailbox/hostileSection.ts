/** Mails whose every text tries to do something, in a real browser (docs/handoff.md, 3.3). */
import { Effect } from "effect"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { CaptureMailbox } from "../../../../src/send/handoff/CaptureMailbox.ts"
import { watch } from "../../../console/acting.ts"
import { launchBrowser } from "../../../support/browser.ts"
import { needing } from "../../../support/needs.ts"
import { patienceMillis } from "../../../support/patience.ts"
import { envelope, mailOf } from "./mailOf.ts"

/** Texts that try to run a script wherever they are taken for markup, an attribute, an address or a style. */
const hostileTexts: ReadonlyArray<string> = [
  `<script>globalThis.taken=1</script>`,
  `"><img src=x onerror=globalThis.taken=1>`,
  `'><svg/onload=globalThis.taken=1>`,
  `<a href="javascript:globalThis.taken=1" id=lure>lure</a>`,
  `</title><script>globalThis.taken=1</script>`,
  `</textarea><img src=x onerror=globalThis.taken=1>`,
  `--><script>globalThis.taken=1</script><!--`,
  `<iframe srcdoc="<script>parent.taken=1</script>"></iframe>`,
  `<style>@import url(https://tracker.example/a.css);*{background:url(https://tracker.example/b.png)}</style>`,
  `<meta http-equiv=refresh content="0;url=https://tracker.example/">`,
  `<form action=https://tracker.example/><button autofocus onfocus=globalThis.taken=1>go</button></form>`,
  `{{constructor.constructor("globalThis.taken=1")()}}\u202e<math><mi xlink:href="javascript:globalThis.taken=1">`
]

const idOf = (number: number): string => `em_hostile${number}`

/** Puts the mails into a mailbox's folder whose platform does not run: sending mail like this pauses an account. */
export const putHostileMails = (folder: string): Promise<void> =>
  Effect.runPromise(
    Effect.flatMap(CaptureMailbox, ({ keep }) =>
      Effect.forEach(
        hostileTexts,
        (text, number) =>
          keep(
            mailOf(idOf(number), {
              from: `"${text}" <a@evil.test>`,
              to: [`"${text}" <b@evil.test>`],
              cc: [text],
              replyTo: [text],
              subject: text,
              html: `<a id="out" href="https://tracker.example/" target="_top">Out</a><a href="https://tracker.example/?${text}">x</a>${text}`,
              text: `${text} https://tracker.example/${text}`,
              headers: { "X-Hostile": text },
              tags: [{ name: text, value: text }],
              attachments: [
                { filename: text, content: "eA==", path: null, contentType: "text/html", contentId: null },
                { filename: null, content: null, path: text, contentType: text, contentId: text }
              ]
            }),
            envelope
          ),
        { discard: true }
      )
    ).pipe(Effect.provide(CaptureMailbox.layerIn(folder)))
  )

export const hostileSection = (url: () => string): void => {
  const needs = needing("chromium")
  let browser: Browser
  beforeAll(async () => {
    if (needs.skip !== true) browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  it("[handoff 3.3] shows what others wrote, which does nothing", needs, async () => {
    const context = await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 860 } })
    context.setDefaultTimeout(patienceMillis)
    const faults = watch(context, [url()])
    const page = await context.newPage()
    const at = `${url()}/dev/mailbox`
    for (const [number, text] of hostileTexts.entries()) {
      await page.goto(`${at}/${idOf(number)}`)
      await page.locator("h1 bdi").waitFor()
      // The frame of that one is empty: the browser refuses the place that it leads to.
      if (!text.includes("refresh")) await page.frameLocator("iframe.mail").locator("#out").dispatchEvent("click")
      for (const tab of ["Text", "HTML", "Headers", "Source", "Links"])
        await page.getByRole("tab", { name: tab }).click()
      await page.getByRole("table", { name: "Links" }).waitFor()
      expect(await page.evaluate("'taken' in globalThis"), text).toBe(false)
      expect(page.url(), text).toBe(`${at}/${idOf(number)}`)
      expect(await page.locator('main a[href^="javascript:"], main a[href^="data:"], #lure').count(), text).toBe(0)
    }
    await page.goto(at)
    await page.locator(`[data-mail="${idOf(0)}"]`).waitFor()
    expect(await page.evaluate("'taken' in globalThis")).toBe(false)
    expect(await page.locator("main script, main img, main iframe, main form[action], #lure").count()).toBe(0)
    expect(faults).toEqual([])
  })
}
