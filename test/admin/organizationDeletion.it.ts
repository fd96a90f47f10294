/** The deletion of an organization in this process, on PostgreSQL and with the engine's log in memory (docs/platform.md, 2.9): every kind of thing that it has ends. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { AdminActs } from "../../src/admin/AdminActs.ts"
import { OrganizationDeletion } from "../../src/admin/OrganizationDeletion.ts"
import { projections } from "../../src/app/engine.ts"
import { BillingActor, builtInCatalogue } from "../../src/billing/index.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { signalsName } from "../../src/engine/ports/Signals.ts"
import { internals } from "../../src/engine/shell/partition/internals.ts"
import { ApiKeys } from "../../src/platform/ApiKeys.ts"
import { EngineOnDemand } from "../../src/platform/EngineOnDemand.ts"
import { Organizations } from "../../src/platform/Organizations.ts"
import { Members } from "../../src/platform/people/Members.ts"
import { RequestWriter } from "../../src/platform/requests/RequestWriter.ts"
import { SiteCredentials } from "../../src/platform/SiteCredentials.ts"
import { SendAccount, SendEmail, SendSender, senderKey } from "../../src/send/index.ts"
import { jobsTable } from "../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoints } from "../../src/webhooks/endpoint/rules.ts"
import { query, until } from "../cli/support.ts"
import { buildApi } from "../support/api.ts"
import { askAt } from "../webhooks/platform.ts"

const scope = Scope.makeUnsafe()
const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
let platform: Effect.Success<ReturnType<typeof buildApi>>
let deletion: OrganizationDeletion["Service"]

beforeAll(async () => {
  platform = await run(buildApi(scope))
  const layer = OrganizationDeletion.layer.pipe(
    Layer.provide(Layer.merge(AdminActs.layer, EngineOnDemand.layer)),
    Layer.provide(Layer.succeedContext(platform.services))
  )
  deletion = Context.get(await run(Scope.provide(Layer.build(layer), scope)), OrganizationDeletion)
})

afterAll(() => run(Scope.close(scope, Exit.void)))

describe("a deletion", () => {
  it("[platform 2.9] ends keys, endpoints, senders, waiting mail and the key of contents, and may be repeated", async () => {
    const { databaseUrl, services, url } = platform
    const engine = Context.get(services, Engine)
    const made = { name: "Acme", email: null, plan: "team", sendPlan: "pro", risk: "standard" } as const
    const { organization } = await run(Context.get(services, Organizations).create(made))
    const { id } = organization
    const wanted = { name: null, mode: "test", services: ["send"], scopes: ["*"], expiresAtMillis: null } as const
    const { key } = await run(Context.get(services, ApiKeys).create(id, wanted))
    const ask = askAt(url, key!)
    const done = async (path: string, body: object): Promise<string> => {
      const answer = await ask("POST", path, body)
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
      return (answer.body as { readonly id: string }).id
    }
    await done("/v1/send/domains", { name: "one.example" })
    await query(
      databaseUrl,
      `with owner as (select id, organization_id, 0::int8 as day from send_domains where organization_id = $1),
       sources as (insert into send_dmarc_sources select owner.*, '192.0.2.1', 1, 1, 1, 1, 0, 0 from owner),
       sessions as (insert into send_tls_sessions select owner.*, 'sts', 'successful', 1 from owner)
       insert into send_domain_reports select owner.*, 'dmarc', 'a', '1', '192.0.2.9', 0 from owner`,
      [id]
    )
    const endpoint = await done("/v1/webhooks", { url: "https://one.example/in", enabled_events: ["*"] })
    // Nobody delivers here, so what it owes waits.
    expect((await ask("POST", `/v1/webhooks/${endpoint}/test`)).status).toBe(200)
    const owed = () => query(databaseUrl, `select 1 from ${jobsTable} where group_key = $1`, [endpoint])
    // A reactor writes the row, a moment after the answer.
    await until(async () => (await owed()).length === 1)
    await done("/v1/send/suppressions", { email: "gone@two.example" })
    const email = await done("/v1/send/emails", {
      from: "ann@one.example",
      to: "bob@two.example",
      subject: "Hi",
      text: "Hi"
    })
    const terms = { settlement: "at once", graceMillis: 0, dueMillis: 1_000 } as const
    const price = { ...[...builtInCatalogue.prices.values()][0]!.price, amount: 100 }
    const billing = <C extends Parameters<typeof BillingActor.encodeCommand>[0]>(command: C) =>
      run(Effect.orDie(engine.ask(BillingActor, { organization: id }, command)))
    await billing({ _tag: "OpenCheckout", id: "co_1", price, expiresAt: Date.now() + 60_000 })
    await billing({ _tag: "SubmitCheckout", id: "co_1", terms })
    await billing({ _tag: "OpenCheckout", id: "co_2", price, expiresAt: Date.now() + 60_000 })
    await billing({ _tag: "SubmitCheckout", id: "co_2", terms: { ...terms, settlement: "by operator" } })
    await run(Context.get(services, SiteCredentials).create(id, "shop"))
    // The key of this test has not every right, so no owner.
    await run(Context.get(services, Members).invite(id, "ann@one.example", "owner"))
    await query(databaseUrl, "insert into send_content_keys values ($1, 'k', 'sealed', 0)", [id])

    for (const name of [signalsName, projections.name]) {
      const parked = [engine.partitionOf(id), name, id]
      await query(databaseUrl, "insert into engine_parked values ($1, $2, $3, 1, 0, '{}', 'unreadable')", parked)
    }

    await run(Context.get(services, RequestWriter).flush)
    expect(await query(databaseUrl, "select 1 from api_requests where organization_id = $1", [id])).not.toEqual([])

    expect(await run(Effect.flip(deletion.remove(id, "Other")))).toMatchObject({ _tag: "NameDiffers" })
    expect((await ask("GET", "/v1/send/tenants")).status).toBe(200)
    // One call deletes as much as there is time for.
    let deleted = await run(deletion.remove(id, "Acme"))
    while (deleted.erasedAt === null) deleted = await run(deletion.remove(id, "Acme"))
    expect(deleted).toEqual({ id, deletedAt: expect.any(Number), erasedAt: expect.any(Number) })
    await until(async () => (await ask("GET", "/v1/send/tenants")).status === 401)

    const state = <A>(effect: Effect.Effect<A, unknown>) => run(effect)
    expect(await state(engine.state(WebhookEndpoints, { organization: id }))).toEqual({ endpointIds: [] })
    for (const mode of ["live", "test"])
      expect((await state(engine.state(SendAccount, { organization: id, key: mode }))).closedAt).toBeTypeOf("number")
    const sender = { organization: id, key: senderKey("test", "one.example") }
    expect((await state(engine.state(SendSender, sender))).removedAt).toBeTypeOf("number")
    expect((await state(engine.state(SendEmail, { organization: id, key: email }))).state).toBe("canceled")
    for (const table of [
      "send_content_keys",
      "send_domains",
      "send_domain_reports",
      "send_dmarc_sources",
      "send_tls_sessions",
      "send_emails",
      "send_suppressions",
      "events",
      "api_keys",
      "site_credentials",
      "members",
      "member_links",
      "billing_checkouts",
      "invoices",
      "usage_hours",
      "send_hours",
      "send_account_facts",
      "api_requests",
      "webhook_endpoints"
    ])
      expect([table, await query(databaseUrl, `select 1 from ${table} where organization_id = $1`, [id])]).toEqual([
        table,
        []
      ])
    expect(await owed()).toEqual([])
    expect(await query(databaseUrl, "select 1 from engine_parked where organization = $1", [id])).toEqual([])
    expect(await state(engine.state(BillingActor, { organization: id }))).toMatchObject({
      subscription: null,
      invoices: []
    })
    expect(await run(deletion.remove(id, undefined))).toEqual(deleted)
    const acts = await query(databaseUrl, "select act from admin_acts where subject = $1", [id])
    expect(acts).toEqual([{ act: "organization.deleted" }])
  })

  it("takes back mail that a slow projection has not read yet, and leaves no row of it", async () => {
    const { databaseUrl, services, url } = platform
    const engine = Context.get(services, Engine)
    const made = { name: "Slow", email: null, plan: "team", sendPlan: "pro", risk: "standard" } as const
    const { id } = (await run(Context.get(services, Organizations).create(made))).organization
    const wanted = { name: null, mode: "test", services: ["send"], scopes: ["*"], expiresAtMillis: null } as const
    const { key } = await run(Context.get(services, ApiKeys).create(id, wanted))
    const ask = askAt(url, key!)
    let email = ""
    await query(
      databaseUrl,
      `create function slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return new; end $$;
       create trigger slowly before update on engine_cursors for each row execute function slowly()`
    )
    for (const [path, body] of [
      ["domains", { name: "two.example" }],
      ["emails", { from: "ann@two.example", to: "bob@one.example", subject: "Hi", text: "Hi" }]
    ] as const) {
      const answer = await ask("POST", `/v1/send/${path}`, body)
      expect(answer.status).toBeLessThan(300)
      email = (answer.body as { readonly id: string }).id
    }
    expect((await run(deletion.remove(id, undefined))).erasedAt).toBeTypeOf("number")
    expect((await run(engine.state(SendEmail, { organization: id, key: email }))).state).toBe("canceled")

    const partition = engine.partitionOf(id)
    const { context, partitions } = internals(engine)
    const { head } = partitions.get(partition)!.core
    await until(() => partitions.get(partition)!.feed.readBy(projections.name) >= head.sequence)
    expect(context.reactors.map(({ name }) => name)).toEqual([projections.name])
    for (const table of ["events", "send_emails", "send_domains", "send_account_facts"])
      expect([table, await query(databaseUrl, `select 1 from ${table} where organization_id = $1`, [id])]).toEqual([
        table,
        []
      ])
  })
})
