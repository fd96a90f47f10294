/** The documentation of the API in a real browser (docs/platform.md, 12.7): by keyboard, in both themes, on a phone. */
import { beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "../../support/browser.ts"
import { expectView, heading, picture, press, tabTo, watch } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"

/** Pages of the documentation: the introduction, a request with a body, a list, an event. */
const shown = [
  ["docs", "", /Sluice/],
  ["docs-send", "#emails.create", "Send an email"],
  ["docs-events", "#events.list", "List events"],
  ["docs-event", "#deliveries.sendEmailSent", "send.email.sent"]
] as const

export const docsSection = (platform: () => ConsolePlatform): void => {
  describe("the API's documentation", () => {
    let open: () => Promise<import("playwright-core").Page>
    const faults: Array<ReadonlyArray<string>> = []
    beforeAll(() => {
      open = async () => {
        const context = await platform().browser({ viewport: { width: 1280, height: 860 } })
        faults.push(watch(context, [platform().url]))
        return context.newPage()
      }
    })

    it("[platform 12.7] has email first, each request once, and no fault of axe in either theme", async () => {
      const page = await open()
      for (const [name, place, title] of shown) {
        await page.goto(`${platform().url}/docs${place}`)
        await expectView(page, name, title)
      }
      const groups = await page.locator("nav summary").allTextContents()
      expect(groups.slice(0, 2)).toEqual(["Emails", "Send: domains"])
      const links = await page
        .locator("nav .group a")
        .evaluateAll((all) =>
          all.map((link) => `${link.closest("details")?.querySelector("summary")?.textContent} ${link.textContent}`)
        )
      expect(links.length).toBeGreaterThan(90)
      expect(new Set(links).size).toBe(links.length)
      expect(faults.flat()).toEqual([])
    })

    it("[platform 12.7] finds an operation by keyboard, and sends it with a typed key that stays in the page", async () => {
      const { filled, url } = platform()
      const page = await open()
      await page.goto(`${url}/docs`)
      await heading(page, /Sluice/)
      await page.keyboard.press("/")
      await page.keyboard.type("send an email")
      await tabTo(page, page.getByRole("link", { name: "Send an email POST" }))
      await page.keyboard.press("Enter")
      await heading(page, "Send an email")
      await page.getByText(`curl -X POST '${url}/v1/send/emails`).waitFor()
      await press(page, "tab", "curl")
      await page.keyboard.press("ArrowRight")
      await page.getByText("await fetch(").waitFor()
      await tabTo(page, page.getByLabel("API key"))
      await page.keyboard.type("sk_live_unknown")
      await page.keyboard.press("Enter")
      await page.getByText("This API key is not known.").first().waitFor()
      await tabTo(page, page.getByLabel("API key"))
      await page.keyboard.press("ControlOrMeta+a")
      await page.keyboard.type(filled.key)
      await tabTo(page, page.getByLabel("Body of the request"))
      await page.keyboard.press("ControlOrMeta+a")
      await page.keyboard.type('{"from": "a@nobody.example", "to": "b@example.com", "subject": "Hi", "text": "Hi"}')
      await press(page, "button", "Send POST")
      await page.getByLabel("Answer", { exact: true }).getByText("sender_not_verified").waitFor()
      const kept = await page.evaluate("JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }])")
      expect(kept).not.toContain(filled.key)
    })

    it("[platform 12.7] acts as the console's session where there is one", async () => {
      const { filled, url } = platform()
      const page = await open()
      await signIn(page, url, filled.key)
      await page.goto(`${url}/docs#events.list`)
      await page.getByText(/Without one you act as .+ in (live|test) mode/).waitFor()
      await press(page, "button", "Send GET")
      await page.getByText("Status 200").waitFor()
      await picture(page, "docs-answer")
      await page.goto(`${url}/docs#events.get`)
      await page.getByText("Fill in the path's parameters first.").waitFor()
    })

    it("fits a phone without scrolling sideways", async () => {
      const page = await open()
      await page.setViewportSize({ width: 390, height: 844 })
      for (const [name, place, title] of shown) {
        await page.goto(`${platform().url}/docs${place}`)
        await heading(page, title)
        const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
        expect(wide, name).toBeLessThanOrEqual(0)
        await picture(page, `${name}-phone`)
      }
      expect(await accessibilityFaults(page)).toEqual([])
      await press(page, "button", "Menu")
      await picture(page, "docs-menu-phone")
    })
  })
}
