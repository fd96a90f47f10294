/**
 * The event stream (docs/platform.md, 5.5): server-sent events as they come, resumable by Last-Event-ID, bounded, and
 * ended with the key that opened it.
 */
import { Effect, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { afterEach, describe, expect, it } from "vitest"
import { make as makeClient } from "../../../src/api/client.ts"
import { maximumStreamsPerOrganization } from "../../../src/events/EventStreams.ts"
import { patienceMillis } from "../../support/patience.ts"
import type { Reached } from "../harness.ts"
import { makeTenant, type Tenant } from "./emitted.ts"

const envelope = (code: string, message: unknown = expect.stringMatching(/\S/)) => ({
  success: false,
  error: { code, message }
})

interface Message {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Reads a stream as its standard says, independently of what wrote it. */
const openStream = async (url: string, headers: Record<string, string>) => {
  const abort = new AbortController()
  const response = await fetch(url, { headers, signal: abort.signal })
  if (response.status !== 200) return { response, body: (await response.json()) as unknown }
  const messages: Array<Message> = []
  let text = ""
  const waiting = new Set<() => void>()
  let ended = false
  const reading = (async () => {
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        const blocks = text.split("\n\n")
        text = blocks.pop()!
        for (const block of blocks) {
          const fields = block
            .split("\n")
            .filter((line) => !line.startsWith(":"))
            .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)] as const)
          if (fields.length > 0) messages.push(Object.fromEntries(fields) as unknown as Message)
        }
        for (const wake of waiting) wake()
      }
    } catch {
      // Aborted by the test.
    }
    ended = true
    for (const wake of waiting) wake()
  })()
  return {
    response,
    messages,
    /** Resolves once there are so many messages. */
    until: (count: number) =>
      new Promise<ReadonlyArray<Message>>((resolve, reject) => {
        const look = () => {
          if (messages.length >= count) resolve(messages)
          else if (ended) reject(new Error(`the stream ended after ${messages.length} messages`))
          else return
          waiting.delete(look)
        }
        waiting.add(look)
        look()
      }),
    ended: reading,
    close: () => abort.abort()
  }
}

const eventually = { timeout: patienceMillis }

