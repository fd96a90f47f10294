/**
 * Test keys are test keys (decisions, "Tenancy": "Modes"): what a key of one mode sees, changes and receives, on the running platform with a
 * real receiver.
 */
import { describe, expect, it } from "vitest"
import { usNpa } from "../../cli/files.ts"
import { askAt } from "../platform.ts"
import { bodyOf, eventIn, eventually, type Hook, type ShownEvent, type Whole, type WholeTenant } from "../whole.ts"

const lookup = `/v1/telco/lookup/${usNpa}5540123`

const typesOf = (hook: Hook) =>
  hook
    .received()
    .map((one) => eventIn(one).type)
    .sort()

export const modesSection = (whole: () => Whole): void => {
  /** The ids that a list of endpoints shows. */
  const idsOf = async (ask: WholeTenant["ask"]) =>
    (
      await bodyOf<{ readonly endpoints: ReadonlyArray<{ readonly id: string }> }>(ask("GET", "/v1/webhooks"))
    ).endpoints.map(({ id }) => id)

  describe("decisions: modes", () => {
    it("[platform 2.6] a test key with every scope neither sees nor changes a live endpoint, nor a live key a test one", async () => {
      const tenant = await whole().tenant()
      const [live, test] = [await tenant.hook(), await tenant.testHook()]
      expect(await idsOf(tenant.ask)).toEqual([live.id])
      expect(await idsOf(tenant.askTest)).toEqual([test.id])
      for (const [ask, { id, path }] of [
        [tenant.askTest, live],
        [tenant.ask, test]
      ] as const) {
        for (const [method, at, body] of [
          ["GET", path],
          ["PATCH", path, { is_active: false }],
          ["DELETE", path],
          ["POST", `${path}/test`],
          ["POST", `${path}/rotate-secret`],
          ["POST", `${path}/unpause`],
          ["POST", `${path}/replay`, { since: Date.now() - 1_000 }],
          ["GET", `${path}/deliveries`],
          ["GET", `${path}/skipped`]
        ] as const) {
          const reply = await ask(method, at, body)
          expect([reply.status, reply.body], `${method} ${at}`).toEqual([
            404,
            { error: "not_found", message: `There is no webhook endpoint ${id}` }
          ])
        }
      }
      expect(await live.shown()).toMatchObject({ is_active: true })
      await bodyOf(tenant.ask("POST", `${live.path}/test`))
      await live.receives(1)
    })

    it("a live key's Idempotency-Key means nothing to a test key: it gets an endpoint of its own, never the live secret", async () => {
      const tenant = await whole().tenant()
      const body = { url: "https://hooks.example.com/in", enabled_events: ["*"] }
      const make = (ask: WholeTenant["ask"]) => ask("POST", "/v1/webhooks", body, { "idempotency-key": "the same" })
      type Made = { readonly id: string; readonly signing_secret: string }
      const live = await bodyOf<Made>(make(tenant.ask), 201)
      const reply = await make(tenant.askTest)
      expect([reply.status, reply.headers.get("idempotency-replayed")]).toEqual([201, null])
      const test = reply.body as Made
      expect(test.id).not.toBe(live.id)
      expect(test.signing_secret).not.toBe(live.signing_secret)
      // Each is answered again what it was answered.
      expect(await bodyOf(make(tenant.ask), 201)).toEqual(live)
      expect(await bodyOf(make(tenant.askTest), 201)).toEqual(test)
    })

    it("[platform 2.6] events go to endpoints of their mode, an operator's test events to both", async () => {
      const tenant = await whole().tenant()
      const [live, test] = [await tenant.hook(["*"]), await tenant.testHook(["*"])]
      await bodyOf(tenant.ask("GET", lookup))
      await bodyOf(tenant.askTest("GET", "/v1/telco/search?source=inventory"))
      await tenant.happens("send.email.sent")
      await eventually(() => expect(typesOf(live)).toEqual(["send.email.sent", "telco.lookup.completed"]))
      await eventually(() => expect(typesOf(test)).toEqual(["send.email.sent", "telco.search.completed"]))
      expect((await live.deliveries(2)).map(({ eventType }) => eventType)).not.toContain("telco.search.completed")
    })

    it("an operator's test event for one endpoint goes there, whatever its mode and patterns, and nowhere else", async () => {
      const tenant = await whole().tenant()
      const [chosen, other] = [await tenant.hook(["send.*"]), await tenant.hook(["*"])]
      // The endpoint is known to the database a moment after it was made.
      await eventually(async () =>
        expect((await tenant.triggers("telco.lookup.completed", chosen.id)).status).toBe(202)
      )
      expect(
        (await bodyOf<{ readonly data: object }>(tenant.triggers("platform.test", chosen.id), 202)).data
      ).toMatchObject({ endpoint_id: chosen.id })
      const received = (await chosen.receives(2)).map(eventIn)
      expect(received.map(({ type }) => type).sort()).toEqual(["platform.test", "telco.lookup.completed"])
      expect(received.find(({ type }) => type === "platform.test")!.data).toMatchObject({ endpoint_id: chosen.id })
      await tenant.happens("telco.search.completed")
      await other.receives(1)
      expect(typesOf(other)).toEqual(["telco.search.completed"])
      for (const id of ["we_none", (await (await whole().tenant()).hook()).id])
        expect(await tenant.triggers("telco.lookup.completed", id)).toMatchObject({
          status: 404,
          body: { error: { message: `The organization has no webhook endpoint "${id}"` } }
        })
    })

    it("a replay sends what the endpoint would have got", async () => {
      const tenant = await whole().tenant()
      await bodyOf(tenant.ask("GET", lookup))
      await bodyOf(tenant.askTest("GET", lookup))
      await tenant.happens("telco.search.completed")
      const since = (await tenant.events(3)).at(-1)!.createdAt
      const [live, test] = [await tenant.hook(["*"]), await tenant.testHook(["*"])]
      for (const [ask, hook, livemode] of [
        [tenant.ask, live, true],
        [tenant.askTest, test, false]
      ] as const) {
        expect(await bodyOf(ask("POST", `${hook.path}/replay`, { since }), 202)).toMatchObject({ count: 2 })
        const events = (await hook.receives(2)).map((one) => JSON.parse(one.body) as { readonly livemode: boolean })
        expect(events).toContainEqual(expect.objectContaining({ type: "telco.lookup.completed", livemode }))
        expect(events).toContainEqual(expect.objectContaining({ type: "telco.search.completed", livemode: false }))
      }
    })

    it("[platform 2.6] in log and stream a live key sees all events, a test key those that are not live", async () => {
      const tenant = await whole().tenant()
      await bodyOf(tenant.ask("GET", lookup))
      await bodyOf(tenant.askTest("GET", lookup))
      const [ofTest, ofLive] = await tenant.events(2)
      expect([ofTest, ofLive]).toMatchObject([{ livemode: false }, { livemode: true }])
      const seen = await bodyOf<{ readonly data: ReadonlyArray<ShownEvent> }>(tenant.askTest("GET", "/v1/events"))
      expect(seen.data).toEqual([ofTest])
      expect((await tenant.askTest("GET", `/v1/events/${ofLive!.eventId}`)).status).toBe(404)
      expect(await bodyOf(tenant.askTest("GET", `/v1/events/${ofTest!.eventId}`))).toEqual(ofTest)
      // What a test key has not seen it cannot go on behind.
      const stream = (ask: WholeTenant["ask"]) =>
        ask("GET", "/v1/events/stream", undefined, { "last-event-id": ofLive!.eventId })
      expect((await stream(tenant.askTest)).status).toBe(400)
      expect((await askAt(whole().url, undefined)("GET", "/v1/events")).status).toBe(401)
    })
  })
}
