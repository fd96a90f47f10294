/** Where the local mailbox is, and where it is not (docs/handoff.md, 3): with servers of its own on this machine alone, and never in production. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { until } from "../../../cli/support.ts"
import { blocksOf } from "../../../documents/blocks.ts"
import { type Platform, startPlatform } from "../../../support/platform.ts"
import { copyDataFolder } from "../../../support/templates.ts"
import { browserSection } from "./browserSection.ts"
import { hostileSection, putHostileMails } from "./hostileSection.ts"

let folder = ""
let key = ""
let running: Platform | undefined

const serve = async (environment: Readonly<Record<string, string>>): Promise<Platform> => {
  running = await startPlatform(environment, folder)
  return running
}

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${running!.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", accept: "application/json" }
  })

/** Sends from the demo organization's domain, and answers the id. */
const sent = async (fields: object): Promise<string> => {
  const body = JSON.stringify({ from: "Ann <ann@demo.test>", subject: "Hi", text: "Hi", ...fields })
  const answer = await ask("/v1/send/emails", { method: "POST", body })
  expect(answer.status).toBe(202)
  return ((await answer.json()) as { readonly id: string }).id
}

const stateOf = async (id: string): Promise<string> =>
  ((await (await ask(`/v1/send/emails/${id}`)).json()) as { readonly state: string }).state

const mailbox = async () =>
  ((await (await ask("/dev/mailbox")).json()) as { readonly data: ReadonlyArray<{ readonly id: string }> }).data

beforeAll(async () => {
  folder = await copyDataFolder(await mkdtemp(join(tmpdir(), "sluice-mailbox-")))
})

afterAll(async () => {
  await running?.stop()
  await rm(folder, { recursive: true, force: true })
})

describe("the local mailbox", () => {
  it("is there in the embedded start, as a page and as JSON", async () => {
    const { demoKey, url } = await serve({})
    key = demoKey!
    const page = await fetch(`${url}/dev/mailbox`, { headers: { accept: "text/html" } })
    expect(page.status).toBe(200)
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(page.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; /
    )
    expect(page.headers.get("x-content-type-options")).toBe("nosniff")
    expect(await page.text()).toMatch(/<html lang="en">/)
    const list = await fetch(`${url}/dev/mailbox`)
    expect(await list.json()).toMatchObject({ data: [], total: 0, unread: 0 })
    expect((await fetch(`${url}/dev/mailbox/em_1`)).status).toBe(404)
    const refused = await fetch(`${url}/dev/mailbox`, { method: "POST" })
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "DELETE, GET, HEAD, PATCH"])
    const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { readonly checks: object }
    expect(checks).toMatchObject({ mail: { ok: true } })
  })

  browserSection(() => ({ url: running!.url, key, sent }))

  it("shows what the demo organization sends, and nothing is lost by a kill", async () => {
    const hello = await sent({ to: "Bob <bob@example.com>", subject: "Hello", html: "<p>Hello</p>", text: "Hello" })
    // The request of the document, which waits for the mail.
    const [documented] = blocksOf("docs/handoff.md").filter(({ text }) => text.includes("dev/mailbox/latest"))
    const path = /'http:\/\/127\.0\.0\.1:8080(\S+)'/.exec(documented!.text)![1]!
    expect((await (await ask(path)).json()) as object).toMatchObject({ id: hello, html: "<p>Hello</p>", read: false })
    expect((await mailbox()).find(({ id }) => id === hello)).toMatchObject({
      mode: "live",
      from: "Ann <ann@demo.test>",
      to: ["Bob <bob@example.com>"],
      subject: "Hello",
      url: `/dev/mailbox/${hello}`
    })
    await until(async () => (await stateOf(hello)) === "sent")
    expect((await ask(`/dev/mailbox?id=${hello}&read=true`, { method: "PATCH" })).status).toBe(200)
    const ids = await Promise.all(Array.from({ length: 20 }, (_, number) => sent({ to: `b${number}@example.com` })))
    running!.process.kill("SIGKILL")
    await running!.finished
    await putHostileMails(join(folder, "mailbox", "1"))
    await serve({})
    for (const id of ids) await until(async () => (await stateOf(id)) === "sent")
    expect(await stateOf(hello)).toBe("sent")
    const kept = (await (await ask("/dev/mailbox?limit=500")).json()) as {
      readonly data: ReadonlyArray<{ readonly id: string; readonly read: boolean }>
    }
    expect(kept.data.map(({ id }) => id)).toEqual(expect.arrayContaining([hello, ...ids]))
    expect(kept.data.find(({ id }) => id === hello)?.read).toBe(true)
  })

  it("[platform 2.13, 12.4] gets the links of a member, an invitation and one to sign in, each of which works once", async () => {
    const linkOf = async (subject: string) => {
      const latest = await ask(`/dev/mailbox/latest?q=${encodeURIComponent(`subject:"${subject}"`)}&wait=9`)
      expect(latest.status).toBe(200)
      const { text } = (await latest.json()) as { readonly text: string }
      const link = /^http:\S+$/m.exec(text)![0]
      expect(link.startsWith(`${running!.url}/console#link=`)).toBe(true)
      return link.split("#link=")[1]!
    }
    const enter = (link: string) =>
      fetch(`${running!.url}/v1/console/sessions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-sluice-console": "1" },
        body: JSON.stringify({ link })
      })
    const person = { email: "ann@people.example", role: "owner" }
    const invited = await ask("/v1/members", { method: "POST", body: JSON.stringify(person) })
    expect([invited.status, await invited.json()]).toMatchObject([201, { delivery: "mailed", link: null }])
    const invitation = await linkOf("Your invitation to")
    expect([(await enter(invitation)).status, (await enter(invitation)).status]).toEqual([201, 401])
    const asked = await fetch(`${running!.url}/v1/console/sign-in-links`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "Ann@people.example" })
    })
    expect([asked.status, await asked.json()]).toEqual([202, { accepted: true }])
    const link = await linkOf("Sign in to Sluice")
    expect([(await enter(link)).status, (await enter(link)).status]).toEqual([201, 401])
  })

  hostileSection(() => running!.url)

  it("gets the link for an address that is to become a sender, which then sends", async () => {
    const asked = await ask("/v1/send/senders", { method: "POST", body: JSON.stringify({ email: "ann@solo.example" }) })
    expect(asked.status).toBe(201)
    const mail = (await (await ask(`/dev/mailbox/latest?q=to:ann@solo.example&wait=9`)).json()) as {
      readonly text: string
    }
    const link = /^http:\S+$/m.exec(mail.text)![0]
    expect(new URL(link).origin).toBe(running!.url)
    // Opening the link changes nothing: mail programs do that on their own.
    const page = await fetch(link)
    expect([page.status, (await page.text()).includes("<button")]).toEqual([200, true])
    const body = JSON.stringify({ from: "ann@solo.example", to: "bob@example.com", subject: "Hi", text: "Hi" })
    expect((await ask("/v1/send/emails", { method: "POST", body })).status).toBe(403)
    expect((await fetch(link, { method: "POST" })).status).toBe(200)
    const id = await sent({ from: "ann@solo.example", to: "bob@example.com" })
    await until(async () => (await stateOf(id)) === "sent")
    await running!.stop()
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
