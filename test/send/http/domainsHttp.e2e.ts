/** Domains over HTTP, with a real name server: added, verified by their records, seen by their owner alone, deleted. */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { Engine } from "../../../src/engine/Engine.ts"
import { SendSender, senderKey } from "../../../src/send/index.ts"
import { DomainChecks } from "../../../src/send/senders/domains/DomainChecks.ts"
import { Domains } from "../../../src/send/senders/domains/Domains.ts"
import type { Answer } from "../../support/api.ts"
import { patienceMillis } from "../../support/patience.ts"
import { type Tenant, useSendPlatform } from "./sendersPlatform.ts"

interface ShownRecord {
  readonly record: string
  readonly name: string
  readonly status: string
  readonly value: string
}

const platform = useSendPlatform()

/** Sets the records that an answer asks for, in strings of 200 characters as name servers have them. */
const setRecords = (domain: Answer["body"], which: ReadonlyArray<string> = ["Ownership", "DKIM"]) => {
  for (const { name, record, value } of domain.records as ReadonlyArray<ShownRecord>)
    platform().names.answer(
      name,
      which.includes(record) ? { addresses: [], texts: [["another record"], value.match(/.{1,200}/g)!] } : "unknown"
    )
}

const statusesOf = (domain: Answer["body"]) =>
  Object.fromEntries((domain.records as ReadonlyArray<ShownRecord>).map(({ record, status }) => [record, status]))

const added = async ({ live }: Tenant, name: string): Promise<Answer["body"]> => {
  platform().names.answer(name, { addresses: ["192.0.2.1"] })
  const answer = await live("POST", "/v1/send/domains", { name })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body
}

const verified = async (tenant: Tenant, name: string) => {
  const domain = await added(tenant, name)
  setRecords(domain)
  const answer = await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)
  expect(answer.body.status).toBe("verified")
  return domain
}

