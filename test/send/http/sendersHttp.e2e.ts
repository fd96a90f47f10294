/** Single addresses over HTTP: a mailed link, its page, and who may send after it. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { useSendPlatform } from "./sendersPlatform.ts"

const platform = useSendPlatform()

const linksFor = (address: string) =>
  platform()
    .mails.filter(({ to }) => to === address)
    .map(({ link }) => link)

/** Lets time pass for what is stored of an address. */
const later = (millis: number) =>
  platform().run(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`update send_sender_mails set mailed_at = mailed_at - ${millis}::int8`
      yield* sql`update send_senders set expires_at = expires_at - ${millis}::int8, created_at = created_at - ${millis}::int8`
    })
  )

describe("an address", () => {
  it("[platform 9.14] sends once its link's button was pressed, and not when the link was only opened", async () => {
    const { admitted, live } = await platform().tenant()
    const made = await live("POST", "/v1/send/senders", { email: "Ann@Single.example" })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      object: "sender",
      email: "ann@single.example",
      status: "pending",
      verified_at: null,
      tier: "new"
    })
    const [link] = linksFor("ann@single.example")
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/senders\/confirm\?token=[0-9A-Za-z]{32}$/)
    expect(JSON.stringify(made.body)).not.toContain(link!.slice(-32))

    const opened = await fetch(link!)
    const page = await opened.text()
    expect([opened.status, opened.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
    expect(opened.headers.get("referrer-policy")).toBe("no-referrer")
    expect(opened.headers.get("cache-control")).toBe("no-store")
    expect(page).toContain("ann@single.example")
    expect(page).toContain('<form method="post"')
    expect(await admitted("live", "ann@single.example")).toBe("sender_not_verified")

    expect((await fetch(link!, { method: "POST" })).status).toBe(200)
    expect(await admitted("live", "Ann <ann@single.example>")).toBe("queued")
    expect(await admitted("live", "bob@single.example")).toBe("sender_not_verified")
    const { body } = await live("GET", `/v1/send/senders/${made.body.id}`)
    expect([body.status, body.releasedToday, typeof body.verified_at]).toEqual(["verified", 1, "string"])
    // A link is good once.
    expect((await fetch(link!, { method: "POST" })).status).toBe(404)
    expect((await live("POST", "/v1/send/senders", { email: "ann@single.example" })).status).toBe(409)
  })

  it("[platform 9.14] is mailed once in five minutes, whoever asks", async () => {
    const [one, other] = [await platform().tenant(), await platform().tenant()]
    const email = "often@single.example"
    expect((await one.live("POST", "/v1/send/senders", { email })).status).toBe(201)
    for (const { live } of [one, other]) {
      const refused = await live("POST", "/v1/send/senders", { email })
      expect([refused.status, refused.body.error.code]).toEqual([429, "verification_too_soon"])
      const seconds = Number(refused.headers.get("retry-after"))
      expect(seconds).toBeGreaterThan(0)
      expect(seconds).toBeLessThanOrEqual(300)
    }
    // A test account's mail goes nowhere, so it keeps nobody waiting.
    expect((await other.test("POST", "/v1/send/senders", { email })).status).toBe(201)
    await later(300_000)
    expect((await one.live("POST", "/v1/send/senders", { email })).status).toBe(201)
    const [first, , second] = linksFor(email)
    expect((await fetch(first!, { method: "POST" })).status).toBe(404)
    expect((await fetch(second!, { method: "POST" })).status).toBe(200)
  })

  it("is mailed one link under one Idempotency-Key", async () => {
    const { live } = await platform().tenant()
    const make = (email: string) => live("POST", "/v1/send/senders", { email }, { "idempotency-key": "mine" })
    const [first, second] = [await make("key@single.example"), await make("key@single.example")]
    expect([second.status, second.body.id, second.headers.get("idempotency-replayed")]).toEqual([
      201,
      first.body.id,
      "true"
    ])
    expect(linksFor("key@single.example").length).toBe(1)
  })

  it("is not verified by a link that is too old, cut short or made up", async () => {
    const { live } = await platform().tenant()
    await live("POST", "/v1/send/senders", { email: "late@single.example" })
    const [link] = linksFor("late@single.example")
    for (const bad of [link!.slice(0, -1), link!.replace(/.{32}$/, "A".repeat(32)), link!.replace(/\?.*/, "")]) {
      expect((await fetch(bad)).status).toBe(404)
      expect((await fetch(bad, { method: "POST" })).status).toBe(404)
    }
    await later(24 * 3_600_000)
    expect((await fetch(link!)).status).toBe(404)
    expect((await fetch(link!, { method: "POST" })).status).toBe(404)
  })

  it("is listed, deleted, and the other mode's business never", async () => {
    const { admitted, live, test } = await platform().tenant()
    const { body } = await test("POST", "/v1/send/senders", { email: "gone@single.example" })
    await fetch(linksFor("gone@single.example")[0]!, { method: "POST" })
    expect((await live("GET", `/v1/send/senders/${body.id}`)).status).toBe(404)
    expect((await live("DELETE", `/v1/send/senders/${body.id}`)).status).toBe(404)
    expect((await test("GET", "/v1/send/senders")).body.data).toMatchObject([{ id: body.id, status: "verified" }])
    expect(await admitted("test", "gone@single.example")).toBe("queued")
    expect((await test("DELETE", `/v1/send/senders/${body.id}`)).body).toEqual({
      object: "sender",
      id: body.id,
      deleted: true
    })
    expect(await admitted("test", "gone@single.example")).toBe("sender_not_verified")
    expect((await test("GET", "/v1/send/senders")).body.data).toEqual([])
  })

  it.each([
    "",
    "ann",
    "@a.example",
    "ann@",
    '"an n"@a.example',
    "Ann <ann@a.example>",
    "a..b@a.example",
    "ann@localhost"
  ])("is not %j", async (email) => {
    const { live } = await platform().tenant()
    const answer = await live("POST", "/v1/send/senders", { email })
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"])
  })
})