export const streamSection = (platform: () => Reached): void => {
  describe("the event stream", () => {
    const opened: Array<() => void> = []
    afterEach(() => {
      for (const close of opened.splice(0)) close()
    })

    const open = async (tenant: Tenant, query = "", headers: Record<string, string> = {}) => {
      const stream = await openStream(`${platform().url}/v1/events/stream${query}`, {
        "x-api-key": tenant.key,
        ...headers
      })
      if (stream.close === undefined) throw new Error(`${stream.response.status} ${JSON.stringify(stream.body)}`)
      opened.push(stream.close)
      return stream
    }
    const refused = async (tenant: Tenant, query: string, headers: Record<string, string> = {}) => {
      const { body, response } = await openStream(`${platform().url}/v1/events/stream${query}`, {
        "x-api-key": tenant.key,
        ...headers
      })
      return [response.status, body]
    }

    it("[platform 5.5] sends `id`, `event` and `data` of each event as it comes, from the next one on, the bytes of the log", async () => {
      const tenant = await makeTenant(platform(), "stream")
      await tenant.trigger("platform.test")
      await tenant.events(1)
      const stream = await open(tenant)
      expect(stream.response.headers.get("content-type")).toBe("text/event-stream")
      expect(stream.response.headers.get("cache-control")).toBe("no-store")
      expect(stream.response.headers.get("x-request-id")).toMatch(/^req_/)
      const types = ["telco.lookup.completed", "send.email.sent", "platform.webhook.paused"]
      for (const type of types) await tenant.trigger(type)
      const messages = await stream.until(3)
      expect(messages.map(({ event }) => event)).toEqual(types)
      for (const { data, event, id } of messages) {
        expect(JSON.parse(data)).toMatchObject({ eventId: id, type: event })
        const response = await fetch(`${platform().url}/v1/events/${id}`, { headers: { "x-api-key": tenant.key } })
        expect(await response.text()).toBe(data)
      }
    })

    it("sends only the types it was asked for, patterns separated by commas", async () => {
      const tenant = await makeTenant(platform(), "types")
      const stream = await open(tenant, "?types=telco.*,platform.test")
      for (const type of ["send.email.sent", "telco.lookup.completed", "platform.webhook.failing", "platform.test"]) {
        await tenant.trigger(type)
      }
      expect((await stream.until(2)).map(({ event }) => event)).toEqual(["telco.lookup.completed", "platform.test"])
    })

    it("[platform 5.5] is resumable by Last-Event-ID: nothing is lost, nothing comes twice", async () => {
      const tenant = await makeTenant(platform(), "resume")
      for (let count = 0; count < 90; count++) await tenant.trigger("platform.test")
      const newestFirst = await tenant.events(90)
      const from = newestFirst.at(-1)!.eventId
      const first = await open(tenant, "", { "last-event-id": from })
      const some = (await first.until(30)).slice(0, 30)
      first.close()
      const second = await open(tenant, "", { "last-event-id": some.at(-1)!.id })
      await tenant.trigger("telco.lookup.completed")
      const rest = await second.until(newestFirst.length - 1 - 30 + 1)
      expect([...some, ...rest].map(({ id }) => id).slice(0, newestFirst.length - 1)).toEqual(
        newestFirst
          .slice(0, -1)
          .toReversed()
          .map(({ eventId }) => eventId)
      )
      expect(rest.at(-1)!.event).toBe("telco.lookup.completed")
    })

    it("a Last-Event-ID that is unknown, another organization's or no id is 400", async () => {
      const [tenant, other] = [await makeTenant(platform(), "known"), await makeTenant(platform(), "unknown")]
      await other.trigger("platform.test")
      const [theirs] = await other.events(1)
      for (const id of [theirs!.eventId, "evt_00000000-0000-8000-8000-000000000000", "x", ""]) {
        expect(await refused(tenant, "", { "last-event-id": id }), id).toStrictEqual([
          400,
          envelope("invalid_request", expect.stringMatching(/Last-Event-ID/))
        ])
      }
    })

    it("bad patterns are 400", async () => {
      const tenant = await makeTenant(platform(), "patterns")
      for (const types of ["", ",", "te*", "nothing.*", `${"telco.*,".repeat(50)}telco.*`]) {
        expect(await refused(tenant, `?types=${encodeURIComponent(types)}`), types).toStrictEqual([
          400,
          envelope("invalid_request", expect.stringMatching(/^Invalid parameter 'types'/))
        ])
      }
      expect((await refused(tenant, "?types=telco.*&types=send.*"))[0]).toBe(400)
    })

    it("shows only the organization's own events", async () => {
      const [mine, theirs] = [await makeTenant(platform(), "mine"), await makeTenant(platform(), "theirs")]
      const stream = await open(mine)
      await theirs.trigger("send.email.sent")
      await theirs.events(1)
      await mine.trigger("platform.test")
      expect((await stream.until(1)).map(({ event }) => event)).toEqual(["platform.test"])
    })

    it("[platform 5.5] at most so many of one organization at once: 429, and room again when one is closed", async () => {
      const [tenant, other] = [await makeTenant(platform(), "crowd"), await makeTenant(platform(), "no crowd")]
      const streams = []
      for (let count = 0; count < maximumStreamsPerOrganization; count++) streams.push(await open(tenant))
      expect(await refused(tenant, "")).toStrictEqual([
        429,
        envelope("rate_limited", expect.stringContaining(String(maximumStreamsPerOrganization)))
      ])
      await open(other)
      streams[0]!.close()
      await expect
        .poll(async () => {
          const stream = await openStream(`${platform().url}/v1/events/stream`, { "x-api-key": tenant.key })
          stream.close?.()
          return stream.response.status
        }, eventually)
        .toBe(200)
    })

    it("[platform 5.5] ends with the key that opened it: no event after the revocation", async () => {
      const tenant = await makeTenant(platform(), "revoked")
      const { id, key } = await tenant.newKey({ scopes: ["platform:events:read"] })
      const stream = await open(tenant, "", { "x-api-key": key })
      await tenant.trigger("platform.test")
      await stream.until(1)
      await platform().revokeKey(id)
      await expect
        .poll(async () => (await tenant.get("/v1/events", { headers: { "x-api-key": key } })).status, eventually)
        .toBe(401)
      await tenant.trigger("platform.test")
      await stream.ended
      expect(stream.messages).toHaveLength(1)
    })

    it("HEAD answers without waiting for events", async () => {
      const tenant = await makeTenant(platform(), "head")
      const response = await fetch(`${platform().url}/v1/events/stream`, {
        method: "HEAD",
        headers: { "x-api-key": tenant.key }
      })
      expect([response.status, await response.text()]).toEqual([200, ""])
    })

    it("the typed client lists, gets, follows, looks up and searches", async () => {
      const tenant = await makeTenant(platform(), "client")
      const program = Effect.gen(function* () {
        const client = yield* makeClient({ baseUrl: platform().url, apiKey: tenant.key })
        const events = yield* client.events.stream({ query: { types: "telco.*" }, headers: {} })
        const { data: codes } = yield* client.telco.search({ query: { npa: "212", limit: 1 } })
        const tn = `212${codes[0]!.nxx}0123`
        const looked = yield* client.telco.lookup({ params: { tn } })
        const followed = yield* events.pipe(Stream.take(2), Stream.runCollect)
        const got = yield* client.events.get({ params: { id: followed[1]!.eventId } })
        const listed = yield* client.events.list({ query: { type: "telco.lookup.completed", limit: 10 } })
        const missing = yield* Effect.flip(client.telco.lookup({ params: { tn: "9995550123" } }))
        return { followed, got, listed, looked, missing, tn }
      })
      const { followed, got, listed, looked, missing, tn } = await Effect.runPromise(
        Effect.provide(program, FetchHttpClient.layer)
      )
      expect(looked).toMatchObject({ tn, npa: "212", inInventory: false })
      expect(followed.map(({ type }) => type)).toEqual(["telco.search.completed", "telco.lookup.completed"])
      expect(got).toEqual(followed[1])
      expect(listed).toEqual({ data: [followed[1]], pagination: { hasMore: false } })
      expect(missing).toMatchObject({ _tag: "NotFound", error: "not_found" })
    })
  })
}
