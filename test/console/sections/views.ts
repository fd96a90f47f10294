/** Every view in both themes and on a phone, and what changes in it by itself. */
import type { BrowserContext, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { accessibilityFaults } from "../../support/browser.ts"
import { expectView, heading, picture, press, settled, tabTo, typeInto, watch } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask, until } from "../fill.ts"

interface Ids {
  readonly eventId: string
  readonly deliveryId: string
  readonly emails: Readonly<Record<string, string>>
  readonly requestId: string
}

/** Puts reports of other mail systems about a domain there. Their names are theirs to choose. */
const putReports = async (databaseUrl: string, domain: string): Promise<void> => {
  const day = Date.now() - (Date.now() % 86_400_000)
  await query(
    databaseUrl,
    `with owner as (select id, organization_id, $2::int8 as day from send_domains where id = $1),
     reports as (
       insert into send_domain_reports (domain_id, organization_id, day, kind, reporter, report_id, network, received_at)
       select owner.*, kind, '<img src=x onerror=taken=1>', '1', '192.0.2.9', $2 from owner, unnest(array['dmarc', 'tls']) as kind),
     sessions as (
       insert into send_tls_sessions
       select owner.*, 'sts', result, sessions
       from owner, (values ('successful', 9), ('certificate-expired', 1)) as made (result, sessions))
     insert into send_dmarc_sources
     select owner.*, made.* from owner,
       (values ('192.0.2.1', 12060, 12060, 12060, 0, 0, 0), ('198.51.100.7', 240, 0, 0, 0, 0, 240)) as made`,
    [domain, day]
  )
}

/** The views of a filled organization. */
const viewsOf = ({ filled }: ConsolePlatform, { deliveryId, emails, eventId, requestId }: Ids) =>
  [
    ["overview", "", "Overview"],
    ["events", "/events", "Events"],
    ["event", `/events/${eventId}`, /\w\.\w/],
    ["endpoints", "/endpoints", "Endpoints"],
    ["endpoint", `/endpoints/${filled.endpoints.well}`, /200/],
    ["endpoint-paused", `/endpoints/${filled.endpoints.paused}`, /410/],
    ["delivery", `/endpoints/${filled.endpoints.well}/deliveries/${deliveryId}`, /\w\.\w/],
    ["emails", "/emails", "Emails"],
    ["email", `/emails/${emails.sent}`, /\w/],
    ["email-bounced", `/emails/${emails.bounced}`, /\w/],
    ["email-held", `/emails/${emails.held}`, /\w/],
    ["sending", "/sending", "Sending"],
    ["domains", "/domains", "Domains"],
    ["domain", `/domains/${filled.domain}`, "northwind.example"],
    ["suppressions", "/suppressions", "Suppressions"],
    ["keys", "/keys", "API keys"],
    ["requests", "/requests", "Requests"],
    ["requests-failed", "/requests?status=4xx&hours=24", "Requests"],
    ["request", `/requests/${requestId}`, /^DELETE /],
    ["audit", "/audit", "Audit"],
    ["billing", "/billing", "Plan and usage"]
  ] as const

const first = (answer: Record<string, unknown>, key: string): string =>
  (answer.data as ReadonlyArray<Record<string, string>>)[0]![key]!

