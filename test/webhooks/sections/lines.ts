/**
 * The promises about events and their delivery (docs/platform.md, 5 to 7), one by one, on the running platform with a
 * real receiver. The test computes signatures itself. What happens while an endpoint is Paused or Disabled is in
 * `missed.ts`; figures that no test can wait for (an hour, 30 days) are in the unit tests of the rules.
 */
import { createHmac } from "node:crypto"
import { describe, expect, it } from "vitest"
import { usNpa } from "../../cli/files.ts"
import { answering, hanging, type Received } from "../receiver.ts"
import { bodyOf, eventIn, eventually, retryDelaysMillis, type ShownEvent, timeoutMillis, type Whole } from "../whole.ts"

/** The signatures of a delivery, and those of docs/platform.md, 7.3 with these secrets. */
const signatures = ({ body, headers }: Received, ...secrets: ReadonlyArray<string>) => {
  const timestamp = headers["x-platformwebhook-timestamp"]
  const wanted = secrets.map(
    (secret) => `v1=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`
  )
  return { shown: headers["x-platformwebhook-signature"], expected: [`t=${timestamp}`, ...wanted].join(",") }
}

const expectSigned = (received: Received, ...secrets: ReadonlyArray<string>): void => {
  const { expected, shown } = signatures(received, ...secrets)
  expect(shown).toBe(expected)
}

const typesOf = (received: ReadonlyArray<Received>) => received.map((one) => eventIn(one).type).sort()

