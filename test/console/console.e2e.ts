/**
 * The console in a real browser (docs/platform.md, 12): signing in and out, every view in both themes and by keyboard alone, what others wrote, two organizations, and how it looks on a
 * phone. Pictures of every view are written to the folder that `SLUICE_PICTURES` names.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { BrowserContext, Locator, Page } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { query } from "../cli/support.ts"
import { accessibilityFaults } from "../support/browser.ts"
import { needing } from "../support/needs.ts"
import { sluice } from "../support/platform.ts"
import { type ConsolePlatform, signIn, useConsolePlatform } from "./consolePlatform.ts"
import { ask } from "./fill.ts"

const needs = needing("chromium")
const platform = useConsolePlatform(needs.skip !== true)

const pictures = process.env.SLUICE_PICTURES

/** Writes a picture for a person to look at, where a folder is named. */
const picture = async (page: Page, name: string): Promise<void> => {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
}

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor()

/** Moves the keyboard's place to an element by Tab alone. */
const tabTo = async (page: Page, target: Locator): Promise<void> => {
  await target.first().waitFor()
  for (let steps = 0; steps < 300; steps++) {
    if (await target.first().evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`Tab does not reach ${target}`)
}

/** Presses a button, or follows a link, by keyboard alone. */
const press = async (page: Page, role: "button" | "link" | "tab", name: string | RegExp): Promise<void> => {
  await tabTo(page, page.getByRole(role, { name, ...(typeof name === "string" ? { exact: true } : {}) }))
  await page.keyboard.press("Enter")
}

const typeInto = async (page: Page, label: string, text: string): Promise<void> => {
  await tabTo(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.press("ControlOrMeta+a")
  await page.keyboard.type(text)
}

/** What a page asked of other hosts, what it complained of, and whether a dialog came up. */
const watch = (context: BrowserContext, origins: ReadonlyArray<string>) => {
  const seen: Array<string> = []
  context.on("request", (request) => {
    const url = request.url()
    if (!/^(data|blob|about):/.test(url) && !origins.some((origin) => url.startsWith(origin))) seen.push(url)
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

/** The views of a filled organization. */
const viewsOf = ({ filled }: ConsolePlatform, eventId: string, deliveryId: string, emails: Record<string, string>) =>
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
    ["billing", "/billing", "Plan and usage"]
  ] as const

const first = (answer: Record<string, unknown>, key: string): string =>
  (answer.data as ReadonlyArray<Record<string, string>>)[0]![key]!

/** Waits until a view has loaded what it shows. */
const settled = async (page: Page): Promise<void> => {
  await page.waitForFunction(`document.querySelector(".loading") === null`)
}

describe("the console", needs, () => {
  describe("signing in", () => {
    it("takes a key by keyboard alone, and says what is wrong with another", async () => {
      const { filled, url } = platform()
      const page = await (await platform().browser()).newPage()
      await page.goto(`${url}/`)
      await page.waitForURL(`${url}/console`)
      await typeInto(page, "API key", "sk_test_nobodyknowsthiskey000000")
      await page.keyboard.press("Enter")
      await page.getByText("Invalid or missing API key").waitFor()
      await typeInto(page, "API key", filled.key)
      await page.keyboard.press("Enter")
      await heading(page, "Overview")
      expect(await page.getByRole("navigation", { name: "Console" }).textContent()).toContain("Northwind")
      // No script can read the session, and the key is kept nowhere.
      const kept = await page.evaluate<string>(
        `document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })`
      )
      expect(kept).not.toContain("cs_")
      expect(kept).not.toContain(filled.key)
      const [cookie] = await page.context().cookies()
      expect(cookie).toMatchObject({ name: "sluice_session", httpOnly: true, sameSite: "Strict" })
      await press(page, "button", "Sign out")
      await page.getByText("You are signed out.").waitFor()
      expect(await page.context().cookies()).toEqual([])
      // What was signed out stays so: the session itself has ended.
      const answer = await fetch(`${url}/v1/console/session`, {
        headers: { cookie: `sluice_session=${cookie!.value}`, "x-sluice-console": "1" }
      })
      expect(answer.status).toBe(401)
    })

    it("takes a link of the command line once", async () => {
      const { filled, process, url } = platform()
      const { stdout } = await sluice(["console", "--org", filled.organization, "--mode", "test"], process.environment)
      const link = /(http\S+\/console#link=cl_\w+)/.exec(stdout)![1]!
      const page = await (await platform().browser()).newPage()
      await page.goto(link)
      await heading(page, "Overview")
      expect(page.url()).toBe(`${url}/console`)
      const other = await (await platform().browser()).newPage()
      await other.goto(link)
      await other.getByText("This link is not good, or not any more").waitFor()
    })

    it("counts a session's cookie only from its own page, and its text as no key", async () => {
      const { filled, url } = platform()
      const page = await (await platform().browser()).newPage()
      await signIn(page, url, filled.key)
      const [cookie] = await page.context().cookies()
      const session = { cookie: `sluice_session=${cookie!.value}` }
      const statusOf = async (headers: Record<string, string>) =>
        (await fetch(`${url}/v1/webhooks`, { headers })).status
      expect(await statusOf({ ...session, "x-sluice-console": "1" })).toBe(200)
      expect(await statusOf(session)).toBe(401)
      expect(await statusOf({ authorization: `Bearer ${cookie!.value}` })).toBe(401)
      expect(await statusOf({ "x-api-key": cookie!.value })).toBe(401)
      const forged = await fetch(`${url}/v1/console/sessions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ key: filled.key })
      })
      expect(forged.status).toBe(403)
      expect(forged.headers.get("set-cookie")).toBeNull()
    })

    it("may what its key may, and no more", async () => {
      const { adminKey, adminUrl, filled, url } = platform()
      const { key } = await ask("POST", `${adminUrl}/admin/v1/organizations/${filled.organization}/keys`, adminKey, {
        mode: "test",
        services: [],
        scopes: ["platform:events:read"]
      })
      const page = await (await platform().browser()).newPage()
      await signIn(page, url, key as string)
      const words = await page.getByRole("navigation", { name: "Console" }).getByRole("listitem").allTextContents()
      expect(words).toEqual(["Overview", "Events"])
      await page.goto(`${url}/console/keys`)
      await page.getByText("This key may not see that.").waitFor()
    })

    it("ends with its key at once, and at its own end", async () => {
      const { adminKey, adminUrl, databaseUrl, filled, url } = platform()
      const make = () =>
        ask("POST", `${adminUrl}/admin/v1/organizations/${filled.organization}/keys`, adminKey, {
          mode: "test",
          services: ["send"],
          scopes: ["*"]
        })
      const revoked = await make()
      const page = await (await platform().browser()).newPage()
      await signIn(page, url, revoked.key as string)
      await ask("DELETE", `${adminUrl}/admin/v1/keys/${revoked.id}`, adminKey)
      await page.getByRole("link", { name: "Emails", exact: true }).click()
      await page.getByText("Your session has ended").waitFor()

      const other = await make()
      await signIn(page, url, other.key as string)
      await query(databaseUrl, "update api_keys set expires_at = now() where parent_id = $1", [other.id])
      await query(databaseUrl, "select pg_notify('sluice_keys', digest) from api_keys where parent_id = $1", [other.id])
      await page.getByRole("link", { name: "Endpoints", exact: true }).click()
      await page.getByText("Your session has ended").waitFor()
    })
  })

  describe("every view", () => {
    let context: BrowserContext
    let faults: ReadonlyArray<string>
    let views: ReturnType<typeof viewsOf>
    let page: Page
    beforeAll(async () => {
      if (needs.skip === true) return
      const given = platform()
      const { filled, url } = given
      const at = (path: string) => ask("GET", `${url}${path}`, filled.key)
      const eventId = first(await at("/v1/events?type=telco.lookup.completed"), "eventId")
      const deliveries = await at(`/v1/webhooks/${filled.endpoints.well}/deliveries`)
      const idOf = async (state: string) => first(await at(`/v1/send/emails?state=${state}`), "id")
      const emails = {
        sent: await idOf("delivered"),
        bounced: await idOf("bounced"),
        held: await idOf("held")
      }
      views = viewsOf(given, eventId, first(deliveries, "id"), emails)
      context = await given.browser({ viewport: { width: 1280, height: 860 } })
      faults = watch(context, [url])
      page = await context.newPage()
      await signIn(page, url, filled.key)
    })

    it.each(["light", "dark"] as const)("shows what is there, without a fault of axe (%s)", async (colours) => {
      await page.emulateMedia({ colorScheme: colours })
      for (const [name, path, title] of views) {
        await page.goto(`${platform().url}/console${path}`)
        await heading(page, title)
        await settled(page)
        expect(await page.getByRole("alert").allTextContents(), name).toEqual([])
        expect(await accessibilityFaults(page), `${name} (${colours})`).toEqual([])
        await picture(page, `${name}-${colours}`)
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

    it("tells why sending is paused, in order", async () => {
      const { paused, url } = platform()
      const own = await (await platform().browser({ viewport: { width: 1280, height: 860 } })).newPage()
      await signIn(own, url, paused.key)
      await own.getByRole("link", { name: "Sending", exact: true }).click()
      const why = own.getByRole("region", { name: "Why sending is paused" })
      await why.getByText("Sending was paused").waitFor()
      const story = await why.getByRole("listitem").allTextContents()
      expect(story[0]).toContain("Probation began")
      expect(story.filter((line) => line.includes("bounced for good"))).toHaveLength(3)
      expect(story.at(-1)).toContain("three of its first 25 emails have bounced")
      expect(await accessibilityFaults(own)).toEqual([])
      await picture(own, "sending-paused-light")
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
      await page.waitForFunction(`document.querySelectorAll(".live-list li").length > ${before}`)
      await typeInto(page, "Type", "send.*")
      await page.keyboard.press("Enter")
      await page.getByText("Nothing has come since you opened this page").waitFor()
    })
  })

  describe("by keyboard alone", () => {
    let page: Page
    const open = async (path: string, title: string | RegExp) => {
      await page.goto(`${platform().url}/console${path}`)
      await heading(page, title)
      await settled(page)
    }
    beforeAll(async () => {
      if (needs.skip === true) return
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
      await page.getByText("keyboard@example.org").waitFor({ state: "detached" })
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

  describe("what others wrote", () => {
    it("does nothing, wherever it is shown", async () => {
      const { adminKey, adminUrl, filled, receivers, url } = platform()
      const script = `<img src=x onerror="globalThis.taken=1"><script>globalThis.taken=1</script>`
      const remote = "https://tracker.example"
      const made = await ask("POST", `${adminUrl}/admin/v1/organizations`, adminKey, { name: `Evil ${script}` })
      const { key } = await ask("POST", `${adminUrl}/admin/v1/organizations/${made.id}/keys`, adminKey, {
        name: script,
        mode: "test",
        services: ["send", "telco"],
        scopes: ["*"]
      })
      const mine = key as string
      const endpoint = await ask("POST", `${url}/v1/webhooks`, mine, {
        url: `${receivers.url}/200?x=${encodeURIComponent(script)}`,
        enabled_events: ["*"],
        description: script
      })
      const { id: domain } = await ask("POST", `${url}/v1/send/domains`, mine, { name: "evil.example" })
      await ask("POST", `${url}/v1/send/domains/${domain}/verify`, mine)
      const mail = await ask("POST", `${url}/v1/send/emails`, mine, {
        from: `"${script.replaceAll('"', "'")}" <a@evil.example>`,
        to: "delivered@simulator.invalid",
        subject: `Hello ${script}`,
        text: script,
        html: `${script}<script src="${remote}/a.js"></script><img src="${remote}/p.png"><style>@import url(${remote}/a.css); body{background:url(${remote}/b.png)}</style><meta http-equiv="refresh" content="0;url=${remote}/"><form action="${remote}/f"><button>go</button></form><a id="out" href="${remote}/link" target="_top">Click me</a><iframe src="${remote}/frame"></iframe><base href="${remote}/">`
      })
      const context = await platform().browser()
      const seen = watch(context, [url])
      const page = await context.newPage()
      await signIn(page, url, mine)
      for (const path of ["", "/events", "/endpoints", `/endpoints/${endpoint.id}`, "/emails", "/keys", "/domains"]) {
        await page.goto(`${url}/console${path}`)
        await page.getByRole("heading", { level: 1 }).waitFor()
        await settled(page)
      }
      await page.goto(`${url}/console/emails/${mail.id}`)
      const frame = page.frameLocator("iframe.mail")
      await frame.getByText("Click me").click()
      await frame.getByRole("button", { name: "go" }).click()
      await page.goto(`${url}/console/events`)
      const event = await ask("GET", `${url}/v1/events?limit=1`, mine)
      const eventId = (event.data as ReadonlyArray<{ readonly eventId: string }>)[0]?.eventId
      if (eventId !== undefined) await page.goto(`${url}/console/events/${eventId}`)
      expect(await page.evaluate(() => "taken" in globalThis)).toBe(false)
      expect(page.url()).toContain(`${url}/console`)
      expect(seen).toEqual([])
      expect(filled.organization).not.toBe(made.id)
    })

    it("stays with its organization", async () => {
      const { filled, paused, url } = platform()
      const event = await ask("GET", `${url}/v1/events?limit=1`, filled.key)
      const { eventId } = (event.data as ReadonlyArray<{ readonly eventId: string }>)[0]!
      const mails = await ask("GET", `${url}/v1/send/emails?limit=1`, filled.key)
      const { id } = (mails.data as ReadonlyArray<{ readonly id: string }>)[0]!
      const page = await (await platform().browser()).newPage()
      await signIn(page, url, paused.key)
      for (const path of [
        `/events/${eventId}`,
        `/endpoints/${filled.endpoints.well}`,
        `/emails/${id}`,
        `/domains/${filled.domain}`
      ]) {
        await page.goto(`${url}/console${path}`)
        await page.getByRole("alert").first().waitFor()
        expect(await page.locator("body").textContent(), path).not.toMatch(/Northwind|northwind|2125560123/)
      }
      // Nor does its stream bring what happens to others.
      await page.goto(`${url}/console/events`)
      await page.getByText("Listening").waitFor()
      const headers = { authorization: `Bearer ${filled.key}` }
      await fetch(`${url}/v1/telco/lookup/2125560123`, { headers })
      const own = { authorization: `Bearer ${paused.key}` }
      await fetch(`${url}/v1/telco/lookup/4155550100`, { headers: own })
      const list = page.getByRole("list", { name: "Events as they come" })
      await list.getByText(/4155550100/).waitFor()
      expect(await list.textContent()).not.toContain("2125560123")
    })
  })

  describe("what is served", () => {
    it("has a strict policy, and is kept by browsers for ever under a name of its own", async () => {
      const { url } = platform()
      const page = await fetch(`${url}/console/whatever/place`)
      const policy = page.headers.get("content-security-policy")!
      expect(policy).toMatch(/default-src 'none'; script-src 'self';/)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/script-src[^;]*unsafe/)
      const text = await page.text()
      expect(text).not.toMatch(/<script>|\son\w+=/)
      const script = /src="(\/console\/assets\/[\w.-]+\.js)"/.exec(text)![1]!
      const asset = await fetch(`${url}${script}`, { headers: { "accept-encoding": "br" } })
      expect(asset.headers.get("cache-control")).toContain("immutable")
      expect(asset.headers.get("content-encoding")).toBe("br")
      expect((await fetch(`${url}/console/assets/none.js`)).status).toBe(404)
    })
  })

  describe("the operator's", () => {
    it("shows the platform in both themes, and opens an organization's console", async () => {
      const { adminKey, adminUrl, filled, paused, url } = platform()
      const context = await platform().browser({ viewport: { width: 1280, height: 860 } })
      const seen = watch(context, [url, adminUrl])
      const page = await context.newPage()
      await page.goto(`${adminUrl}/console`)
      await typeInto(page, "Admin credential", `${adminKey}x`)
      await page.keyboard.press("Enter")
      await page.getByText("Invalid or missing admin credential").waitFor()
      await typeInto(page, "Admin credential", adminKey)
      await page.keyboard.press("Enter")
      await heading(page, "Platform")
      const partitions = await ask("GET", `${adminUrl}/admin/v1/partitions`, adminKey)
      const all = partitions.data as ReadonlyArray<{ readonly partition: number; readonly sequence: number }>
      const busiest = all.toSorted((one, other) => other.sequence - one.sequence)[0]!
      const views = [
        ["platform", "", "Platform"],
        ["partition", `/partitions/${busiest.partition}`, /Partition/],
        ["frame", `/partitions/${busiest.partition}/frames/${busiest.sequence}`, /Frame/],
        ["parked", "/parked", "Parked records"],
        ["actors", `/actors?kind=sendAccount&organization=${paused.organization}&key=test`, "Actors"],
        ["organizations", "/organizations", "Organizations"],
        ["organization", `/organizations/${paused.organization}`, "Paused Inc"]
      ] as const
      for (const colours of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: colours })
        for (const [name, path, title] of views) {
          await page.goto(`${adminUrl}/console${path}`)
          await heading(page, title)
          await settled(page)
          expect(await page.getByRole("alert").allTextContents(), name).toEqual([])
          expect(await accessibilityFaults(page), `${name} (${colours})`).toEqual([])
          await picture(page, `operator-${name}-${colours}`)
        }
      }
      await page.goto(`${adminUrl}/console/organizations/${paused.organization}`)
      await tabTo(page, page.getByLabel("Account", { exact: true }))
      await page.keyboard.type("test")
      await press(page, "button", "Lift the pause")
      await press(page, "button", "Lift it")
      await page.getByText("The pause was lifted").waitFor()
      await page.goto(`${adminUrl}/console/organizations/${filled.organization}`)
      await press(page, "button", "Open its console")
      await press(page, "button", "Make the link")
      const link = (await page.getByText(/\/console#link=/).textContent())!
      const other = await context.newPage()
      await other.goto(link)
      await heading(other, "Overview")
      expect(seen).toEqual([])
      // Its cookie opens nothing without the page's header.
      const cookies = await context.cookies(adminUrl)
      const session = cookies.find(({ name }) => name === "sluice_operator")!
      const answer = await fetch(`${adminUrl}/admin/v1/organizations`, {
        headers: { cookie: `sluice_operator=${session.value}` }
      })
      expect(answer.status).toBe(401)
    })
  })
})
