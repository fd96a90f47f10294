/** Each act of the console by keyboard alone. */
import type { Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { heading, press, settled, tabTo, typeInto } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask } from "../fill.ts"

export const keyboardSection = (platform: () => ConsolePlatform): void => {
  describe("by keyboard alone", () => {
    let page: Page
    const open = async (path: string, title: string | RegExp) => {
      await page.goto(`${platform().url}/console${path}`)
      await heading(page, title)
      await settled(page)
    }
    beforeAll(async () => {
      if (platform() === undefined) return
      const { filled, url } = platform()
      page = await (await platform().browser()).newPage()
      await signIn(page, url, filled.key)
    })

    it("makes an endpoint, tests it, tries patterns, rotates, replays, disables and deletes it", async () => {
      const { receivers } = platform()
      await open("/endpoints", "Endpoints")
      await press(page, "button", "New endpoint")
      await typeInto(page, "Address", `${receivers.url}/200/keyboard`)
      await typeInto(page, "Events", "talk.*")
      await page.keyboard.press("Enter")
      await page.getByText(/whsec_/).waitFor()
      await press(page, "button", "I have kept the secret")
      await press(page, "link", `${receivers.url}/200/keyboard`)
      await heading(page, /keyboard/)
      await press(page, "button", "Send a test")
      await page.getByRole("button", { name: "Sent: see the test event" }).waitFor()
      await typeInto(page, "Patterns", "send.* telco.*")
      await page.keyboard.press("Enter")
      await press(page, "button", "Save for this endpoint")
      await page.getByText("send.* telco.*", { exact: true }).waitFor()
      await press(page, "button", "Edit")
      await typeInto(page, "Address", `${receivers.url}/200/keyboard-moved`)
      await typeInto(page, "Description", "Moved by keyboard")
      await typeInto(page, "Attempts per second at most", "7")
      await page.keyboard.press("Enter")
      await heading(page, /keyboard-moved/)
      await page.getByText("Moved by keyboard").waitFor()
      await press(page, "button", "Rotate secret")
      await press(page, "button", "Rotate")
      await page.getByText("The one before signs too until").waitFor()
      await press(page, "button", "I have kept it")
      await press(page, "button", "Replay")
      await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Replay" }))
      await page.keyboard.press("Enter")
      await page.getByText(/events are sent again/).waitFor()
      await page.keyboard.press("Escape")
      await press(page, "button", "Disable")
      await page.getByRole("button", { name: "Enable" }).waitFor()
      await press(page, "button", "Delete")
      await press(page, "button", "Delete it")
      await heading(page, "Endpoints")
    })

    it("[platform 9.20] finds emails by a recipient, and opens an id, from any view", async () => {
      await open("/keys", "API keys")
      await page.keyboard.press("/")
      await page.keyboard.type("customer3 report")
      await page.keyboard.press("Enter")
      await heading(page, "Emails")
      await page.waitForURL(/search=/)
      expect(await page.getByLabel("Search", { exact: true }).inputValue()).toBe("customer3 report")
      const found = page.getByRole("table", { name: "Emails" })
      await page.getByText("No such email").waitFor()
      await page.keyboard.press("Control+k")
      await page.keyboard.type("customer4 report")
      await page.keyboard.press("Enter")
      const mail = found.getByRole("link", { name: "Your weekly report" })
      await mail.waitFor()
      expect(await found.getByRole("row").count()).toBe(2)
      expect(await page.getByLabel("Search", { exact: true }).inputValue()).toBe("customer4 report")
      const id = (await mail.getAttribute("href"))!.split("/").at(-1)!
      await page.keyboard.press("Control+k")
      await page.keyboard.type(id)
      await page.keyboard.press("Enter")
      await heading(page, "Your weekly report")
      const { filled, url } = platform()
      const { data } = await ask("GET", `${url}/v1/events?type=telco.*&limit=1`, filled.key)
      const [event] = data as ReadonlyArray<{ readonly eventId: string; readonly type: string }>
      await page.keyboard.press("Control+k")
      await page.keyboard.type(event!.eventId)
      await page.keyboard.press("Enter")
      await heading(page, event!.type)
      await page.waitForURL((place) => place.pathname === `/console/events/${event!.eventId}`)
    })

    it("unpauses an endpoint, and sends a delivery again", async () => {
      const { filled, url } = platform()
      await open(`/endpoints/${filled.endpoints.paused}`, /410/)
      await press(page, "button", /^Unpause/)
      await page.getByRole("dialog").waitFor()
      // Without the replay it would be paused by its receiver at once.
      await tabTo(page, page.getByLabel("Also send what it missed since the pause"))
      await page.keyboard.press("Space")
      await press(page, "button", "Unpause")
      await page.getByRole("dialog").waitFor({ state: "detached" })
      const { data } = await ask(
        "GET",
        `${url}/v1/webhooks/${filled.endpoints.well}/deliveries?status=succeeded`,
        filled.key
      )
      const { id } = (data as ReadonlyArray<{ readonly id: string }>)[0]!
      await open(`/endpoints/${filled.endpoints.well}/deliveries/${id}`, /\w/)
      await press(page, "button", "Send again")
      await page.getByText("retry", { exact: true }).waitFor()
      await press(page, "tab", "Headers")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("ArrowRight")
      await page.getByText("Make it yourself").waitFor()
    })

    it("takes an email back", async () => {
      await open("/emails?state=scheduled", "Emails")
      await press(page, "link", "See you tomorrow")
      await heading(page, "See you tomorrow")
      await press(page, "button", "Take it back")
      await page.getByRole("main").getByText("Canceled").first().waitFor()
    })

    it("adds and removes a domain, an address and a suppression", async () => {
      await open("/domains", "Domains")
      await press(page, "button", "Add a domain")
      await typeInto(page, "Domain", "keyboard.example")
      await page.keyboard.press("Enter")
      await heading(page, "keyboard.example")
      await press(page, "button", "Check now")
      await page.getByRole("main").getByText("Verified").first().waitFor()
      await press(page, "button", "Remove")
      await press(page, "button", "Remove it")
      await heading(page, "Domains")
      await press(page, "button", "Add an address")
      await typeInto(page, "Address", "single@keyboard.example")
      await page.keyboard.press("Enter")
      await page.getByRole("dialog").waitFor({ state: "detached" })
      await press(page, "tab", "Domains")
      await page.keyboard.press("ArrowRight")
      await press(page, "button", "Remove single@keyboard.example")
      await press(page, "button", "Remove it")
      await page.getByText("No single address").waitFor()
      await open("/suppressions", "Suppressions")
      await press(page, "button", "Add an address")
      await typeInto(page, "Address", "keyboard@example.org")
      await page.keyboard.press("Enter")
      await press(page, "button", "Remove keyboard@example.org")
      await press(page, "button", "Remove it")
      await page.getByRole("rowheader", { name: "keyboard@example.org" }).waitFor({ state: "detached" })
    })

    it("makes, rotates and revokes a key, which outlives the session", async () => {
      const { filled, url } = platform()
      await open("/keys", "API keys")
      await press(page, "button", "New key")
      await typeInto(page, "Name", "by keyboard")
      await tabTo(page, page.getByLabel("telco", { exact: true }))
      await page.keyboard.press("Space")
      await press(page, "button", "Make it")
      const text = await page.getByText(/^sk_test_\w{22}/).textContent()
      expect((await ask("GET", `${url}/v1/console/session`, text!)).expiresAt).toBeNull()
      await press(page, "button", "I have kept it")
      await press(page, "button", "Rotate by keyboard")
      await press(page, "button", "Rotate")
      await press(page, "button", "I have kept it")
      await press(page, "button", "Revoke by keyboard")
      await press(page, "button", "Revoke it")
      await page.getByText("Revoked").first().waitFor()
      expect(filled.key).not.toBe(text)
    })

    it("changes the colours, and begins each view at its title", async () => {
      await open("", "Overview")
      await press(page, "button", /^Colours/)
      expect(await page.evaluate(`document.documentElement.dataset.theme`)).toBe("dark")
      await press(page, "link", "Sending")
      await heading(page, "Sending")
      expect(await page.evaluate(`document.activeElement?.tagName`)).toBe("H1")
      expect(await page.title()).toBe("Sending · Sluice")
    })
  })
}
