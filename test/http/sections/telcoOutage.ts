/**
 * Events and telco while a server is away (docs/platform.md, 8.4): nothing is answered whose event is not stored, and
 * all of it comes back.
 */
import { describe, expect, it } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import { request, type TestPlatform } from "../harness.ts"
import { makeTenant } from "./emitted.ts"

/** Seconds, more of them the longer an outage lasts. */
const growing = /^([1-9]|[12]\d|30)$/

export const telcoOutageSection = (platform: () => TestPlatform): void => {
  describe("telco, JetStream away", () => {
    it("[platform 4.2] 503: what is answered has its event, before and after", async () => {
      const tenant = await makeTenant(platform(), "outage")
      const found = await tenant.get("/v1/telco/search?npa=212&limit=1")
      const [code] = (found.body as { readonly data: ReadonlyArray<{ readonly nxx: string }> }).data
      const answered: Array<string> = []
      let asked = 0
      const lookup = async () => {
        const tn = `212${code!.nxx}${String(asked++).padStart(4, "0")}`
        const reply = await tenant.get(`/v1/telco/lookup/${tn}`)
        if (reply.status === 200) answered.push(tn)
        return reply
      }
      expect((await lookup()).status).toBe(200)
      platform().nats.cut()
      try {
        for (const { body, headers, status } of [await lookup(), await tenant.get("/v1/telco/search?npa=212")]) {
          expect([status, body]).toStrictEqual([
            503,
            { error: "unavailable", message: expect.stringMatching(/stored/) }
          ])
          expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
        }
        // What was recorded before can be read meanwhile, and what makes no event is answered.
        expect((await tenant.get("/v1/events")).status).toBe(200)
        expect((await tenant.get("/v1/telco/lookup/9995550123")).status).toBe(404)
      } finally {
        platform().nats.restore()
      }
      await expect.poll(async () => (await lookup()).status, { timeout: patienceMillis, interval: 100 }).toBe(200)
      const events = await tenant.events(answered.length + 1)
      expect(events.map(({ data }) => data.tn)).toEqual(expect.arrayContaining(answered))
    })
  })

  describe("telco, the connection to JetStream known to be lost", () => {
    it("503 with Retry-After: nothing was sent, so nothing is unknown; it goes on when it is back", async () => {
      const tenant = await makeTenant(platform(), "known outage")
      expect((await tenant.get("/v1/telco/search?npa=212&limit=1")).status).toBe(200)
      platform().nats.cut()
      try {
        const known = async () => {
          const { checks } = (await request(`${platform().url}/readyz`)).body as {
            readonly checks: { readonly nats: { readonly ok: boolean } }
          }
          return checks.nats.ok
        }
        await expect.poll(known, { timeout: patienceMillis, interval: 50 }).toBe(false)
        for (let asked = 0; asked < 3; asked++) {
          const { headers, status } = await tenant.get("/v1/telco/search?npa=212&limit=1")
          expect([status, headers.get("retry-after")]).toStrictEqual([503, expect.stringMatching(growing)])
        }
        const { body, status } = await request(`${platform().url}/readyz`)
        // The directory and the event log go on.
        expect(status).toBe(200)
        expect(body).toMatchObject({ checks: { partitions: { ok: false }, directory: { ok: true } } })
      } finally {
        platform().nats.restore()
      }
      const ask = async () => (await tenant.get("/v1/telco/search?npa=212&limit=1")).status
      await expect.poll(ask, { timeout: patienceMillis, interval: 100 }).toBe(200)
      const events = await tenant.events(2)
      expect(events).toHaveLength(2)
    })
  })

  describe("events and telco, the database away", () => {
    it("503 in each product's shape, nothing of it in the answer; streams go on when it is back", async () => {
      const tenant = await makeTenant(platform(), "no database")
      await tenant.trigger("platform.test")
      const [event] = await tenant.events(1)
      const abort = new AbortController()
      const stream = await fetch(`${platform().url}/v1/events/stream`, {
        headers: { "x-api-key": tenant.key, "last-event-id": event!.eventId },
        signal: abort.signal
      })
      const coded = { error: "unavailable", message: expect.stringMatching(/safe to repeat|right now/) }
      const envelope = { success: false, error: { code: "unavailable", message: coded.message } }
      platform().database.cut()
      try {
        for (const [path, body] of [
          ["/v1/events", envelope],
          [`/v1/events/${event!.eventId}`, envelope],
          ["/v1/telco/lookup/2125560123", coded],
          ["/v1/telco/search?source=inventory", coded]
        ] as const) {
          const reply = await tenant.get(path)
          expect([reply.status, reply.body], path).toStrictEqual([503, body])
          if (path.startsWith("/v1/telco")) expect(reply.headers.get("retry-after"), path).toMatch(growing)
          expect(JSON.stringify(reply.body)).not.toMatch(/ECONN|postgres|select|127\.0\.0\.1/i)
        }
      } finally {
        platform().database.restore()
      }
      await expect
        .poll(async () => (await tenant.trigger("telco.lookup.completed")).status, {
          timeout: patienceMillis,
          interval: 200
        })
        .toBe(202)
      let text = ""
      for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        if (text.includes("event: telco.lookup.completed")) break
      }
      abort.abort()
      expect(text).toContain("event: telco.lookup.completed")
      expect(text).not.toContain("platform.test")
    })
  })
}