export const linesSection = (whole: () => Whole): void => {
  describe("the event log", () => {
    it("[platform 5.1] holds the very bytes that the receiver got", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      await bodyOf(tenant.ask("GET", `/v1/telco/lookup/${usNpa}5540123`))
      const [delivered] = await hook.receives(1)
      const { eventId, ...event } = eventIn(delivered!)
      expect(event).toEqual({
        type: "telco.lookup.completed",
        service: "telco",
        data: { tn: `${usNpa}5540123`, npa: usNpa, nxx: "554", hasCarrier: true, hasInventory: false },
        livemode: true,
        createdAt: expect.any(Number)
      })
      expect(delivered).toMatchObject({
        method: "POST",
        headers: {
          "x-platformwebhook-id": eventId,
          "content-type": "application/json",
          "user-agent": "PlatformWebhook/1.0"
        }
      })
      expectSigned(delivered!, hook.secret)
      const [listed] = await tenant.events(1)
      expect(JSON.stringify(listed)).toBe(delivered!.body)
      const alone = await fetch(`${whole().url}/v1/events/${eventId}`, { headers: { "x-api-key": tenant.key } })
      expect(await alone.text()).toBe(delivered!.body)
    })

    it("[platform 5.4] has each event by the time its receiver asks for it, and says immediately that there is no other", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      const asked: Array<Promise<number>> = []
      const ask = async (id: string) =>
        (await fetch(`${whole().url}/v1/events/${id}`, { headers: { "x-api-key": tenant.key } })).status
      whole().receiver.answer(hook.to, (response, received) => {
        const answer = ask(eventIn(received).eventId)
        asked.push(answer)
        // Answered only when it has read the event, as a receiver that believes nothing else does.
        void answer.then((status) => response.writeHead(status).end())
      })
      await tenant.happens("telco.lookup.completed", 25)
      await hook.receives(25)
      expect(new Set(await Promise.all(asked))).toEqual(new Set([200]))
      const [last] = await tenant.events(25)
      expect(await ask(`${last!.eventId.slice(0, -4)}ffff`)).toBe(404)
      expect(await ask("evt_00000000-0000-8000-8000-000000000000")).toBe(404)
    })

    it("[platform 5.4] is read by pattern and interval, the newest event at the top", async () => {
      const tenant = await whole().tenant()
      const types = ["telco.lookup.completed", "send.email.sent", "telco.search.completed"]
      for (const type of types) await tenant.happens(type)
      const all = await tenant.events(3)
      expect(all.map(({ type }) => type)).toEqual(types.toReversed())
      const [last, middle, first] = all as [ShownEvent, ShownEvent, ShownEvent]
      const idsOf = async (query: string) => (await tenant.events(0, query)).map(({ eventId }) => eventId)
      expect(await idsOf("&type=telco.*")).toEqual([last.eventId, first.eventId])
      const within = all.filter(({ createdAt }) => createdAt >= middle.createdAt && createdAt < last.createdAt)
      expect(await idsOf(`&since=${middle.createdAt}&until=${last.createdAt}`)).toEqual(
        within.map(({ eventId }) => eventId)
      )
      expect((await tenant.ask("GET", "/v1/events?since=1.5")).status).toBe(400)
    })

    it("is followed as a stream that goes on behind Last-Event-ID", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      await tenant.happens("telco.lookup.completed", 3)
      const bodies = new Map((await hook.receives(3)).map((one) => [eventIn(one).eventId, one.body]))
      const [, , oldest] = await tenant.events(3)
      const abort = new AbortController()
      const response = await fetch(`${whole().url}/v1/events/stream`, {
        headers: { "x-api-key": tenant.key, "last-event-id": oldest!.eventId },
        signal: abort.signal
      })
      let text = ""
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        if (text.split("\ndata: ").length > 2 && text.endsWith("\n\n")) break
      }
      abort.abort()
      const shown = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data!)
      bodies.delete(oldest!.eventId)
      expect(shown.toSorted()).toEqual([...bodies.values()].toSorted())
    })
  })

  describe("patterns of an endpoint", () => {
    it("[platform 5.3] select everything, a family, a narrower family or a single type", async () => {
      const tenant = await whole().tenant()
      const all = ["platform.webhook.failing", "send.email.sent", "telco.lookup.completed", "telco.search.completed"]
      const expected: ReadonlyArray<readonly [pattern: string, types: ReadonlyArray<string>]> = [
        ["*", all],
        ["telco.*", all.slice(2)],
        ["telco.lookup.*", ["telco.lookup.completed"]],
        ["send.email.sent", ["send.email.sent"]],
        ["platform.*", ["platform.webhook.failing"]]
      ]
      const hooks = await Promise.all(expected.map(([pattern]) => tenant.hook([pattern])))
      for (const type of all) await tenant.happens(type)
      for (const [index, hook] of hooks.entries()) {
        const [pattern, types] = expected[index]!
        expect(typesOf(await hook.receives(types.length)), pattern).toEqual(types)
        await hook.deliveries(types.length, "succeeded")
      }
    })

    it("[platform 5.3] with a misplaced star or an unknown beginning are 400", async () => {
      const tenant = await whole().tenant()
      for (const pattern of ["*.sent", "te*", "telco.*.completed", "order.*"]) {
        const reply = await tenant.ask("POST", "/v1/webhooks", {
          url: "https://example.com",
          enabled_events: [pattern]
        })
        expect(reply.status, pattern).toBe(400)
        expect(reply.body).toMatchObject({ error: "invalid_request", message: expect.stringContaining(pattern) })
      }
    })
  })

  describe("the endpoints of an organization", () => {
    it("[platform 6.4] get an event or not by what they were at its place in the log", async () => {
      const tenant = await whole().tenant()
      await tenant.happens("telco.lookup.completed")
      const hook = await tenant.hook(["telco.*"])
      await tenant.happens("telco.search.completed")
      await bodyOf(tenant.ask("PATCH", hook.path, { enabled_events: ["send.*"] }))
      await tenant.happens("telco.lookup.completed")
      await tenant.happens("send.email.sent")
      expect(typesOf(await hook.receives(2))).toEqual(["send.email.sent", "telco.search.completed"])
      await hook.deliveries(2)
    })

    it("[platform 6.1] are 50 and no more", async () => {
      const tenant = await whole().tenant()
      await Promise.all(Array.from({ length: 50 }, () => tenant.hook()))
      const more = { url: whole().receiver.url("/more"), enabled_events: ["*"] }
      expect((await tenant.ask("POST", "/v1/webhooks", more)).status).toBe(409)
      const { endpoints } = await bodyOf<{ readonly endpoints: ReadonlyArray<object> }>(
        tenant.ask("GET", "/v1/webhooks")
      )
      expect(endpoints).toHaveLength(50)
    })
  })

  describe("a delivery", () => {
    it("[platform 7.3, 7.4] is attempted up to six times with one eventId, each with its own time and signature", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      const statuses = [500, 404, 301, 429, 503, 204]
      whole().receiver.answer(hook.to, (response, _, count) => response.writeHead(statuses[count]!).end())
      await tenant.happens("telco.lookup.completed")
      const [delivery] = await hook.deliveries(1, "succeeded")
      expect(delivery!.attempts.map(({ status }) => status)).toEqual(statuses)
      expect(delivery!.attemptCount).toBe(6)
      for (const [index, delay] of retryDelaysMillis.entries()) {
        const [before, after] = delivery!.attempts.slice(index)
        expect(after!.at - (before!.at + before!.duration)).toBeGreaterThanOrEqual(delay)
      }
      const received = await hook.receives(6)
      expect(new Set(received.map(({ body }) => body)).size).toBe(1)
      for (const [index, one] of received.entries()) {
        expectSigned(one, hook.secret)
        const { at } = delivery!.attempts[index]!
        expect(one.headers["x-platformwebhook-timestamp"]).toBe(String(Math.floor(at / 1000)))
      }
      const succeeded = { consecutive_failures: 0, last_delivery_status: 204 }
      await eventually(async () => expect(await hook.shown()).toMatchObject(succeeded))
    })

    it("[platform 7.4] fails at a redirect, and nobody goes where it points", async () => {
      const tenant = await whole().tenant()
      const [hook, elsewhere] = [await tenant.hook(), await tenant.hook(["send.*"])]
      whole().receiver.answer(hook.to, answering(307, { location: whole().receiver.url(elsewhere.to) }))
      await tenant.happens("telco.lookup.completed")
      const [delivery] = await hook.deliveries(1, "failed")
      expect(new Set(delivery!.attempts.map(({ status }) => status))).toEqual(new Set([307]))
      expect(elsewhere.received()).toEqual([])
    })

    it("[platform 6.1] that nobody answers in time has the status 0 and holds up no other", async () => {
      const tenant = await whole().tenant()
      const [hook, healthy] = [await tenant.hook(), await tenant.hook()]
      let answered = 0
      whole().receiver.answer(hook.to, hanging)
      whole().receiver.answer(healthy.to, (response) => {
        answered++
        response.end()
      })
      await tenant.happens("telco.lookup.completed", 20)
      await healthy.receives(20)
      const first = hook.received()
      expect(first.length).toBeLessThan(20)
      expect(answered).toBe(20)
      await eventually(async () => expect(await hook.shown()).toMatchObject({ last_delivery_status: 0 }))
      whole().receiver.answer(hook.to, answering(200))
      const deliveries = await hook.deliveries(20, "succeeded")
      const [timedOut] = deliveries.flatMap(({ attempts }) => attempts.filter(({ status }) => status === 0))
      // A timer and the clock each round to milliseconds.
      expect(timedOut!.duration).toBeGreaterThanOrEqual(timeoutMillis - 1)
    })

    it("[platform 7.4] waits for a Retry-After that is later than the schedule", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      whole().receiver.answer(hook.to, (response, _, count) =>
        count === 0 ? response.writeHead(429, { "retry-after": "1" }).end() : response.end()
      )
      await tenant.happens("telco.lookup.completed")
      const [delivery] = await hook.deliveries(1, "succeeded")
      const [before, after] = delivery!.attempts
      expect(after!.at - before!.at).toBeGreaterThanOrEqual(1_000)
    })
  })

  describe("failures of an endpoint", () => {
    it("[platform 7.5] are deliveries that failed to the last attempt; a success clears consecutive_failures", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      whole().receiver.answer(hook.to, answering(400))
      await tenant.happens("telco.lookup.completed", 2)
      await hook.deliveries(2, "failed")
      await eventually(async () => expect(await hook.shown()).toMatchObject({ consecutive_failures: 2 }))
      whole().receiver.answer(hook.to, answering(200))
      await tenant.happens("telco.lookup.completed")
      await eventually(async () => expect(await hook.shown()).toMatchObject({ consecutive_failures: 0 }))
    })

    it("[platform 7.5] need not add up for a pause where the answer is 410", async () => {
      const tenant = await whole().tenant()
      const [hook, watcher] = [await tenant.hook(), await tenant.hook(["platform.webhook.paused"])]
      whole().receiver.answer(hook.to, answering(410))
      await tenant.happens("telco.lookup.completed")
      const [paused] = await watcher.receives(1)
      expect(eventIn(paused!).data).toMatchObject({ endpoint_id: hook.id, reason: "gone", last_delivery_status: 410 })
      const gone = { is_paused: true, consecutive_failures: 0, last_delivery_status: 410 }
      await eventually(async () => expect(await hook.shown()).toMatchObject(gone))
      await hook.receives(1)
    })
  })

  describe("an endpoint and its secrets", () => {
    it("[platform 6.2] is shown as the list shows it, changes field by field, and is gone once it is deleted", async () => {
      const tenant = await whole().tenant()
      const [hook, other] = [await tenant.hook(), await tenant.hook(["send.*"])]
      const { endpoints } = await bodyOf<{ readonly endpoints: ReadonlyArray<object> }>(
        tenant.ask("GET", "/v1/webhooks")
      )
      expect(endpoints).toEqual([await hook.shown(), await other.shown()])
      const changes = {
        url: whole().receiver.url(other.to),
        enabled_events: ["telco.search.*"],
        description: "elsewhere",
        is_active: true
      }
      expect(await bodyOf(tenant.ask("PATCH", hook.path, changes))).toMatchObject(changes)
      await tenant.happens("telco.lookup.completed")
      await tenant.happens("telco.search.completed")
      const [moved] = await other.receives(1)
      expect(eventIn(moved!).type).toBe("telco.search.completed")
      expectSigned(moved!, hook.secret)
      expect(hook.received()).toEqual([])
      await bodyOf(tenant.ask("DELETE", hook.path))
      expect((await tenant.ask("GET", hook.path)).status).toBe(404)
    })

    it("[platform 6.8] are two in an overlap, the newer one signing first, and without an overlap one", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      const rotate = async (overlapSeconds: number) => {
        const path = `${hook.path}/rotate-secret`
        return (await bodyOf<{ readonly signing_secret: string }>(tenant.ask("POST", path, { overlapSeconds })))
          .signing_secret
      }
      const second = await rotate(60)
      await tenant.happens("telco.lookup.completed")
      expectSigned((await hook.receives(1))[0]!, second, hook.secret)
      const third = await rotate(60)
      await tenant.happens("telco.lookup.completed")
      expectSigned((await hook.receives(2))[1]!, third, second)
      const fourth = await rotate(0)
      await tenant.happens("telco.lookup.completed")
      expectSigned((await hook.receives(3))[2]!, fourth)
      expect(new Set([hook.secret, second, third, fourth]).size).toBe(4)
    })
  })

  describe("targets", () => {
    it("[platform 6.9] are this machine over plain http where any target is allowed; no other host ever is", async () => {
      const tenant = await whole().tenant()
      const ask = (url: string) => tenant.ask("POST", "/v1/webhooks", { url, enabled_events: ["*"] })
      expect((await ask("http://127.0.0.1:3000/hook")).status).toBe(201)
      expect(await ask("http://hooks.example.com/")).toMatchObject({
        status: 400,
        body: { error: "Webhook URL must use HTTPS" }
      })
    })
  })
}
