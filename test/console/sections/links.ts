/** Links between an email, its request, its events and their deliveries, and failed deliveries that are sent again. */
import type { BrowserContext, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { accessibilityFaults } from "../../support/browser.ts"
import { heading, picture, press, settled } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask, until } from "../fill.ts"

export const linksSection = (platform: () => ConsolePlatform): void => {
  describe("links", () => {
    let context: BrowserContext
    let page: Page
    let email = ""
    beforeAll(async () => {
      if (platform() === undefined) return
      const { url, warned } = platform()
      context = await platform().browser({ viewport: { width: 1280, height: 860 } })
      page = await context.newPage()
      const sent = await ask("POST", `${url}/v1/send/emails`, warned.key, {
        from: "Ann <a@warned.example>",
        to: ["delivered+link@simulator.invalid"],
        subject: "Turned \u202egnp.exe",
        text: "Hello",
        attachments: [{ filename: "evil\u202egnp.exe", content: Buffer.from("12345").toString("base64") }]
      })
      email = sent.id as string
      await until(
        () => ask("GET", `${url}/v1/events?object=${email}`, warned.key),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      await until(
        () => ask("GET", `${url}/v1/requests?method=POST`, warned.key),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      await signIn(page, url, warned.key)
    })

    it("[platform 12] lead from an email to its request and back, and to its events", async () => {
      await page.goto(`${platform().url}/console/emails/${email}`)
      await heading(page, "Turned [U+202E]gnp.exe")
      await settled(page)
      expect(await page.title()).toBe("Turned [U+202E]gnp.exe · Sluice")
      const attachments = page.getByRole("table", { name: "Attachments" })
      await attachments.getByText("evil[U+202E]gnp.exe").waitFor()
      await attachments.getByText("5 B", { exact: true }).waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
      await picture(page, "email-linked-light")
      await press(page, "link", /^req_/)
      await heading(page, "Requests")
      await press(page, "link", "POST /v1/send/emails")
      await heading(page, "POST /v1/send/emails")
      await press(page, "link", "Emails of its key at that moment")
      await heading(page, "Emails")
      await press(page, "link", "Turned [U+202E]gnp.exe")
      await heading(page, "Turned [U+202E]gnp.exe")
      await press(page, "link", /^send\.email\./)
      await heading(page, /^send\.email\./)
      // The id within the event's JSON.
      await press(page, "link", email)
      await heading(page, "Turned [U+202E]gnp.exe")
    })

    it("[platform 12] lead from a request to the key that it made", async () => {
      const { url, warned } = platform()
      const made = await ask("POST", `${url}/v1/keys`, warned.key, { name: "made", services: ["send"], scopes: [] })
      const requests = await until(
        () => ask("GET", `${url}/v1/requests?path=/v1/keys&method=POST`, warned.key),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      const [request] = requests.data as ReadonlyArray<{ readonly id: string }>
      await page.goto(`${url}/console/requests/${request!.id}`)
      const region = page.getByRole("region", { name: "What it did" })
      await region.getByText("key.created").waitFor()
      await region.getByRole("link", { name: made.id as string }).waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
    })

    it("[platform 7.8] send failed deliveries of an endpoint again, with a count before and the progress after", async () => {
      const { filled, url } = platform()
      const endpoint = filled.endpoints.failing
      // A test is one attempt, so that its delivery fails with it.
      await ask("POST", `${url}/v1/webhooks/${endpoint}/test`, filled.key)
      await until(
        () => ask("GET", `${url}/v1/webhooks/${endpoint}/deliveries?status=failed`, filled.key),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      const own = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await signIn(own, url, filled.key)
      await own.goto(`${url}/console/endpoints/${endpoint}?deliveries=failed`)
      await settled(own)
      const deliveries = own.getByRole("table", { name: "Deliveries" })
      await deliveries.getByText("Failed").first().waitFor()
      await press(own, "button", "Send failed again")
      await own.getByText(/^\d+ deliver(?:y is|ies are) failed\. One attempt is made of each\./).waitFor()
      expect(await accessibilityFaults(own)).toEqual([])
      await press(own, "button", /^Send \d+ again$/)
      await own.getByText(/^\d+ deliver(?:y goes|ies go) out again\./).waitFor()
      await picture(own, "endpoint-recovered-light")
      await own.keyboard.press("Escape")
      // The attempt fails like the one before, and says so in the delivery itself.
      const first = deliveries.getByRole("link").first()
      await first.click()
      await own.getByText("Cause").waitFor()
      await own.getByText("retry", { exact: true }).waitFor()
      await own.getByRole("link", { name: /\/500/ }).waitFor()
    })
  })
}