export const viewsSection = (platform: () => ConsolePlatform): void => {
  describe("every view", () => {
    let context: BrowserContext
    let faults: ReadonlyArray<string>
    let views: ReturnType<typeof viewsOf>
    let page: Page
    beforeAll(async () => {
      if (platform() === undefined) return
      const given = platform()
      const { filled, url } = given
      await putReports(given.databaseUrl, filled.domain)
      const at = (path: string) => ask("GET", `${url}${path}`, filled.key)
      const eventId = first(await at("/v1/events?type=telco.lookup.completed"), "eventId")
      const deliveries = await at(`/v1/webhooks/${filled.endpoints.well}/deliveries`)
      const idOf = async (state: string) => first(await at(`/v1/send/emails?state=${state}`), "id")
      const emails = {
        sent: await idOf("delivered"),
        bounced: await idOf("bounced"),
        held: await idOf("held")
      }
      // A failure, with bodies to show.
      await fetch(`${url}/v1/keys/key_none`, { method: "DELETE", headers: { authorization: `Bearer ${filled.key}` } })
      const failed = await until(
        () => at("/v1/requests?method=DELETE&status=404"),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      const requestId = first(failed, "id")
      views = viewsOf(given, { deliveryId: first(deliveries, "id"), emails, eventId, requestId })
      context = await given.browser({ viewport: { width: 1280, height: 860 } })
      faults = watch(context, [url])
      page = await context.newPage()
      await signIn(page, url, filled.key)
    })

    it("shows what is there, without a fault of axe in either theme", async () => {
      for (const [name, path, title] of views) {
        await page.goto(`${platform().url}/console${path}`)
        await expectView(page, name, title)
      }
      expect(faults).toEqual([])
    })

    it("fits a phone without scrolling sideways, with a menu", async () => {
      await page.setViewportSize({ width: 390, height: 844 })
      for (const [name, path, title] of views) {
        await page.goto(`${platform().url}/console${path}`)
        await heading(page, title)
        await settled(page)
        const wide = await page.evaluate<number>(`document.documentElement.scrollWidth - innerWidth`)
        expect(wide, name).toBeLessThanOrEqual(0)
        await picture(page, `${name}-phone`)
      }
      expect(await accessibilityFaults(page)).toEqual([])
      await press(page, "button", "Menu")
      await picture(page, "menu-phone")
      await press(page, "link", "Sending")
      await heading(page, "Sending")
      await page.setViewportSize({ width: 1280, height: 860 })
    })

    it("[platform 9.21] tells what other mail systems report about a domain", async () => {
      await page.goto(`${platform().url}/console/domains/${platform().filled.domain}`)
      const reports = page.getByRole("region", { name: "reports of other mail systems" })
      await reports
        .getByText("98 % of 12,300 messages passed. 198.51.100.7 sent 240 that failed both SPF and DKIM.")
        .waitFor()
      await reports.getByText("90 % of 10 connections to this domain were encrypted properly.").waitFor()
      await reports.getByText("as reported by <img src=x onerror=taken=1> (1)").first().waitFor()
      const rows = await reports.getByRole("row").allTextContents()
      expect(rows.find((row) => row.startsWith("198.51.100.7"))).toMatch(/24000240240$/)
      expect(rows.at(-1)).toMatch(/, sts91certificate-expired \(1\)$/)
    })

    it("tells why sending is paused, in order", async () => {
      const { paused, url } = platform()
      const own = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await signIn(own, url, paused.key)
      await own.getByRole("link", { name: "Sending", exact: true }).click()
      const why = own.getByRole("region", { name: "Why sending is paused" })
      await why.getByText("Sending was paused").waitFor()
      const story = await why.getByRole("listitem").allTextContents()
      expect(story[0]).toContain("Probation began")
      expect(story.filter((line) => /^Email em_\w+ bounced for good/.test(line))).toHaveLength(3)
      expect(story.at(-1)).toContain("three of its first 25 emails have bounced")
      expect(await accessibilityFaults(own)).toEqual([])
      await picture(own, "sending-paused-light")
    })

    it("[platform 9.4] shows how far each trigger of a pause has come, and which is one step before it", async () => {
      const { url, warned } = platform()
      const own = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await signIn(own, url, warned.key)
      await own.getByRole("link", { name: "Sending", exact: true }).click()
      const triggers = own.getByRole("region", { name: "What pauses sending" })
      const bounces = triggers.getByRole("meter", { name: /Bounces/ })
      await bounces.waitFor()
      expect(await bounces.getAttribute("aria-valuetext")).toBe("2 of 3")
      expect(await triggers.getByRole("meter").count()).toBe(4)
      expect(await triggers.getByText("One step before sending is paused").count()).toBe(1)
      expect(await accessibilityFaults(own)).toEqual([])
    })

    it("[platform 9.19, 7.11] shows figures over time by keyboard, with each column's values and as a table", async () => {
      const { filled, url } = platform()
      await page.goto(`${url}/console/sending?range=month`)
      const emails = page.getByRole("region", { name: "Emails over time" })
      const columns = emails.getByRole("slider")
      await columns.waitFor()
      await tabTo(page, columns)
      await page.keyboard.press("End")
      const today = await columns.getAttribute("aria-valuetext")
      expect(today).toMatch(/^\w+ \d+: [1-9]\d* sent, not bounced, [1-9]\d* bounced, \d+ not sent$/)
      expect(await emails.locator(".readout").textContent()).toBe(today)
      await page.keyboard.press("ArrowLeft")
      expect(await columns.getAttribute("aria-valuetext")).toMatch(/: 0 sent, not bounced, 0 bounced, 0 not sent$/)
      await tabTo(page, emails.getByText("The same as a table"))
      await page.keyboard.press("Enter")
      const newest = emails.getByRole("table").getByRole("row").nth(1)
      expect(today).toContain((await newest.getByRole("rowheader").textContent())!)
      expect(await accessibilityFaults(page)).toEqual([])
      await emails.getByLabel("Domain").selectOption("northwind.example")
      await page.waitForURL(/domain=northwind\.example/)
      await emails.getByLabel("Range").selectOption("week")
      await page.waitForURL(/range=week/)
      await emails.getByRole("slider").waitFor()

      await page.goto(`${url}/console/endpoints/${filled.endpoints.well}`)
      const attempts = page.getByRole("region", { name: "Attempts over time" })
      // A pointer on the newest column.
      const place = await attempts.locator(".u-over").boundingBox()
      await page.mouse.move(place!.x + place!.width - 3, place!.y + 20)
      await attempts.getByText(/: [1-9]\d* succeeded, \d+ failed, tried again, \d+ failed for good$/).waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
    })

    it("says what is unknown, and shows no figures in its place", async () => {
      const { url } = platform()
      await page.route("**/v1/send/metrics*", (route) => route.fulfill({ status: 503, body: "{}" }))
      await page.goto(`${url}/console/sending`)
      const emails = page.getByRole("region", { name: "Emails over time" })
      await emails.getByRole("alert").waitFor()
      expect(await emails.getByRole("slider").count()).toBe(0)
      await page.unroute("**/v1/send/metrics*")
      await emails.getByRole("button", { name: "Try again" }).click()
      await emails.getByRole("slider").waitFor()
    })

    it("[platform 12] filters events and emails by its address, and says how many there are", async () => {
      const { filled, url } = platform()
      const endpoint = filled.endpoints.paused
      await page.goto(`${url}/console/events?object=${endpoint}&type=platform.webhook.*&hours=24`)
      const events = page.getByRole("table", { name: "Events of the last 30 days" })
      await events.getByRole("link", { name: "platform.webhook.paused" }).waitFor()
      const rows = (await events.getByRole("row").count()) - 1
      await page.getByText(`${rows} in all`, { exact: true }).waitFor()
      expect(await page.getByLabel("When").inputValue()).toBe("24")
      await page.goto(`${url}/console/emails?state=bounced&domain=northwind.example`)
      const emails = page.getByRole("table", { name: "Emails" })
      await emails.getByText("Your subscription was renewed").waitFor()
      await page.getByText("1 in all", { exact: true }).waitFor()
      await page.getByLabel("When").selectOption("1")
      await page.waitForURL(/state=bounced&domain=northwind\.example&hours=1$/)
      await typeInto(page, "Domain", "other.example")
      await page.keyboard.press("Enter")
      await page.getByText("No such email is bounced").waitFor()
    })

    it("[platform 2.12] filters requests by its address, opens one and comes back, by keyboard", async () => {
      const { url } = platform()
      await page.goto(`${url}/console/requests?method=DELETE&hours=24`)
      const requests = page.getByRole("table", { name: "Requests of the last seven days" })
      await requests.getByRole("link", { name: "DELETE /v1/keys/{id}" }).waitFor()
      expect(await page.getByLabel("Method").inputValue()).toBe("DELETE")
      await page.getByLabel("Status").selectOption("2xx")
      await page.waitForURL(/method=DELETE&hours=24&status=2xx$/)
      await page.getByText("No such request").waitFor()
      await page.getByLabel("Status").selectOption("4xx")
      await press(page, "link", "DELETE /v1/keys/{id}")
      await heading(page, /^DELETE /)
      await page.getByRole("region", { name: "Body of the answer" }).getByText("not_found").waitFor()
      await page.goBack()
      await page.waitForURL(/method=DELETE&hours=24&status=4xx$/)
      await requests.getByRole("link", { name: "DELETE /v1/keys/{id}" }).waitFor()
      await typeInto(page, "X-Request-Id", "req-of-nobody")
      await page.keyboard.press("Enter")
      await page.getByText("No such request").waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
    })

    it("shows events as they come, and stops while it is paused", async () => {
      const { filled, url } = platform()
      await page.goto(`${url}/console/events`)
      await page.getByText("Listening").waitFor()
      const list = page.getByRole("list", { name: "Events as they come" })
      const look = () =>
        fetch(`${url}/v1/telco/lookup/2125560123`, { headers: { authorization: `Bearer ${filled.key}` } })
      await look()
      await list
        .getByRole("link", { name: /telco\.lookup\.completed/ })
        .first()
        .waitFor()
      await press(page, "button", "Pause")
      const before = await list.getByRole("listitem").count()
      await look()
      await page.getByText("Paused, 1 new").waitFor()
      expect(await list.getByRole("listitem").count()).toBe(before)
      await press(page, "button", "Go on")
      await list.getByRole("listitem").nth(before).waitFor()
      await typeInto(page, "Type", "send.*")
      await page.keyboard.press("Enter")
      await page.getByText("Nothing has come since you opened this page").waitFor()
    })
  })
}
