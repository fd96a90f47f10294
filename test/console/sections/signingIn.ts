/** Signing in to the console and out of it (docs/platform.md, 12.1): keys, links, and how sessions end. */
import { describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { sluice } from "../../support/commands.ts"
import { heading, press, typeInto } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask } from "../fill.ts"

/** Opens a session without a browser, and answers its cookie. */
const openSession = async (url: string, key: string): Promise<string> => {
  const answer = await fetch(`${url}/v1/console/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-console": "1" },
    body: JSON.stringify({ key })
  })
  expect(answer.status).toBe(201)
  return answer.headers.get("set-cookie")!.split(";")[0]!
}

export const signingInSection = (platform: () => ConsolePlatform): void => {
  describe("[platform 12.1] signing in", () => {
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
      expect(words).toEqual(["Overview", "Events", "Sessions"])
      await page.goto(`${url}/console/keys`)
      await page.getByText("This key may not see that.").waitFor()
    })

    it("has a rate of its own, so that who looks takes nothing from programs", async () => {
      const { adminKey, adminUrl, url } = platform()
      const { id } = await ask("POST", `${adminUrl}/admin/v1/organizations`, adminKey, { name: "Small", plan: "free" })
      const made = { services: [], scopes: ["platform:webhooks:read"] }
      const { key } = await ask("POST", `${adminUrl}/admin/v1/organizations/${id}/keys`, adminKey, made)
      const cookie = await openSession(url, key as string)
      for (let asked = 0; asked < 3; asked++) {
        const answer = await fetch(`${url}/v1/webhooks`, { headers: { cookie, "x-sluice-console": "1" } })
        expect(answer.headers.get("x-ratelimit-limit")).toBe("600")
      }
      const own = await fetch(`${url}/v1/webhooks`, { headers: { authorization: `Bearer ${key}` } })
      expect(own.headers.get("x-ratelimit-limit")).toBe("60")
      expect(own.headers.get("x-ratelimit-remaining")).toBe("59")
    })

    it("gives the place of the oldest session to the hundred and first", async () => {
      const { adminKey, adminUrl, url } = platform()
      const { id } = await ask("POST", `${adminUrl}/admin/v1/organizations`, adminKey, { name: "Many", plan: "team" })
      const made = { services: [], scopes: [] }
      const { key } = await ask("POST", `${adminUrl}/admin/v1/organizations/${id}/keys`, adminKey, made)
      const cookies: Array<string> = []
      for (let opened = 0; opened <= 100; opened++) cookies.push(await openSession(url, key as string))
      const statusOf = async (cookie: string) =>
        (await fetch(`${url}/v1/console/session`, { headers: { cookie, "x-sluice-console": "1" } })).status
      expect(await statusOf(cookies.at(-1)!)).toBe(200)
      expect(await statusOf(cookies[1]!)).toBe(200)
      expect(await statusOf(cookies[0]!)).toBe(401)
      // The organization's list shows its keys alone.
      const listed = await ask("GET", `${adminUrl}/admin/v1/organizations/${id}/keys`, adminKey)
      expect(listed.data).toHaveLength(1)
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
      // The stream of events may have told the page before.
      const goOn = () => page.evaluate(`document.querySelector('a[href="/console/emails"]')?.click()`)
      await signIn(page, url, revoked.key as string)
      await ask("DELETE", `${adminUrl}/admin/v1/keys/${revoked.id}`, adminKey)
      await goOn()
      await page.getByText("Your session has ended").waitFor()

      const other = await make()
      await signIn(page, url, other.key as string)
      await query(databaseUrl, "update api_keys set expires_at = now() where parent_id = $1", [other.id])
      await query(databaseUrl, "select pg_notify('sluice_keys', digest) from api_keys where parent_id = $1", [other.id])
      await goOn()
      await page.getByText("Your session has ended").waitFor()
    })
  })
}
