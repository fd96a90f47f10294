/** The portal of a label (docs/platform.md, 6.14): the views of its endpoints, by keyboard, in both themes and on a phone, and nothing else. */
import type { BrowserContext, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "../../support/browser.ts"
import { expectView, heading, picture, press, settled, typeInto, watch } from "../acting.ts"
import type { ConsolePlatform } from "../consolePlatform.ts"
import { ask } from "../fill.ts"

export const portalSection = (platform: () => ConsolePlatform): void => {
  describe("[platform 6.14] a portal", () => {
    let context: BrowserContext
    let page: Page
    let faults: ReadonlyArray<string>
    let link: string
    let foreign: string
    /** Answers of the API that are faults, by what was asked. */
    const refusals: Array<string> = []
    const own = () => `${platform().receivers.url}/200/ann`

    beforeAll(async () => {
      if (platform() === undefined) return
      const { filled, receivers, url } = platform()
      const made = await ask("POST", `${url}/v1/webhooks`, filled.key, {
        url: `${receivers.url}/200/ben`,
        enabled_events: ["telco.*"],
        label: "ben"
      })
      foreign = made.id as string
      const portal = await ask("POST", `${url}/v1/webhooks/portal`, filled.key, { label: "ann", types: ["telco.*"] })
      link = portal.url as string
      context = await platform().browser({ viewport: { width: 1280, height: 860 } })
      faults = watch(context, [url])
      page = await context.newPage()
      page.on("response", (response) => {
        const isAsked = /\/console\/(session|portal)$/.test(new URL(response.url()).pathname)
        if (response.status() >= 400 && !isAsked) refusals.push(`${response.status()} ${response.url()}`)
      })
    })

    it("opens by its link, and shows whose it is and one entry alone", async () => {
      await page.goto(link)
      await heading(page, "Endpoints")
      expect(page.url()).toBe(`${platform().url}/console`)
      const navigation = page.getByRole("navigation", { name: "Console" })
      expect(await navigation.textContent()).toContain("Northwind")
      expect(await navigation.textContent()).toContain("Endpoints of ann")
      expect(await navigation.getByRole("listitem").allTextContents()).toEqual(["Endpoints"])
      await page.getByText("No endpoint yet").waitFor()
      expect(await page.textContent("body")).not.toContain("sk_")
    })

    it("makes an endpoint by keyboard alone, tests it, shows its delivery, rotates its secret and disables it", async () => {
      await press(page, "button", "New endpoint")
      await typeInto(page, "Address", own())
      await typeInto(page, "Events", "send.*")
      await page.keyboard.press("Enter")
      await page.getByText("enabled_events may not have").waitFor()
      await typeInto(page, "Events", "telco.lookup.*")
      await page.keyboard.press("Enter")
      await page.getByText(/whsec_/).waitFor()
      await press(page, "button", "I have kept the secret")
      await press(page, "link", own())
      await heading(page, own())
      await press(page, "button", "Send a test")
      await page.getByText("Sent: see its delivery below").waitFor()
      await press(page, "link", "platform.test")
      await heading(page, "platform.test")
      await page.getByRole("main").getByText("Succeeded").first().waitFor()
      await settled(page)
      expect(await page.getByRole("main").getByRole("link").allTextContents()).not.toContainEqual(
        expect.stringContaining("evt_")
      )
      await press(page, "button", "Send again")
      await press(page, "link", "Endpoint")
      await heading(page, own())
      await press(page, "button", "Rotate secret")
      await press(page, "button", "Rotate")
      await press(page, "button", "I have kept it")
      await press(page, "button", "Disable")
      await page.getByRole("region", { name: "Why" }).waitFor()
      await press(page, "button", "Enable")
      await page.getByRole("button", { name: "Disable" }).waitFor()
      // The one refusal is that of the patterns.
      expect(refusals).toEqual([`400 ${platform().url}/v1/webhooks`])
    })

    it("is without a fault of axe in either theme, and fits a phone", async () => {
      const { filled, url } = platform()
      const { endpoints } = (await ask("GET", `${url}/v1/webhooks?label=ann`, filled.key)) as {
        readonly endpoints: ReadonlyArray<{ readonly id: string }>
      }
      const { id } = endpoints[0]!
      const { data } = await ask("GET", `${url}/v1/webhooks/${id}/deliveries`, filled.key)
      const [delivery] = data as ReadonlyArray<{ readonly id: string }>
      for (const [name, path, title] of [
        ["portal", "", "Endpoints"],
        ["portal-endpoint", `/endpoints/${id}`, own()],
        ["portal-delivery", `/endpoints/${id}/deliveries/${delivery!.id}`, "platform.test"]
      ] as const) {
        await page.setViewportSize({ width: 1280, height: 860 })
        await page.goto(`${url}/console${path}`)
        await expectView(page, name, title)
        await page.setViewportSize({ width: 390, height: 844 })
        const wide = await page.evaluate<number>(`document.documentElement.scrollWidth - innerWidth`)
        expect(wide, name).toBeLessThanOrEqual(0)
        await picture(page, `${name}-phone`)
      }
      await press(page, "button", "Menu")
      expect(await accessibilityFaults(page)).toEqual([])
      await page.setViewportSize({ width: 1280, height: 860 })
      expect(faults).toEqual([])
    })

    it("shows nothing of others, whatever address is typed", async () => {
      const { filled, url } = platform()
      await page.goto(`${url}/console/endpoints/${foreign}`)
      await page.getByText(`There is no webhook endpoint ${foreign}`).waitFor()
      for (const path of ["/keys", "/events", "/emails", "/billing", "/sending"]) {
        await page.goto(`${url}/console${path}`)
        await heading(page, "Nothing here")
      }
      const texts = await page.evaluate<string>(
        `Promise.all(["/v1/webhooks", "/v1/events", "/v1/events/stream", "/v1/keys", "/v1/send/emails", "/v1/webhooks/${foreign}/deliveries"].map(
          async (path) => (await fetch(path, { headers: { "x-sluice-console": "1" } })).text())).then((all) => all.join(" "))`
      )
      expect(texts).toContain(own())
      expect(texts).not.toContain("/200/ben")
      expect(texts).not.toContain(filled.keyId)
      expect(texts).not.toContain("northwind.example")
    })

    it("ends by signing out, and its link opens it no more", async () => {
      await page.goto(`${platform().url}/console`)
      await heading(page, "Endpoints")
      await press(page, "button", "Sign out")
      await page.getByText("You are signed out.").waitFor()
      await page.getByText("ask for another link").waitFor()
      expect(await page.getByLabel("API key").count()).toBe(0)
      expect(await accessibilityFaults(page)).toEqual([])
      const other = await context.newPage()
      await other.goto(link)
      await other.getByText("This link is not good, or not any more").waitFor()
      await other.getByText("ask for another link").waitFor()
    })
  })
}
