/**
 * The event log over HTTP (docs/platform.md, 5.4): lists, filters, pages, single events, access, and test events.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../src/events/index.ts"
import { patienceMillis } from "../../support/patience.ts"
import type { Reached } from "../harness.ts"
import { makeTenant, type Page, type Shown, type Tenant } from "./emitted.ts"

const envelope = (code: string, message: unknown = expect.stringMatching(/\S/)) => ({
  success: false,
  error: { code, message }
})

const types = Object.keys(catalogue) as ReadonlyArray<keyof typeof catalogue>

export const eventsSection = (platform: () => Reached): void => {
  describe("the event log", () => {
    let tenant: Tenant
    /** One of every catalogued type, newest first. */
    let events: ReadonlyArray<Shown>

    const list = async (query: string): Promise<Page> => {
      const { body, status } = await tenant.get(`/v1/events?${query}`)
      expect(status, query).toBe(200)
      return body as Page
    }

    beforeAll(async () => {
      tenant = await makeTenant(platform(), "events")
      for (const type of types) {
        const { body, status } = await tenant.trigger(type)
        const eventId = expect.stringMatching(/^evt_/)
        const told = { eventId, type, livemode: false, data: catalogue[type].example, endpoints: [] }
        expect([status, body]).toStrictEqual([202, told])
      }
      events = await tenant.events(types.length)
    })

    it("[platform 5.6] has every event once, the newest at the top; a triggered one is the catalogue's example, not live", () => {
      expect(events.map(({ type }) => type)).toEqual(types.toReversed())
      for (const event of events) {
        const { example, service } = catalogue[event.type as keyof typeof catalogue]
        expect(event).toStrictEqual({
          eventId: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
          type: event.type,
          service,
          data: example,
          livemode: false,
          createdAt: expect.any(Number)
        })
      }
      const times = events.map(({ createdAt }) => createdAt)
      expect(times).toEqual(times.toSorted((a, b) => b - a))
    })

    it("[platform 5.1] an event has one text, in the list and alone", async () => {
      const headers = { authorization: `Bearer ${tenant.key}` }
      const text = async (path: string) => (await fetch(`${platform().url}${path}`, { headers })).text()
      const whole = await text("/v1/events?limit=100")
      for (const event of events) {
        const { createdAt, data, eventId, livemode, service, type } = event
        // Fields in the order of docs/platform.md, 5.1.
        const bytes = JSON.stringify({ eventId, type, service, data, livemode, createdAt })
        expect(await text(`/v1/events/${eventId}`)).toBe(bytes)
        expect(whole).toContain(bytes)
      }
      expect(whole).toBe(
        `{"data":[${events.map((event) => JSON.stringify(event)).join(",")}],"pagination":{"hasMore":false}}`
      )
    })

    it("[platform 5.4] follows within a second when nothing is wrong", async () => {
      const other = await makeTenant(platform(), "soon")
      const delays: Array<number> = []
      for (let count = 1; count <= 5; count++) {
        expect((await other.trigger("platform.test")).status).toBe(202)
        const from = performance.now()
        await other.events(count)
        delays.push(performance.now() - from)
      }
      expect(delays.toSorted((a, b) => a - b)[2]).toBeLessThan(1_000)
    })

    it("[platform 5.4] `type` is a pattern: a family takes the events of the service of its name too", async () => {
      for (const [pattern, keep] of [
        ["*", () => true],
        ["platform.*", ({ service, type }: Shown) => service === "platform" || type.startsWith("platform.")],
        ["send.*", ({ type }: Shown) => type.startsWith("send.")],
        ["send.email.*", ({ type }: Shown) => type.startsWith("send.email.")],
        ["platform.webhook.*", ({ type }: Shown) => type.startsWith("platform.webhook.")],
        ["telco.lookup.completed", ({ type }: Shown) => type === "telco.lookup.completed"],
        ["invoice.*", ({ type }: Shown) => type.startsWith("invoice.")],
        ["voip.*", () => false]
      ] as const) {
        const { data } = await list(`type=${encodeURIComponent(pattern)}`)
        expect(data, pattern).toStrictEqual(events.filter(keep))
      }
    })

    it("a misplaced star or an unknown beginning is 400", async () => {
      for (const pattern of [
        "",
        "**",
        "te*",
        "*.lookup",
        "telco.*.completed",
        "nothing.*",
        "nothing.else",
        "telco",
        "TELCO.*"
      ]) {
        const { body, status } = await tenant.get(`/v1/events?type=${encodeURIComponent(pattern)}`)
        expect([status, body], pattern).toStrictEqual([
          400,
          envelope("invalid_request", expect.stringMatching(/^Invalid parameter 'type'/))
        ])
      }
    })

    it("[platform 5.4] an event at `since` is in the interval, one at `until` is not; other numbers than whole ones are 400", async () => {
      const middle = events[4]!.createdAt
      expect((await list(`since=${middle}`)).data).toStrictEqual(events.filter(({ createdAt }) => createdAt >= middle))
      expect((await list(`until=${middle}`)).data).toStrictEqual(events.filter(({ createdAt }) => createdAt < middle))
      expect((await list(`since=${middle}&until=${middle + 1}`)).data).toStrictEqual(
        events.filter(({ createdAt }) => createdAt === middle)
      )
      expect((await list(`since=${middle}&until=${middle}`)).data).toEqual([])
      expect((await list("since=0&until=9007199254740991")).data).toStrictEqual(events)
      for (const name of ["since", "until"]) {
        for (const text of ["", "-1", "1.5", "x", "1e3", "9007199254740993", new Date().toISOString()]) {
          const { body, status } = await tenant.get(`/v1/events?${name}=${encodeURIComponent(text)}`)
          expect([status, body], text).toStrictEqual([
            400,
            envelope("invalid_request", expect.stringContaining(JSON.stringify(text)))
          ])
        }
      }
    })

    it("[platform 3.4] cursor pages: every event once, whatever the size and filter", async () => {
      for (const [query, expected] of [
        ["limit=1", events],
        ["limit=2&type=send.*", events.filter(({ service }) => service === "send")],
        ["limit=100", events]
      ] as const) {
        const found: Array<Shown> = []
        let cursor = ""
        for (;;) {
          const page = await list(`${query}${cursor}`)
          found.push(...page.data)
          expect("nextCursor" in page.pagination).toBe(page.pagination.hasMore)
          if (!page.pagination.hasMore) break
          cursor = `&cursor=${encodeURIComponent(page.pagination.nextCursor!)}`
        }
        expect(found, query).toStrictEqual(expected)
      }
    })

    it("[platform 3.4] cursor pages: default 25, maximum 100", async () => {
      const other = await makeTenant(platform(), "many")
      const path = `/v1/telco/search?npa=999`
      await Promise.all(Array.from({ length: 102 }, () => other.get(path)))
      await other.events(100)
      await expect
        .poll(async () => ((await other.get("/v1/events?limit=100")).body as Page).pagination.hasMore, {
          timeout: patienceMillis
        })
        .toBe(true)
      const size = async (query: string) => ((await other.get(`/v1/events${query}`)).body as Page).data.length
      expect(await size("")).toBe(25)
      expect(await size("?limit=100")).toBe(100)
      for (const limit of ["0", "101", "-1", "1.5", "x", ""]) {
        const { body, status } = await other.get(`/v1/events?limit=${limit}`)
        expect([status, body], limit).toStrictEqual([
          400,
          envelope("invalid_request", expect.stringContaining(JSON.stringify(limit)))
        ])
      }
    })

    it("[platform 3.4] a forged or stale cursor is 400", async () => {
      const { nextCursor } = (await list("limit=1")).pagination
      const other = await makeTenant(platform(), "others")
      const [payload, signature] = nextCursor!.split(".")
      for (const cursor of ["", "x", `${nextCursor}x`, payload, `.${signature}`, `${payload}.${signature}.`]) {
        const { body, status } = await tenant.get(`/v1/events?cursor=${encodeURIComponent(cursor!)}`)
        expect([status, body], cursor).toStrictEqual([
          400,
          envelope("invalid_request", expect.stringMatching(/^Invalid parameter 'cursor'/))
        ])
      }
      expect((await other.get(`/v1/events?cursor=${encodeURIComponent(nextCursor!)}`)).status).toBe(400)
    })

    it("an unknown id, another organization's and a text that is none are 404", async () => {
      const other = await makeTenant(platform(), "foreign")
      for (const [asker, id] of [
        [tenant, "evt_00000000-0000-8000-8000-000000000000"],
        [other, events[0]!.eventId],
        [tenant, "evt_1"],
        [tenant, "nothing"]
      ] as const) {
        const { body, status } = await asker.get(`/v1/events/${id}`)
        expect([status, body], id).toStrictEqual([404, envelope("not_found")])
      }
    })

    it("only types with a payload can be triggered, and only for an organization that there is", async () => {
      for (const type of ["telco.*", "nothing", "", "constructor"]) {
        const { body, status } = await tenant.trigger(type)
        expect([status, body], type).toStrictEqual([
          400,
          envelope("invalid_request", expect.stringContaining("telco.lookup.completed"))
        ])
      }
      const { body, status } = await platform().admin("POST", "/admin/v1/organizations/org_none/events", {
        type: "platform.test"
      })
      expect([status, body]).toStrictEqual([404, envelope("not_found")])
    })
  })
}
