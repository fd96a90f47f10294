/** The local mailbox in a real browser (docs/handoff.md, 3): by keyboard, in both themes, on a phone, and with what others wrote. */

import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { until } from "../../../cli/support.ts"
import { expectView, heading, picture, press, tabTo, watch } from "../../../console/acting.ts"
import { signIn } from "../../../console/consolePlatform.ts"
import { accessibilityFaults, launchBrowser } from "../../../support/browser.ts"
import { needing } from "../../../support/needs.ts"
import { patienceMillis } from "../../../support/patience.ts"

export interface MailboxReached {
  readonly url: string
  readonly key: string
  readonly sent: (fields: object) => Promise<string>
}

const subjects = (page: Page) => page.locator(".mails .subject")
const row = (page: Page, id: string) => page.locator(`[data-mail="${id}"]`)
const isAt = (page: Page, id: string) =>
  until(() => page.evaluate<boolean>(`document.activeElement?.dataset?.mail === ${JSON.stringify(id)}`))

const order = {
  from: "Northwind <orders@demo.test>",
  to: "Bob Baker <bob@example.com>",
  subject: "Your order 1042",
  html: `<h1>On its way</h1><p><a href="https://nowhere.invalid/track">Follow it</a></p><img src="https://tracker.example/p.png" alt="logo"><img src="cid:pic" alt="inside">`,
  text: "On its way",
  attachments: [
    { filename: "note.txt", content: Buffer.from("<b>a note</b>").toString("base64") },
    {
      filename: "pic.png",
      content: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
      content_type: "image/png",
      content_id: "pic"
    },
    { filename: "page.html", content: Buffer.from("<script>1</script>").toString("base64"), content_type: "text/html" }
  ]
}

