/** Where the local mailbox is, and where it is not (docs/handoff.md, 3): with servers of its own on this machine alone, and never in production. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Platform, startPlatform } from "../../support/platform.ts"

let folder = ""
let running: Platform | undefined

const serve = async (environment: Readonly<Record<string, string>>): Promise<Platform> => {
  running = await startPlatform(environment, folder)
  return running
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-mailbox-"))
})

afterAll(async () => {
  await running?.stop()
  await rm(folder, { recursive: true, force: true })
})

describe("the local mailbox", () => {
  it("is there in the embedded start, as a page and as JSON", async () => {
    const { stop, url } = await serve({})
    const page = await fetch(`${url}/dev/mailbox`)
    expect(page.status).toBe(200)
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; /)
    expect(await page.text()).toContain("No mail was handed over yet.")
    const list = await fetch(`${url}/dev/mailbox`, { headers: { accept: "application/json" } })
    expect(await list.json()).toEqual({ data: [] })
    expect((await fetch(`${url}/dev/mailbox/em_1`)).status).toBe(404)
    expect((await fetch(`${url}/dev/mailbox`, { method: "POST" })).status).toBe(405)
    const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { readonly checks: object }
    expect(checks).toMatchObject({ mail: { ok: true } })
    await stop()
  })

  it("is not there in production, where live mail waits for a relay", async () => {
    const { stop, url } = await serve({ NODE_ENV: "production" })
    for (const path of ["/dev/mailbox", "/dev/mailbox/em_1", "/dev/mailbox/em_1.eml", "/dev/mailbox/em_1/html"])
      expect((await fetch(`${url}${path}`)).status, path).toBe(404)
    const ready = await fetch(`${url}/readyz`)
    expect(ready.status).toBe(200)
    const { checks } = (await ready.json()) as { readonly checks: object }
    expect(checks).toMatchObject({ mail: { ok: true, detail: "no relay is configured: accepted mail waits" } })
    await stop()
  })
})
