/** The API answers for the console's views alone (docs/platform.md, 5.7, 7.9, 9.11, 9.16): types and rates of events, where they come from, what was signed, why mail is held. */
import { describe, expect, it } from "vitest"
import { verifyWebhook } from "../../../src/webhooks/index.ts"
import { sharedPartitions } from "../../support/platform.ts"
import type { ConsolePlatform } from "../consolePlatform.ts"
import { addDomain, ask, makeOrganization, until } from "../fill.ts"

interface OriginRecord {
  readonly kind: string
  readonly key: string
  readonly isEvent: boolean
  readonly index: number
  readonly record: { readonly type?: string }
}

export const apiSection = (platform: () => ConsolePlatform): void => {
  describe("what the views ask", () => {
    const at = (path: string, key = platform().filled.key) => ask("GET", `${platform().url}${path}`, key)
    const statusOf = async (path: string, key = platform().filled.key) =>
      (await fetch(`${platform().url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status

    it("[platform 5.7] says which types patterns match", async () => {
      const { data } = await at("/v1/events/types?pattern=telco.*&pattern=platform.test")
      const types = data as ReadonlyArray<{ readonly type: string; readonly matches: boolean }>
      const matching = types.filter(({ matches }) => matches).map(({ type }) => type)
      expect(matching.sort()).toEqual([
        "platform.test",
        "telco.directory.updated",
        "telco.lookup.completed",
        "telco.lookups.completed",
        "telco.search.completed"
      ])
      expect(types.length).toBeGreaterThan(matching.length)
      expect(await statusOf("/v1/events/types?pattern=tel*co")).toBe(400)
    })

    it("[platform 5.7] counts events by the minute, those of the reader alone", async () => {
      const { data } = await at("/v1/events/rates")
      const rates = data as ReadonlyArray<{ readonly minute: number; readonly type: string; readonly count: number }>
      const looked = rates.filter(({ type }) => type === "telco.lookup.completed")
      expect(looked.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(4)
      for (const { minute } of rates) expect(minute % 60_000).toBe(0)
      const others = await at("/v1/events/rates", platform().paused.key)
      expect(JSON.stringify(others)).not.toContain("telco.lookup")
    })

    it("[platform 5.7] tells the decision that an event comes from, and nothing of others", async () => {
      const { paused, url } = platform()
      const { key } = await makeOrganization(platform(), "Origins")
      await addDomain(url, key, "origins.example")
      const mail = { from: "a@origins.example", to: "delivered@simulator.invalid", subject: "Hello", text: "Hello" }
      await ask("POST", `${url}/v1/send/emails`, key, mail)
      const page = await until(
        () => at("/v1/events?type=send.email.delivered", key),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      const [event] = page.data as ReadonlyArray<{ readonly eventId: string }>
      const origin = await at(`/v1/events/${event!.eventId}/origin`, key)
      const frame = origin.frame as { readonly records: ReadonlyArray<OriginRecord> }
      const own = frame.records.find(({ index }) => index === origin.index)!
      expect(own).toMatchObject({ isEvent: true, record: { type: "send.email.delivered" } })
      // A test key sees what the actor decided that caused it.
      expect(new Set(frame.records.map(({ key: of, kind }) => `${kind} ${of}`)).size).toBe(1)
      expect(await statusOf(`/v1/events/${event!.eventId}/origin`, paused.key)).toBe(404)
      expect(await statusOf("/v1/events/evt_none/origin")).toBe(404)
    })

    it("[platform 7.9] shows the request as it was signed, without the values of own headers", async () => {
      const { filled, receivers, url } = platform()
      const made = await ask("POST", `${url}/v1/webhooks`, filled.key, {
        url: `${receivers.url}/200/signed`,
        enabled_events: ["talk.*"],
        headers: { "x-own": "a secret of the receiver" }
      })
      await ask("POST", `${url}/v1/webhooks/${made.id}/test`, filled.key)
      const list = await until(
        () => at(`/v1/webhooks/${made.id}/deliveries?status=succeeded`),
        ({ data }) => (data as ReadonlyArray<unknown>).length > 0
      )
      const [{ id }] = list.data as [{ readonly id: string }]
      const shown = await at(`/v1/webhooks/${made.id}/deliveries/${id}/request`)
      const pairs = shown.headers as ReadonlyArray<{ readonly name: string; readonly value: string | null }>
      const headers = Object.fromEntries(pairs.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])))
      const event = verifyWebhook(shown.body as string, headers, made.signing_secret as string)
      expect(event.type).toBe("platform.test")
      expect(shown.signedText).toBe(`${headers["X-PlatformWebhook-Timestamp"]}.${shown.body}`)
      expect(pairs.find(({ name }) => name === "x-own")).toEqual({ name: "x-own", value: null })
      expect(JSON.stringify(shown)).not.toContain("a secret of the receiver")
      expect(await statusOf(`/v1/webhooks/${made.id}/deliveries/${id}/request`, platform().paused.key)).toBe(404)
    })

    it("says why emails are held and until when, and what the other side answered", async () => {
      const held = await at("/v1/send/emails?state=held")
      for (const one of held.data as ReadonlyArray<Record<string, unknown>>) {
        expect(one).toMatchObject({ state: "held", held: { reason: "daily_cap", sender: "northwind.example" } })
        const { until: end } = one.held as { readonly until: string }
        // The day rolls over at midnight UTC.
        expect(Date.parse(end) % 86_400_000).toBe(0)
      }
      const bounced = await at("/v1/send/emails?state=bounced&limit=1")
      const [{ id }] = bounced.data as [{ readonly id: string }]
      const { history } = (await at(`/v1/send/emails/${id}`)) as {
        readonly history: ReadonlyArray<{ readonly state: string; readonly code?: string; readonly reason?: string }>
      }
      const told = history.find(({ state }) => state === "bounced")!
      expect(told.code).toMatch(/^5\.\d\.\d$/)
      expect(await statusOf("/v1/send/emails?state=lost")).toBe(400)
    })

    it("lists the facts behind a pause to who is paused, and to nobody else", async () => {
      const { data } = await at("/v1/send/tenants/facts", platform().paused.key)
      const sentences = (data as ReadonlyArray<{ readonly sentence: string }>).map(({ sentence }) => sentence)
      expect(sentences.join("\n")).toContain("Sending was paused: three of its first 25 emails have bounced for good")
      const own = await at("/v1/send/tenants/facts")
      expect(JSON.stringify(own)).not.toContain("Sending was paused")
    })

    it("shows what stands at a domain's names; for a test key nothing is looked for", async () => {
      const { data } = await at(`/v1/send/domains/${platform().filled.domain}/records`)
      const records = data as ReadonlyArray<{ readonly record: string; readonly seen: unknown }>
      expect(records.map(({ record }) => record)).toEqual(["Ownership", "DKIM", "SPF", "DMARC"])
      for (const { seen } of records) expect(seen).toBeNull()
    })

    it("shows operators whole frames and all partitions, and nobody else", async () => {
      const { adminKey, adminUrl, filled } = platform()
      const { data } = await ask("GET", `${adminUrl}/admin/v1/partitions`, adminKey)
      const partitions = data as ReadonlyArray<{ readonly partition: number; readonly sequence: number }>
      expect(partitions.map(({ partition }) => partition)).toEqual([...Array(sharedPartitions).keys()])
      const { partition, sequence } = partitions.find((one) => one.sequence > 0)!
      const frame = await ask("GET", `${adminUrl}/admin/v1/partitions/${partition}/frames/${sequence}`, adminKey)
      expect(frame).toMatchObject({ partition, sequence, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
      const beyond = await fetch(`${adminUrl}/admin/v1/partitions/${partition}/frames/${sequence + 1_000_000}`, {
        headers: { authorization: `Bearer ${adminKey}` }
      })
      expect(beyond.status).toBe(404)
      for (const path of ["/partitions", "/status", "/console/session"]) {
        const answer = await fetch(`${adminUrl}/admin/v1${path}`, {
          headers: { authorization: `Bearer ${filled.key}` }
        })
        expect(answer.status, path).toBe(401)
      }
    })
  })
}
