/** The operator's lists over all organizations (docs/platform.md, 12.2): every view, on a phone too, and by keyboard. */
import { randomUUID } from "node:crypto"
import type { BrowserContext, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { accessibilityFaults } from "../../support/browser.ts"
import { expectView, heading, picture, press, settled, tabTo, typeInto, watch } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { addDomain, ask, makeOrganization, until } from "../fill.ts"

const invoiceId = `in_${randomUUID().replaceAll("-", "")}`

const putInvoice = (databaseUrl: string, organization: string): Promise<unknown> =>
  query(
    databaseUrl,
    `insert into invoices (id, organization_id, number, amount, currency, status, description, customer_name, created_at)
     values ($1, $2, 1, 4900, 'usd', 'open', 'Team, November 2031', 'Northwind', '2031-11-02T00:00:00Z')`,
    [invoiceId, organization]
  )

const views = [
  ["limits", "/limits", "Limits"],
  ["risk", "/risk", "Risk"],
  ["caps", "/caps", "Send caps"],
  ["invoices", "/invoices?status=any&month=2031-11", "Invoices"],
  ["invoice", `/invoices/${invoiceId}`, "Team, November 2031"],
  ["ingestions", "/ingestions", "Ingestions"],
  ["nodes", "/nodes", "Nodes"],
  ["acts", "/acts?hours=24", "Acts"],
  ["organizations-found", "/organizations?search=northwind", "Organizations"]
] as const

/** Lists whose page an answer can withhold, with the words of an empty one. */
const lists = [
  ["/limits", "**/admin/v1/rates*", "No organization yet"],
  ["/risk", "**/admin/v1/send/accounts*", "No account has begun"],
  ["/caps", "**/admin/v1/send/senders*", "No domain or address yet"],
  ["/invoices", "**/admin/v1/invoices*", "No invoice waits for payment"],
  ["/acts", "**/admin/v1/acts*", "No acts yet"]
] as const

export const operatorListsSection = (platform: () => ConsolePlatform): void => {
  describe("the operator's lists", () => {
    let context: BrowserContext
    let page: Page
    let seen: ReadonlyArray<string>
    const open = async (path: string, title: string | RegExp) => {
      await page.goto(`${platform().adminUrl}/console${path}`)
      await heading(page, title)
      await settled(page)
    }
    beforeAll(async () => {
      if (platform() === undefined) return
      const { adminKey, adminUrl, databaseUrl, filled } = platform()
      await putInvoice(databaseUrl, filled.organization)
      await ask("GET", `${adminUrl}/admin/v1/ingestions`, adminKey)
      await fetch(`${adminUrl}/admin/v1/ingestions`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        body: JSON.stringify({ sources: ["/nowhere/codes.txt"] })
      }).then((response) => response.text())
      context = await platform().browser({ viewport: { width: 1280, height: 860 } })
      seen = watch(context, [adminUrl])
      page = await context.newPage()
      await signIn(page, adminUrl, adminKey)
    })

    it("[platform 12.2] show what is there with their age, without a fault of axe in either theme", async () => {
      for (const [name, path, title] of views) {
        await open(path, title)
        await expectView(page, `operator-${name}`, title)
        await page
          .getByText(/^As of .+, read again every \d+ seconds\.$/)
          .first()
          .waitFor()
      }
      await page.setViewportSize({ width: 390, height: 844 })
      for (const [name, path, title] of views) {
        await open(path, title)
        const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
        expect(wide, name).toBeLessThanOrEqual(0)
        await picture(page, `operator-${name}-phone`)
      }
      expect(await accessibilityFaults(page)).toEqual([])
      await page.setViewportSize({ width: 1280, height: 860 })
      expect(seen).toEqual([])
    })

    it("[platform 12.2] tell loading, empty, unknown and failed apart", async () => {
      for (const [path, address, words] of lists) {
        let isHeld = true
        let release = () => {}
        const held = new Promise<void>((resolve) => {
          release = resolve
        })
        await page.route(address, async (route) => {
          if (isHeld) await held
          await route.fulfill({ json: { data: [], pagination: { hasMore: false } } })
        })
        await page.goto(`${platform().adminUrl}/console${path}`)
        await page.getByText("Loading …").waitFor()
        expect(await page.getByText(words).count()).toBe(0)
        isHeld = false
        release()
        await page.getByText(words).waitFor()
        await page.unroute(address)
        await page.route(address, (route) => route.fulfill({ status: 503, body: "{}" }))
        await page.reload()
        await page.getByRole("alert").waitFor()
        expect(await page.getByText(words).count()).toBe(0)
        await page.unroute(address)
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("alert").waitFor({ state: "detached" })
      }
      const withoutFigures = (key: string) => async (route: import("playwright-core").Route) => {
        const response = await route.fetch()
        const body = (await response.json()) as { readonly data: ReadonlyArray<object> }
        await route.fulfill({ response, json: { ...body, data: body.data.map((one) => ({ ...one, [key]: null })) } })
      }
      await page.route("**/admin/v1/send/senders*", withoutFigures("sending"))
      await open("/caps", "Send caps")
      await page.getByText("Unknown").first().waitFor()
      expect(await page.getByRole("button", { name: /^Set cap of/ }).count()).toBe(0)
      await page.unroute("**/admin/v1/send/senders*")
    })

    it("[platform 8.3] set a rate by keyboard, and list it among those of their own", async () => {
      const { filled } = platform()
      await open(`/limits?search=${filled.organization}`, "Limits")
      await press(page, "button", /^Set the rate of/)
      await tabTo(page, page.getByLabel("Rate", { exact: true }).last())
      await page.keyboard.type("a")
      await typeInto(page, "Requests a minute", "4321")
      await press(page, "button", "Set it")
      await page.getByText("set by an operator").waitFor()
      await tabTo(page, page.getByLabel("Rate", { exact: true }))
      await page.keyboard.type("With")
      await page.waitForURL(/own=true/)
      await page.getByRole("row").filter({ hasText: filled.organization }).getByText("4,321").first().waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
    })

    it("[platform 9.9] find a paused account with its reason, and lift the pause by keyboard", async () => {
      const { adminKey, adminUrl, url } = platform()
      const made = await makeOrganization({ adminKey, adminUrl }, "Held Up Ltd")
      await addDomain(url, made.key, "heldup.example")
      for (const at of [1, 2, 3])
        await ask("POST", `${url}/v1/send/emails`, made.key, {
          from: "a@heldup.example",
          to: [`bounced+${at}@simulator.invalid`],
          subject: "Hello",
          text: "Hello"
        })
      await until(
        () => ask("GET", `${url}/v1/send/tenants`, made.key),
        ({ trustStage }) => trustStage === "sending_paused"
      )
      await open(`/risk?stage=sending_paused&organization=${made.organization}`, "Risk")
      const row = page.getByRole("row").filter({ hasText: made.organization })
      await row.getByText(/^Bounces, /).waitFor()
      await press(page, "button", "Lift the pause of Held Up Ltd, test")
      await press(page, "button", "Lift it")
      await page.getByText("No such account").waitFor()
      await open(`/risk?organization=${made.organization}`, "Risk")
      await row.getByText("Probation").waitFor()
    })

    it("[platform 8.3] find an organization by its domain, and show an invoice with its document", async () => {
      const { filled } = platform()
      await open("/organizations", "Organizations")
      await typeInto(page, "Find", "northwind.ex")
      await page.keyboard.press("Enter")
      await page.waitForURL(/search=northwind\.ex$/)
      await page.getByRole("row").filter({ hasText: filled.organization }).waitFor()
      await open(`/invoices/${invoiceId}`, "Team, November 2031")
      await page.getByText("$49.00").waitFor()
      await page.route("**/document", (route) => route.fulfill({ contentType: "application/pdf", body: "%PDF-1.7" }))
      await press(page, "button", "Make the PDF")
      const link = page.getByRole("link", { name: `Download ${invoiceId}.pdf` })
      await link.waitFor()
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        press(page, "link", `Download ${invoiceId}.pdf`)
      ])
      expect(download.suggestedFilename()).toBe(`${invoiceId}.pdf`)
      await open("/ingestions", "Ingestions")
      await tabTo(page, page.getByRole("tab", { name: "Taken", exact: true }))
      await page.keyboard.press("ArrowRight")
      await page.getByText("/nowhere/codes.txt").first().waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
    })
  })
}