describe("a domain", () => {
  it("[platform 9.13] sends once its records are there", async () => {
    const tenant = await platform().tenant()
    const domain = await added(tenant, "first.example")
    expect(domain).toMatchObject({
      object: "domain",
      name: "first.example",
      status: "pending",
      region: null,
      tier: "new",
      nextTier: null
    })
    expect(statusesOf(domain)).toEqual({
      Ownership: "pending",
      DKIM: "pending",
      SPF: "not_started",
      DMARC: "not_started"
    })
    expect(await tenant.admitted("live", "ann@first.example")).toBe("sender_not_verified")

    setRecords(domain, ["Ownership"])
    const half = await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)
    expect(half.body).toEqual({ object: "domain", id: domain.id, status: "pending" })
    expect(await tenant.admitted("live", "ann@first.example")).toBe("sender_not_verified")

    setRecords(domain)
    const whole = await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)
    expect(whole.body).toEqual({ object: "domain", id: domain.id, status: "verified" })
    expect(await tenant.admitted("live", "ann@first.example")).toBe("queued")
    const { body } = await tenant.live("GET", `/v1/send/domains/${domain.id}`)
    expect(statusesOf(body)).toMatchObject({ Ownership: "verified", DKIM: "verified" })
    expect(body).toMatchObject({ status: "verified", dailyCap: 200, releasedToday: 1, held: 0, scheduled: 0 })
    expect(body.nextTier).toMatchObject({ tier: "warming", emailsMissing: 100, bounceRate: 0, bounceRateBelow: 0.01 })
  })

  it("goes on sending without a record that it had, and says so", async () => {
    const tenant = await platform().tenant()
    const domain = await verified(tenant, "loses.example")
    setRecords(domain, ["Ownership"])
    const lost = await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)
    expect(lost.body.status).toBe("partially_failed")
    expect(statusesOf((await tenant.live("GET", `/v1/send/domains/${domain.id}`)).body)).toMatchObject({
      Ownership: "verified",
      DKIM: "temporary_failure"
    })
    expect(await tenant.admitted("live", "ann@loses.example")).toBe("queued")
    setRecords(domain)
    expect((await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)).body.status).toBe("verified")
  })

  it("is verified by rounds too, once it is due", async () => {
    const tenant = await platform().tenant()
    const domain = await added(tenant, "round.example")
    setRecords(domain)
    // Its owner has not asked; the first look is a minute away.
    await platform().run(
      Effect.gen(function* () {
        const checks = yield* DomainChecks
        const sql = yield* SqlClient.SqlClient
        const found = yield* checks.find({ organizationId: tenant.organization, mode: "live" }, "round.example")
        expect(found?.checkAt).toBe(found!.createdAt + 60_000)
        yield* sql`update send_domains set check_at = ${found!.createdAt} where id = ${domain.id}`
        yield* checks.round
      })
    )
    // The platform's own round may have been faster.
    await expect
      .poll(async () => (await tenant.live("GET", `/v1/send/domains/${domain.id}`)).body.status, {
        timeout: patienceMillis
      })
      .toBe("verified")
  })

  it("[platform 9.13] is told what its SPF and DMARC records lack, asked and daily, and sends all the same", async () => {
    const tenant = await platform().tenant()
    const domain = await added(tenant, "policy.example")
    expect(domain.authentication).toEqual([])
    setRecords(domain)
    const verify = () => tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)
    const verdicts = async (): Promise<ReadonlyArray<Record<string, string | null>>> =>
      (await tenant.live("GET", `/v1/send/domains/${domain.id}`)).body.authentication
    expect((await verify()).body.status).toBe("verified")
    const [spf, dmarc] = await verdicts()
    expect(spf).toMatchObject({
      record: "SPF",
      name: "policy.example",
      status: "missing",
      advised: "v=spf1 mx ~all",
      checkedAt: expect.stringMatching(/^\d{4}-.*Z$/)
    })
    expect(dmarc).toMatchObject({ record: "DMARC", name: "_dmarc.policy.example", status: "missing" })
    expect(await tenant.admitted("live", "ann@policy.example")).toBe("queued")

    const { names } = platform()
    names.answer("policy.example", { addresses: ["192.0.2.1"], texts: [["v=spf1 ip4:192.0.2.1 ", "-all"]] })
    names.answer("_dmarc.policy.example", { addresses: [], texts: [["v=DMARC1; p=reject"]] })
    expect((await verify()).body.status).toBe("verified")
    expect(await verdicts()).toMatchObject([{ status: "pass" }, { status: "pass" }])

    names.answer("policy.example", { addresses: ["192.0.2.1"], texts: [["v=spf1 +all"]] })
    await platform().run(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`update send_domains set check_at = created_at where id = ${domain.id}`
        yield* (yield* DomainChecks).round
      })
    )
    await expect.poll(async () => (await verdicts())[0]!.status, { timeout: patienceMillis }).toBe("invalid")
    const { body } = await tenant.live("GET", `/v1/send/domains/${domain.id}`)
    expect(body.status).toBe("verified")
    expect(await tenant.admitted("live", "ann@policy.example")).toBe("queued")
    const test = await tenant.test("POST", "/v1/send/domains", { name: "policy.example" })
    expect(test.body.authentication).toEqual([])
  })

  it("[platform 9.13] is two organizations' with a token, a key and a standing of each", async () => {
    const [one, other] = [await platform().tenant(), await platform().tenant()]
    const first = await verified(one, "shared.example")
    const second = await added(other, "shared.example")
    const values = (domain: Answer["body"]) => domain.records.map(({ value }: ShownRecord) => value).slice(0, 2)
    expect(values(first)).not.toEqual(values(second))
    expect(await other.admitted("live", "ann@shared.example")).toBe("sender_not_verified")
    setRecords(second)
    expect((await other.live("POST", `/v1/send/domains/${second.id}/verify`)).body.status).toBe("verified")
    expect((await other.live("GET", `/v1/send/domains/${second.id}`)).body.releasedToday).toBe(0)
    expect((await other.live("GET", `/v1/send/domains/${first.id}`)).status).toBe(404)
  })

  it("[platform 2.6] of a test key is verified at once, and seen by test keys alone", async () => {
    const { admitted, live, test } = await platform().tenant()
    const { body, status } = await test("POST", "/v1/send/domains", { domain: "anything.example", region: "eu-west-1" })
    expect([status, body.status, body.region]).toEqual([201, "verified", "eu-west-1"])
    expect(await admitted("test", "ann@anything.example")).toBe("queued")
    expect(await admitted("live", "ann@anything.example")).toBe("sender_not_verified")
    expect((await live("GET", `/v1/send/domains/${body.id}`)).status).toBe(404)
    expect((await live("GET", "/v1/send/domains")).body.data).toEqual([])
    expect((await test("GET", "/v1/send/domains")).body).toMatchObject({
      object: "list",
      has_more: false,
      data: [{ id: body.id, name: "anything.example", status: "verified", region: "eu-west-1", tier: "new" }]
    })
  })

  it("signs with a key whose public part is in its record", async () => {
    const tenant = await platform().tenant()
    const domain = await verified(tenant, "signs.example")
    const account = { organizationId: tenant.organization, mode: "live" } as const
    const key = await platform().run(Effect.flatMap(Domains, (domains) => domains.signingKey(account, "signs.example")))
    const publicKey = createPublicKey(createPrivateKey(Redacted.value(key!.privateKey))).export({
      type: "spki",
      format: "der"
    })
    const [, dkim] = domain.records
    expect(dkim.value).toBe(`v=DKIM1; k=rsa; p=${publicKey.toString("base64")}`)
    expect(dkim.name).toBe(`${key!.selector}._domainkey.signs.example`)
    const others = { organizationId: tenant.organization, mode: "test" } as const
    expect(
      await platform().run(Effect.flatMap(Domains, (domains) => domains.signingKey(others, "signs.example")))
    ).toBeUndefined()
  })

  it("signs with a new key as soon as its record is there, and with the old one until then", async () => {
    const tenant = await platform().tenant()
    const domain = await verified(tenant, "rotates.example")
    const account = { organizationId: tenant.organization, mode: "live" } as const
    const selector = async () =>
      (await platform().run(Effect.flatMap(Domains, (domains) => domains.signingKey(account, "rotates.example"))))!
        .selector
    const before = await selector()
    const rotate = () => tenant.live("POST", `/v1/send/domains/${domain.id}/rotate-key`)
    const rotated = await rotate()
    expect(rotated.status, JSON.stringify(rotated.body)).toBe(200)
    const next = rotated.body.records.at(-1)
    expect(next).toMatchObject({ record: "DKIM", status: "pending", required: false })
    expect((await rotate()).body.records).toEqual(rotated.body.records)
    await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)
    expect(await selector()).toBe(before)
    platform().names.answer(next.name, { addresses: [], texts: [next.value.match(/.{1,200}/g)] })
    expect((await tenant.live("POST", `/v1/send/domains/${domain.id}/verify`)).body.status).toBe("verified")
    expect(`${await selector()}._domainkey.rotates.example`).toBe(next.name)
    const shown = (await tenant.live("GET", `/v1/send/domains/${domain.id}`)).body
    expect(shown.records.filter(({ record }: ShownRecord) => record === "DKIM")).toMatchObject([
      { name: next.name, value: next.value, status: "verified" }
    ])
  })

  it("has no key to rotate before it is verified", async () => {
    const tenant = await platform().tenant()
    const { id } = await added(tenant, "tooearly.example")
    expect((await tenant.live("POST", `/v1/send/domains/${id}/rotate-key`)).status).toBe(409)
    const { body } = await tenant.test("POST", "/v1/send/domains", { name: "tooearly.example" })
    const rotated = await tenant.test("POST", `/v1/send/domains/${body.id}/rotate-key`)
    expect(rotated.body.records[1].name).not.toBe(body.records[1].name)
  })

  it("[platform 9.13] is kept in lower case and punycode, once", async () => {
    const tenant = await platform().tenant()
    expect((await added(tenant, "Bücher.EXAMPLE")).name).toBe("xn--bcher-kva.example")
    const again = await tenant.live("POST", "/v1/send/domains", { name: "xn--bcher-kva.example." })
    expect(again.status).toBe(409)
    expect(again.body.error.code).toBe("conflict")
  })

  it("[platform 9.13] is deleted with its sender, but not while mail waits", async () => {
    const tenant = await platform().tenant()
    const domain = await verified(tenant, "goes.example")
    const target = { organization: tenant.organization, key: senderKey("live", "goes.example") }
    const tell = (cap: number) =>
      platform().run(Effect.flatMap(Engine, (engine) => engine.ask(SendSender, target, { _tag: "SetDailyCap", cap })))
    await tell(1)
    expect(await tenant.admitted("live", "ann@goes.example")).toBe("queued")
    expect(await tenant.admitted("live", "ann@goes.example")).toBe("held")
    const refused = await tenant.live("DELETE", `/v1/send/domains/${domain.id}`)
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"])
    expect(refused.body.error.message).toContain("1 held")
    await tell(10)
    await expect
      .poll(async () => (await tenant.live("GET", `/v1/send/domains/${domain.id}`)).body.held, {
        timeout: patienceMillis
      })
      .toBe(0)
    expect((await tenant.live("DELETE", `/v1/send/domains/${domain.id}`)).body).toEqual({
      object: "domain",
      id: domain.id,
      deleted: true
    })
    expect(await tenant.admitted("live", "ann@goes.example")).toBe("sender_not_verified")
    expect((await tenant.live("GET", `/v1/send/domains/${domain.id}`)).status).toBe(404)
    expect((await tenant.live("DELETE", `/v1/send/domains/${domain.id}`)).status).toBe(404)
  })

  it("[platform 9.8] that speaks for a higher risk raises its account's", async () => {
    const { live } = await platform().tenant()
    const before = (await live("GET", "/v1/send/tenants")).body.caps.emailsPerHour.limit
    // Nobody takes its mail.
    platform().names.answer("nobody.example", "unknown")
    expect((await live("POST", "/v1/send/domains", { name: "nobody.example" })).status).toBe(201)
    const after = (await live("GET", "/v1/send/tenants")).body.caps.emailsPerHour.limit
    expect([before, after]).toEqual([50, 20])
  })

  it.each([
    [{}, "Missing required field 'name'."],
    [{ name: "a.example", domain: "a.example" }, "not both"],
    [{ name: "localhost" }, "Expected a domain"],
    [{ name: "192.0.2.1" }, "Expected a domain"],
    [{ name: "a_b.example" }, "Expected a domain"],
    [{ name: "ann@a.example" }, "Expected a domain"],
    [{ name: `${"a".repeat(300)}.example` }, "Expected a domain"],
    [{ name: "a.example", custom_return_path: "x" }, "Unknown field"],
    [{ name: "a.example", tls: "enforced" }, "Unknown field"]
  ])("is not made of %j", async (body, told) => {
    const { live } = await platform().tenant()
    const answer = await live("POST", "/v1/send/domains", body)
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"])
    expect(answer.body.error.message).toContain(told)
  })

  it("is listed in pages, by cursor and by the ids of its neighbours", async () => {
    const { test } = await platform().tenant()
    for (const name of ["a.example", "b.example", "c.example"]) await test("POST", "/v1/send/domains", { name })
    const names = ({ body }: Answer) => body.data.map(({ name }: { readonly name: string }) => name)
    const first = await test("GET", "/v1/send/domains?limit=2")
    expect(names(first)).toEqual(["c.example", "b.example"])
    expect([first.body.has_more, first.body.pagination.hasMore]).toEqual([true, true])
    const next = await test("GET", `/v1/send/domains?limit=2&cursor=${first.body.pagination.nextCursor}`)
    expect([names(next), next.body.has_more]).toEqual([["a.example"], false])
    const [c, b] = first.body.data
    expect(names(await test("GET", `/v1/send/domains?after=${c.id}`))).toEqual(["b.example", "a.example"])
    const [a] = next.body.data
    expect(names(await test("GET", `/v1/send/domains?before=${a.id}`))).toEqual(["c.example", "b.example"])
    const nearest = await test("GET", `/v1/send/domains?limit=1&before=${a.id}`)
    expect([names(nearest), nearest.body.has_more]).toEqual([["b.example"], true])
    for (const query of ["after=dom_none", `after=${b.id}&before=${b.id}`])
      expect((await test("GET", `/v1/send/domains?${query}`)).status, query).toBe(400)
  })

  it("is refused in the fields that clients of Resend's API read, for those alone", async () => {
    const tenant = await platform().tenant()
    const flat = await tenant.live("GET", "/v1/send/domains/dom_none", undefined, {
      "user-agent": "resend-node:6.38.0"
    })
    const message = 'No domain has the id "dom_none".'
    expect([flat.status, flat.body]).toEqual([
      404,
      { error: { code: "not_found", message }, name: "not_found", message, statusCode: 404 }
    ])
    const path = await tenant.live("PUT", "/v1/send/domains", undefined, { "user-agent": "resend-node:6.38.0" })
    expect([path.status, path.body.name, path.body.error.code]).toEqual([
      405,
      "method_not_allowed",
      "method_not_allowed"
    ])
  })
})
