/** The request log of an organization, over both paths of the server (docs/platform.md, 2.12). */
import { Clock, Effect, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { builtInCatalogue } from "../../../src/billing/index.ts"
import { OrganizationPlans } from "../../../src/platform/OrganizationPlans.ts"
import { RequestWriter } from "../../../src/platform/requests/RequestWriter.ts"
import { type Tenant, useBillingPlatform } from "../../billing/billingPlatform.ts"
import { patienceMillis } from "../../support/patience.ts"

const platform = useBillingPlatform({
  catalogue: builtInCatalogue,
  terms: { settlement: "by operator", graceMillis: 0, dueMillis: 0 }
})

/** The time without a setting. */
const weekMillis = 7 * 24 * 60 * 60 * 1_000

type Asker = Pick<Tenant, "ask">

const flush = () =>
  platform().run(Effect.flatMap(RequestWriter, (writer) => writer.flush).pipe(Effect.provide(Logger.layer([]))))

/** The list, once everything that was answered is written. */
const requests = async ({ ask }: Asker, query = "") => {
  await flush()
  const answer = await ask("GET", `/v1/requests${query}`)
  expect([answer.status, answer.body.error]).toEqual([200, undefined])
  return answer.body.data as ReadonlyArray<Record<string, unknown>>
}

const detail = async ({ ask }: Asker, id: unknown) => {
  const answer = await ask("GET", `/v1/requests/${id}`)
  expect(answer.status).toBe(200)
  return answer.body as Record<string, unknown>
}

/** Every row of an organization as text. */
const storedOf = (organization: string) =>
  platform().run(
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<{ readonly row: string }>`
        select to_jsonb(t)::text as row from api_requests t where organization_id = ${organization}`
    )
  )

const mail = { from: "ann@unknown-sender.test", to: ["bob@two.test", "eve@three.test"], subject: "Hush", text: "Hush" }