export const browserSection = (reached: () => MailboxReached): void => {
  const needs = needing("chromium")
  describe("in a browser", needs, () => {
    let browser: Browser
    let context: BrowserContext
    let page: Page
    let faults: ReadonlyArray<string> = []
    const ids: Record<"order" | "report" | "reset", string> = { order: "", report: "", reset: "" }
    const at = (path = "") => `${reached().url}/dev/mailbox${path}`

    beforeAll(async () => {
      if (needs.skip === true) return
      browser = await launchBrowser()
      context = await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 860 } })
      context.setDefaultTimeout(patienceMillis)
      faults = watch(context, [reached().url])
      page = await context.newPage()
    })
    afterAll(() => browser?.close())

    it("[handoff 3] shows mails as they come, without a fault of axe", async () => {
      await page.goto(at())
      await heading(page, "Mailbox")
      await page.getByText("No mail was handed over yet.").waitFor()
      await page.getByText("Connected").waitFor()
      await expectView(page, "mailbox-empty", "Mailbox")
      ids.order = await reached().sent(order)
      await row(page, ids.order).waitFor()
      ids.report = await reached().sent({ to: "carol@example.com", subject: "Weekly report", text: "Numbers are up" })
      await row(page, ids.report).waitFor()
      ids.reset = await reached().sent({ to: "bob@example.com", subject: "Reset \u202eyour password", text: "Reset" })
      await row(page, ids.reset).waitFor()
      expect(await subjects(page).allTextContents()).toEqual([
        "Unread: Reset U+202Eyour password",
        "Unread: Weekly report",
        "Unread: Your order 1042"
      ])
      expect(await page.title()).toBe("(3) Mailbox · Sluice")
      await expectView(page, "mailbox", "Mailbox")
    })

    it("[handoff 3.2] finds mails by keyboard, and forgets the search by Escape", async () => {
      await page.keyboard.press("/")
      await page.keyboard.type("to:bob@ -subject:reset")
      await page.keyboard.press("Enter")
      await row(page, ids.report).waitFor({ state: "detached" })
      expect(await subjects(page).allTextContents()).toEqual(["Unread: Your order 1042"])
      expect(new URL(page.url()).search).toBe(`?${new URLSearchParams({ q: "to:bob@ -subject:reset" })}`)
      await page.keyboard.press("/")
      await page.keyboard.type("is:odd")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").getByText("'is:' takes unread, read, live, test").waitFor()
      await page.keyboard.press("/")
      await page.keyboard.press("Escape")
      await row(page, ids.report).waitFor()
    })

    it("[handoff 3.3] opens a mail by keyboard: its forms, its widths, its attachments, its links", async () => {
      await page.locator("h1").focus()
      for (const id of [ids.reset, ids.report, ids.order]) {
        await page.keyboard.press("j")
        await isAt(page, id)
      }
      await page.keyboard.press("Enter")
      await heading(page, "Your order 1042")
      await page.frameLocator("iframe.mail").getByRole("heading", { name: "On its way" }).waitFor()
      await expectView(page, "mailbox-mail", "Your order 1042")
      expect(await page.locator("iframe.mail").getAttribute("sandbox")).toBe("")
      const inside = page.frameLocator("iframe.mail").getByAltText("inside")
      expect(await inside.evaluate((picture) => (picture as unknown as { naturalWidth: number }).naturalWidth)).toBe(1)
      await tabTo(page, page.getByLabel("Desktop"))
      for (const [key, width] of [
        ["ArrowLeft", 768],
        ["ArrowLeft", 375]
      ] as const) {
        await page.keyboard.press(key)
        await expect.poll(async () => (await page.locator("iframe.mail").boundingBox())?.width).toBe(width)
      }
      await tabTo(page, page.getByRole("tab", { name: "As shown" }))
      for (const tab of ["Text", "HTML", "Headers", "Source", "Links"]) {
        await page.keyboard.press("ArrowRight")
        await page.getByRole("tab", { name: tab, selected: true }).waitFor()
        if (tab === "Headers") await page.getByRole("rowheader", { name: "Message-ID" }).waitFor()
        if (tab === "Source") await page.getByText("Subject: Your order 1042").waitFor()
        expect(await accessibilityFaults(page), tab).toEqual([])
      }
      await press(page, "button", "Check the links")
      await page.getByText("No answer").first().waitFor()
      await picture(page, "mailbox-links")
      const note = await page.request.get(at(`/${ids.order}/attachments/0`))
      expect([note.headers()["content-type"], await note.text()]).toEqual([
        "text/plain; charset=utf-8",
        "<b>a note</b>"
      ])
      expect(await page.getByRole("link", { name: "Open page.html" }).count()).toBe(0)
      expect(await page.getByRole("link", { name: "Download page.html" }).count()).toBe(1)
    })

    it("[handoff 3.1] moves on, marks and deletes by keyboard", async () => {
      await page.locator("h1").focus()
      await page.keyboard.press("k")
      await heading(page, "Weekly report")
      await page.keyboard.press("Escape")
      await heading(page, "Mailbox")
      await isAt(page, ids.report)
      await expect.poll(() => page.title()).toBe("(1) Mailbox · Sluice")
      await page.keyboard.press("u")
      await expect.poll(() => page.title()).toBe("(2) Mailbox · Sluice")
      await page.keyboard.press("x")
      await page.getByText("1 selected").waitFor()
      await picture(page, "mailbox-selected")
      await press(page, "button", "Delete selected")
      await row(page, ids.report).waitFor({ state: "detached" })
      await row(page, ids.order).focus()
      await page.keyboard.press("Delete")
      await row(page, ids.order).waitFor({ state: "detached" })
      await isAt(page, ids.reset)
      expect((await page.request.get(at(`/${ids.order}`), { headers: { accept: "application/json" } })).status()).toBe(
        404
      )
    })

    it("[handoff 3] leads to the email in the console, and back", async () => {
      await signIn(page, reached().url, reached().key)
      await press(page, "link", "Local mailbox")
      await row(page, ids.reset).click()
      await press(page, "link", "In the console")
      await page.waitForURL(`${reached().url}/console/emails/${ids.reset}`)
      await press(page, "link", "In the local mailbox")
      await page.waitForURL(at(`/${ids.reset}`))
      await heading(page, "Reset U+202Eyour password")
    })

    it("fits a phone without scrolling sideways, and deletes all once it is said twice", async () => {
      await page.setViewportSize({ width: 390, height: 844 })
      const wide = () => page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
      await page.goto(at(`/${ids.reset}`))
      await heading(page, /Reset/)
      await page.getByRole("tab", { name: "Headers" }).click()
      expect(await wide()).toBeLessThanOrEqual(0)
      await picture(page, "mailbox-mail-phone")
      await page.goto(at())
      await row(page, ids.reset).waitFor()
      expect(await wide()).toBeLessThanOrEqual(0)
      expect(await accessibilityFaults(page)).toEqual([])
      await picture(page, "mailbox-phone")
      await press(page, "button", "Delete all")
      await page.getByRole("dialog").waitFor()
      await picture(page, "mailbox-dialog-phone")
      await press(page, "button", "Cancel")
      await row(page, ids.reset).waitFor()
      await press(page, "button", "Delete all")
      await page.getByRole("dialog").getByRole("button", { name: "Delete all" }).press("Enter")
      await page.getByText("No mail was handed over yet.").waitFor()
      expect(faults).toEqual([])
    })
  })
}
