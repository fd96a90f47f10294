/** Foreign text and foreign objects do nothing in the console. */
import { describe, expect, it } from "vitest"
import { settled, watch } from "../acting.ts"
import { type ConsolePlatform, signIn } from "../consolePlatform.ts"
import { ask } from "../fill.ts"

export const strangersSection = (platform: () => ConsolePlatform): void => {
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
      const mailFrame = page.locator("iframe.mail")
      expect(await mailFrame.getAttribute("sandbox")).toBe("")
      expect(await mailFrame.getAttribute("srcdoc")).toMatch(
        /^<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none';/
      )
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
}
