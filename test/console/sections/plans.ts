/** Plans in the console (docs/platform.md, 11.2 to 11.4): bought, changed, canceled and kept, by keyboard, on a checkout page that says whose they are. */
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "../../support/browser.ts"
import { expectView, heading, picture, press, settled, tabTo } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask, makeOrganization, until } from "../fill.ts"

export const plansSection = (platform: () => ConsolePlatform): void => {
  describe("[platform 11.4] plans", () => {
    let page: Page
    let key: string
    let organization: string
    const subscription = () => ask("GET", `${platform().url}/v1/billing/subscription`, key)

    beforeAll(async () => {
      if (platform() === undefined) return
      const made = await makeOrganization(platform(), "Westwind")
      key = made.key
      organization = made.organization
      page = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await signIn(page, platform().url, key)
    })

    const buy = async (verb: string, name: string) => {
      await press(page, "button", `${verb}: ${name}`)
      await page.getByRole("dialog").getByText("for Westwind").waitFor()
      await press(page, "button", "Go to the checkout")
      await heading(page, "Checkout")
    }

    /** Presses the button of a checkout, whose payment an operator confirms, and comes back. */
    const pay = async () => {
      const { adminKey, adminUrl } = platform()
      await tabTo(page, page.getByRole("button", { name: /^Pay/ }))
      await page.keyboard.press("Enter")
      await heading(page, "Thank you for your order")
      const { data } = await until(
        () => ask("GET", `${adminUrl}/admin/v1/organizations/${organization}/invoices`, adminKey),
        (invoices) => (invoices.data as ReadonlyArray<{ readonly status: string }>).some((one) => one.status === "open")
      )
      const { id } = (data as ReadonlyArray<{ readonly id: string; readonly status: string }>).find(
        ({ status }) => status === "open"
      )!
      await ask("POST", `${adminUrl}/admin/v1/invoices/${id}/pay`, adminKey)
      await press(page, "link", "Continue")
      await heading(page, "Plan and usage")
      await settled(page)
    }

    it("are shown with their prices, and bought on a page that names the organization and test mode", async () => {
      await press(page, "link", "Plan and usage")
      await heading(page, "Plan and usage")
      await page.getByText("6,000 requests a minute, 50,000 emails a month").waitFor()
      await expectView(page, "plans-none", "Plan and usage")
      await buy("Buy", "Early Adopter with Hobby")
      await page.getByText("Westwind").waitFor()
      await page.getByText("This checkout was begun in test mode.").waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
      await picture(page, "checkout")
      await pay()
      await page.getByText("Thank you.").waitFor()
      expect(await subscription()).toMatchObject({ plan: "early_adopter", sendPlan: "hobby" })
    })

    it("are changed, canceled with their period, and taken back", async () => {
      await page.goto(`${platform().url}/console/billing`)
      await settled(page)
      await buy("Change to it", "Team with Pro")
      await pay()
      await page.getByText("Yours").waitFor()
      expect(await subscription()).toMatchObject({ plan: "team", sendPlan: "pro" })
      await press(page, "button", "Cancel it")
      await press(page, "button", "Cancel at the period's end")
      await page.getByText("Canceled with its period").waitFor()
      await expectView(page, "plans-canceled", "Plan and usage")
      await press(page, "button", "Take the cancellation back")
      await page.getByRole("button", { name: "Cancel it" }).waitFor()
      expect(await subscription()).toMatchObject({ status: "active", cancelAtPeriodEnd: false })
      await page.setViewportSize({ width: 390, height: 844 })
      expect(await page.evaluate<number>(`document.documentElement.scrollWidth - innerWidth`)).toBeLessThanOrEqual(0)
      await picture(page, "plans-phone")
    })
  })
}
