/**
 * Webhook endpoints on the running platform: through the typed client, in the log behind a real NATS, and with nothing secret in the database or
 * the log. Their statuses and bodies one by one are in `test/webhooks`.
 */
import { Effect, Result } from "effect"
import { describe, expect, it } from "vitest"
import { SluiceClient, type SluiceClientShape } from "../../../src/api/client.ts"
import { query, until } from "../../cli/support.ts"
import { putDelivery, putEvents } from "../../webhooks/delivery/rows.ts"
import { askAt, hookUrl, manageAndRead } from "../../webhooks/platform.ts"
import type { TestPlatform } from "../harness.ts"

export const webhooksSection = (platform: () => TestPlatform): void => {
  const newTenant = async (scopes: ReadonlyArray<string> = manageAndRead) => {
    const { admin, secrets, url } = platform()
    const made = await admin("POST", "/admin/v1/organizations", { name: "webhooks", plan: "team" })
    const { id: organization } = made.body as { readonly id: string }
    const created = await admin("POST", `/admin/v1/organizations/${organization}/keys`, { services: ["telco"], scopes })
    const { key } = created.body as { readonly key: string }
    secrets.add(key)
    return { organization, key, ask: askAt(url, key) }
  }

  const use = <A, E>(key: string, f: (client: SluiceClientShape) => Effect.Effect<A, E>) =>
    Effect.runPromise(
      Effect.flatMap(SluiceClient, f).pipe(
        Effect.provide(SluiceClient.layer({ baseUrl: platform().url, apiKey: key })),
        Effect.result
      )
    )

  /** Makes an endpoint; its secret must show nowhere. */
  const newEndpoint = async (key: string) => {
    const created = Result.getOrThrow(
      await use(key, (client) =>
        client.webhooks.create({ headers: {}, payload: { url: hookUrl, enabled_events: ["telco.*"] } })
      )
    )
    const { signing_secret } = created.body
    platform().secrets.add(signing_secret)
    return created.body
  }

  describe("webhook endpoints by the typed client", () => {
    it("are created, read, changed, tested, unpaused, rotated and deleted", async () => {
      const { key } = await newTenant()
      const { id, signing_secret } = await newEndpoint(key)
      expect(signing_secret).toMatch(/^whsec_/)
      const steps = await use(key, (client) =>
        Effect.gen(function* () {
          const params = { id }
          const { endpoints } = yield* client.webhooks.list({ query: {} })
          const changed = yield* client.webhooks.update({ params, payload: { description: "CRM" } })
          const { body: tested } = yield* client.webhooks.test({ params, headers: {} })
          const { body: unpaused } = yield* client.webhooks.unpause({ params, headers: {}, payload: null })
          const { body: rotated } = yield* client.webhooks.rotateSecret({ params, headers: {}, payload: null })
          const got = yield* client.webhooks.get({ params })
          const deliveries = yield* client.webhooks.listDeliveries({ params, query: {} })
          const skipped = yield* client.webhooks.listSkipped({ params, query: {} })
          const deleted = yield* client.webhooks.delete({ params })
          return { endpoints, changed, tested, unpaused, rotated, got, deliveries, skipped, deleted }
        })
      )
      const done = Result.getOrThrow(steps)
      platform().secrets.add(done.rotated.signing_secret)
      expect(done.endpoints.map((endpoint) => endpoint.id)).toEqual([id])
      expect(done.changed).toEqual({ ...done.endpoints[0], description: "CRM" })
      expect(done.tested).toMatchObject({ success: true })
      // The test may have been delivered meanwhile, or come to nothing.
      const sent = {
        last_delivery_at: expect.toBeOneOf([null, expect.any(Number)]),
        last_delivery_status: expect.toBeOneOf([null, expect.any(Number)]),
        pending: expect.any(Number),
        oldest_pending_at: expect.toBeOneOf([null, expect.any(Number)])
      }
      expect(done.got).toEqual({ ...done.changed, ...sent })
      expect(done.unpaused).toEqual({ ...done.changed, ...sent })
      expect(done.rotated.signing_secret).not.toBe(signing_secret)
      expect(done.skipped.data).toEqual([])
      expect(done.deliveries.pagination.hasMore).toBe(false)
      expect(done.deleted).toEqual({ id, deleted: true })
    })

    it("fail with errors told apart by their tags", async () => {
      const { key } = await newTenant()
      const tagOf = async <A, E extends { readonly _tag: string }>(
        f: (client: SluiceClientShape) => Effect.Effect<A, E>,
        as = key
      ) => {
        const result = await use(as, f)
        return Result.isFailure(result) ? result.failure._tag : "it succeeded"
      }
      const create = (payload: object) => (client: SluiceClientShape) =>
        client.webhooks.create({ headers: {}, payload: { url: hookUrl, enabled_events: ["*"], ...payload } })
      expect(await tagOf(create({ url: "" }))).toBe("WebhookUrlInvalid")
      expect(await tagOf(create({ url: "http://hooks.example.com" }))).toBe("WebhookUrlInvalid")
      expect(await tagOf(create({ enabled_events: [] }))).toBe("InvalidRequest")
      expect(await tagOf((client) => client.webhooks.get({ params: { id: "we_none" } }))).toBe("NotFound")
      expect(await tagOf((client) => client.webhooks.list({ query: {} }), "sk_live_nobodyNobodyNobody0001")).toBe(
        "Unauthorized"
      )
      expect(await tagOf((client) => client.webhooks.list({ query: {} }), platform().key)).toBe("Forbidden")
      const { id } = await newEndpoint(key)
      const params = { id }
      await use(key, (client) => client.webhooks.update({ params, payload: { is_active: false } }))
      expect(await tagOf((client) => client.webhooks.test({ params, headers: {} }))).toBe("Conflict")
      const headers = { "idempotency-key": "k" }
      await use(key, (client) => client.webhooks.unpause({ params, headers, payload: null }))
      expect(await tagOf((client) => client.webhooks.rotateSecret({ params, headers, payload: null }))).toBe(
        "IdempotencyKeyReused"
      )
    })

    it("replay and retry what the database holds", async () => {
      const { key, organization } = await newTenant()
      const { id } = await newEndpoint(key)
      const params = { id }
      const createdAt = Date.now() - 1_000
      await putEvents(platform().databaseUrl, organization, [{ createdAt }, { createdAt }])
      const deliveryId = await putDelivery(platform().databaseUrl, { endpointId: id, organization })
      const done = Result.getOrThrow(
        await use(key, (client) =>
          Effect.gen(function* () {
            const { body: replay } = yield* client.webhooks.replay({
              params,
              headers: {},
              payload: { since: createdAt }
            })
            const { body: retried } = yield* client.webhooks.retryDelivery({
              params: { id, deliveryId },
              headers: {}
            })
            return { replay, retried }
          })
        )
      )
      expect(done.replay).toEqual({ replayId: expect.stringMatching(/^rpl_/), count: 2 })
      expect(done.retried).toMatchObject({ id: deliveryId, status: "pending" })
      await until(async () => {
        const page = await use(key, (client) => client.webhooks.listDeliveries({ params, query: {} }))
        return Result.getOrThrow(page).data.length === 3
      })
    })
  })

  describe("a replay", () => {
    it("asked for at once after an event was answered has that event, though the event log follows later", async () => {
      const { ask, key } = await newTenant()
      const { id } = await newEndpoint(key)
      const since = Date.now() - 1_000
      const subscribe = async (pattern: string) =>
        expect((await ask("PATCH", `/v1/webhooks/${id}`, { enabled_events: [pattern] })).status).toBe(200)
      for (let round = 1; round <= 5; round++) {
        // What an endpoint subscribes to when it happens has a delivery already.
        await subscribe("send.*")
        const lookups = await Promise.all(Array.from({ length: 8 }, () => ask("GET", "/v1/telco/lookup/2125550100")))
        expect(lookups.map(({ status }) => status)).toEqual(lookups.map(() => 200))
        await subscribe("telco.*")
        const replay = await ask("POST", `/v1/webhooks/${id}/replay`, { since, types: ["telco.lookup.completed"] })
        // Pending deliveries of the rounds before are not sent again.
        expect(replay.body).toMatchObject({ count: 8 })
      }
      await until(async () => {
        const { body } = await ask("GET", `/v1/webhooks/${id}/deliveries?limit=100`)
        return (body as { readonly data: ReadonlyArray<object> }).data.length === 40
      })
    })
  })

  describe("signing secrets", () => {
    it("[platform 6.8] are in no row of the database in the clear", async () => {
      const { ask, key } = await newTenant()
      const { signing_secret } = await newEndpoint(key)
      const made = await ask(
        "POST",
        "/v1/webhooks",
        { url: hookUrl, enabled_events: ["*"] },
        { "idempotency-key": "s" }
      )
      const secret = (made.body as { readonly signing_secret: string }).signing_secret
      platform().secrets.add(secret)
      const { databaseUrl } = platform()
      const tables = await query<{ name: string }>(
        databaseUrl,
        "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'"
      )
      for (const { name } of tables) {
        for (const one of [signing_secret, secret]) {
          const rows = await query(databaseUrl, `select 1 from ${name} t where t::text like $1`, [`%${one.slice(6)}%`])
          expect(rows, name).toEqual([])
        }
      }
    })
  })
}