describe("the request log", () => {
  it("[platform 2.12] keeps a call with its key and its times, found by its X-Request-Id", async () => {
    const tenant = await platform().tenant()
    await tenant.ask("GET", "/v1/send/emails?limit=1", undefined, { "x-request-id": "req-log-1" })
    await tenant.ask("GET", "/v1/keys")
    const [found, ...others] = await requests(tenant, "?requestId=req-log-1")
    expect(others).toEqual([])
    expect(found).toEqual({
      id: expect.stringMatching(/^rq_/),
      at: expect.any(Number),
      mode: "live",
      keyId: expect.stringMatching(/^key_/),
      method: "GET",
      path: "/v1/send/emails",
      route: "/v1/send/emails",
      status: 200,
      code: null,
      durationMillis: expect.any(Number),
      requestId: "req-log-1",
      address: expect.stringMatching(/127\.0\.0\.1$/),
      count: 1
    })
    expect(await detail(tenant, found!.id)).toEqual({ ...found, requestBody: null, answerBody: null, facts: null })
  })

  it("[platform 2.12] keeps the bodies of failures from both paths, without what is confidential", async () => {
    const tenant = await platform().tenant()
    // The fast lane refuses the first two, the general path the third.
    expect((await tenant.ask("POST", "/v1/send/emails", mail)).status).toBe(403)
    const unread = await tenant.ask("POST", "/v1/send/emails", { ...mail, to: "hush-address" })
    const scoped = await tenant.ask("POST", "/v1/keys", { name: "Hush", services: ["fax"], scopes: [] })
    expect([unread.status, scoped.status]).toEqual([400, 400])
    await tenant.ask("DELETE", "/v1/send/suppressions/hush%40two.test")
    const [ofPerson, ofKeys, ofAddress, ofSender] = await requests(tenant)
    expect([ofPerson, ofKeys, ofAddress, ofSender].map((one) => [one?.path, one?.status])).toEqual([
      ["/v1/send/suppressions/{idOrEmail}", 404],
      ["/v1/keys", 400],
      ["/v1/send/emails", 400],
      ["/v1/send/emails", 403]
    ])
    const keys = await detail(tenant, ofKeys!.id)
    expect(JSON.parse(String(keys.requestBody))).toEqual({ name: "[removed]", services: ["fax"], scopes: [] })
    expect(JSON.parse(String(keys.answerBody)).error.message).toContain("services")
    const sent = await detail(tenant, ofSender!.id)
    expect(sent.code).toBe("sender_not_verified")
    expect(JSON.parse(String(sent.requestBody))).toEqual({
      from: "[removed]",
      to: ["[removed]", "[removed]"],
      subject: "[removed]",
      text: "[removed]"
    })
    for (const { row } of await storedOf(tenant.organization)) expect(row).not.toMatch(/hush|\.test|sk_live|bearer/i)
  })

  it("[platform 2.12] keeps what deciding a refused send again needs, the domains as digests of the organization", async () => {
    const one = await platform().tenant()
    const other = await platform().tenant()
    const factsOf = async (tenant: Tenant) => {
      await tenant.ask("POST", "/v1/send/emails/batch", [mail, { ...mail, to: "zoe@two.test" }])
      const [found] = await requests(tenant, "?path=/v1/send/emails/batch&status=403")
      return (await detail(tenant, found!.id)).facts as Record<string, Readonly<Record<string, number>>>
    }
    const facts = await factsOf(one)
    expect(facts).toEqual({
      kind: "send.refused",
      account: "live",
      code: "sender_not_verified",
      recipients: [2, 1],
      senders: expect.anything(),
      domains: expect.anything(),
      furtherRecipients: 0,
      scheduled: 0
    })
    expect(Object.values(facts.senders!)).toEqual([2])
    expect(Object.values(facts.domains!).sort()).toEqual([1, 2])
    expect(await factsOf(one)).toEqual(facts)
    const digests = (of: typeof facts) => Object.keys({ ...of.senders, ...of.domains })
    expect(digests(await factsOf(other)).filter((digest) => digests(facts).includes(digest))).toEqual([])
  })

  it("[platform 2.12] is filtered, and comes in pages that belong to their filter", async () => {
    const tenant = await platform().tenant()
    const reader = await tenant.askAs({ scopes: ["platform:requests:read"] })
    for (const path of ["/v1/keys", "/v1/send/emails/em_000000000001", "/v1/send/emails?limit=1", "/v1/keys?limit=0"])
      await tenant.ask("GET", path)
    await reader("POST", "/v1/keys", { services: [], scopes: [] })
    const paths = async (query: string) => (await requests(tenant, query)).map(({ path }) => path)
    expect(await paths("")).toEqual([
      "/v1/keys",
      "/v1/keys",
      "/v1/send/emails",
      "/v1/send/emails/em_000000000001",
      "/v1/keys"
    ])
    expect(await paths("?method=POST")).toEqual(["/v1/keys"])
    expect(await paths("?status=404")).toEqual(["/v1/send/emails/em_000000000001"])
    expect((await requests(tenant, "?status=4xx")).map(({ status }) => status)).toEqual([403, 400, 404])
    expect((await requests(tenant, "?status=2xx")).map(({ status }) => status)).toEqual([200, 200])
    expect(await paths("?path=/v1/keys")).toHaveLength(3)
    expect(await paths("?path=/v1/send/emails")).toEqual(["/v1/send/emails"])
    expect(await paths("?path=/v1/send/emails/{id}")).toEqual(["/v1/send/emails/em_000000000001"])
    expect(await paths("?path=/v1/send/emails/em_000000000001")).toEqual(["/v1/send/emails/em_000000000001"])
    const [{ at, keyId } = { at: 0, keyId: "" }] = await requests(tenant, "?method=POST")
    expect(await paths(`?key=${keyId}`)).toEqual(["/v1/keys"])
    expect(await paths(`?until=${at}&since=${Number(at) - 60_000}`)).not.toEqual(await paths(""))
    expect(await paths(`?since=${Number(at) + 60_000}`)).toEqual([])

    const first = await tenant.ask("GET", "/v1/requests?path=/v1/keys&limit=2")
    const { nextCursor } = first.body.pagination
    const second = await tenant.ask("GET", `/v1/requests?path=/v1/keys&limit=2&cursor=${nextCursor}`)
    expect([...first.body.data, ...second.body.data]).toEqual(await requests(tenant, "?path=/v1/keys"))
    // The range of a view ends now, so that it begins later with each page.
    const laterRange = `path=/v1/keys&limit=2&since=${Number(at) - 59_000}&cursor=${nextCursor}`
    expect((await tenant.ask("GET", `/v1/requests?${laterRange}`)).body.data).toEqual(second.body.data)
    for (const query of [
      `?limit=2&cursor=${nextCursor}`,
      "?status=4x",
      "?status=600",
      "?method=HEAD",
      "?path=keys",
      "?key=k",
      "?requestId=%20",
      "?since=x",
      "?limit=0"
    ])
      expect((await tenant.ask("GET", `/v1/requests${query}`)).status, query).toBe(400)
  })

  it("[platform 2.12] shows nobody the requests of another organization or mode, and needs its scope", async () => {
    const one = await platform().tenant()
    const other = await platform().tenant()
    await one.ask("GET", "/v1/keys")
    const [found] = await requests(one)
    expect(await requests(other)).toEqual([])
    const tester = await one.askAs({ mode: "test", scopes: ["*"] })
    expect(await requests({ ask: tester })).toEqual([])
    const strangers = [other.ask, tester].map((ask) => ask("GET", `/v1/requests/${found!.id}`))
    for (const { body, status } of await Promise.all(strangers)) {
      expect(status).toBe(404)
      const none = await other.ask("GET", `/v1/requests/${String(found!.id).slice(0, -1)}_`)
      expect([none.status, Object.keys(none.body.error)]).toEqual([404, Object.keys(body.error)])
    }
    const manager = await one.askAs({ scopes: ["platform:audit:read"] })
    expect((await manager("GET", "/v1/requests")).status).toBe(403)
    expect((await manager("GET", `/v1/requests/${found!.id}`)).status).toBe(403)
  })

  it("[platform 2.12] keeps neither its own readers nor callers without a key", async () => {
    const tenant = await platform().tenant()
    await tenant.ask("GET", "/v1/requests")
    await tenant.ask("GET", "/v1/requests/rq_none")
    await tenant.ask("GET", "/v1/keys", undefined, { authorization: `Bearer sk_live_${"x".repeat(24)}` })
    await tenant.ask("GET", "/v1/keys", undefined, { authorization: "" })
    expect(await requests(tenant)).toEqual([])
  })

  it("[platform 2.12] samples what is over the rate, and its rows stand for all of it", async () => {
    const tenant = await platform().tenant()
    await platform().run(
      Effect.flatMap(OrganizationPlans, (plans) =>
        plans.setLimits(tenant.organization, { requestsPerMinute: "unlimited" })
      )
    )
    const calls = 60
    await Promise.all(Array.from({ length: calls }, () => tenant.ask("GET", "/v1/keys")))
    const found = await requests(tenant, "?limit=100")
    expect(found.reduce((sum, { count }) => sum + Number(count), 0)).toBe(calls)
    expect(found.length).toBeLessThan(calls)
  })

  it("[platform 2.12] shows nothing that is older than seven days", async () => {
    const tenant = await platform().tenant()
    await platform().run(
      Effect.gen(function* () {
        const { recorder } = yield* RequestWriter
        const now = yield* Clock.currentTimeMillis
        const caller = { organizationId: tenant.organization, keyId: "key_1", mode: "live" } as const
        const request = {
          seconds: 0,
          method: "GET",
          route: "/v1/keys",
          url: "/v1/keys",
          status: 200,
          address: undefined,
          body: undefined,
          answer: undefined,
          facts: undefined
        }
        for (const [requestId, age] of [
          ["old", weekMillis + 1_000],
          ["young", weekMillis - 60_000]
        ] as const)
          recorder.counted(caller, 200)?.({ ...request, requestId, at: now - age })
      })
    )
    expect((await requests(tenant, "?since=0")).map(({ requestId }) => requestId)).toEqual(["young"])
    const rows = await storedOf(tenant.organization)
    expect(rows).toHaveLength(2)
    const old = JSON.parse(rows.find(({ row }) => row.includes('"old"'))!.row) as { readonly id: string }
    expect((await tenant.ask("GET", `/v1/requests/${old.id}`)).status).toBe(404)
  })

  it("[platform 2.12] stays out of the way of requests where it cannot be written", {
    timeout: patienceMillis
  }, async () => {
    const tenant = await platform().tenant()
    const rename = (from: string, to: string) =>
      platform().run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`alter table ${sql(from)} rename to ${sql(to)}`))
    await rename("api_requests", "api_requests_away")
    try {
      expect((await tenant.ask("GET", "/v1/keys")).status).toBe(200)
      await flush()
    } finally {
      await rename("api_requests_away", "api_requests")
    }
    await tenant.ask("GET", "/v1/keys?limit=1")
    expect(await requests(tenant)).toHaveLength(1)
  })

  it("[platform 2.12] keeps requests that PostgreSQL cannot take at the moment, until it can", async () => {
    const tenant = await platform().tenant()
    const change = (statement: string) =>
      platform().run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement).unprepared))
    await change(`create function busy() returns trigger language plpgsql as
      $$ begin raise exception 'busy' using errcode = 'serialization_failure'; end $$`)
    await change("create trigger busy before insert on api_requests for each row execute function busy()")
    try {
      await tenant.ask("GET", "/v1/keys")
      await flush()
      expect(await storedOf(tenant.organization)).toEqual([])
    } finally {
      await change("drop function busy cascade")
    }
    expect(await requests(tenant)).toHaveLength(1)
    await flush()
    expect(await storedOf(tenant.organization)).toHaveLength(1)
  })

  it("[platform 2.9, 2.12] writes nothing of an organization that is deleted meanwhile", async () => {
    const tenant = await platform().tenant()
    await platform().run(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`update organizations set deleted_at = now() where id = ${tenant.organization}`
      )
    )
    await platform().run(
      Effect.gen(function* () {
        const { flush: write, recorder } = yield* RequestWriter
        recorder.counted(
          { organizationId: tenant.organization, keyId: "key_1", mode: "live" },
          200
        )?.({
          at: yield* Clock.currentTimeMillis,
          seconds: 0,
          method: "GET",
          route: "/v1/keys",
          url: "/v1/keys",
          status: 200,
          requestId: "req-late",
          address: undefined,
          body: undefined,
          answer: undefined,
          facts: undefined
        })
        yield* write
      })
    )
    expect(await storedOf(tenant.organization)).toEqual([])
  })
})
