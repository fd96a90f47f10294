/** `/.well-known/webhook-keys` over HTTP (docs/platform.md, 6.11): what caches may keep, and how often an address may ask. */

import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { request } from "../../http/harness.ts"
import { buildApi } from "../../support/api.ts"
import { patienceMillis } from "../../support/patience.ts"
import { useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()

type Keys = { readonly keys: ReadonlyArray<{ readonly key: string; readonly created_at: number }> }

const keysOf = (id: string, headers: Record<string, string> = {}) =>
  request(`${platform().url}/.well-known/webhook-keys?endpoint=${id}`, { headers })

describe("GET /.well-known/webhook-keys", () => {
  it("[platform 6.11] may be kept for a minute at most, and is revalidated by its tag until the keys change", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint({ asymmetric: true })
    const first = await keysOf(id)
    expect(first.status).toBe(200)
    expect((first.body as Keys).keys).toHaveLength(1)
    const seconds = Number(/^public, max-age=(\d+)$/.exec(first.headers.get("cache-control")!)![1])
    expect(seconds).toBeLessThanOrEqual(60)
    const etag = first.headers.get("etag")!
    const same = await keysOf(id, { "if-none-match": etag })
    expect([same.status, same.body, same.headers.get("etag")]).toEqual([304, "", etag])
    // The node that has rotated shows it immediately.
    expect((await ask("POST", `/v1/webhooks/${id}/rotate-secret`)).status).toBe(200)
    const second = await keysOf(id, { "if-none-match": etag })
    expect(second.status).toBe(200)
    expect((second.body as Keys).keys).toHaveLength(2)
    expect(second.headers.get("etag")).not.toBe(etag)
  })

  it("is empty for an endpoint without keys and for an id that is none, and 400 for a text that cannot be one", async () => {
    const { endpoint } = await platform().tenant()
    for (const id of [await endpoint(), "we_none"]) expect((await keysOf(id)).body).toStrictEqual({ keys: [] })
    for (const id of ["", "a%20b", "x".repeat(65)]) expect((await keysOf(id)).status).toBe(400)
  })
})

describe("the rate of an address", () => {
  const scope = Scope.makeUnsafe()
  let url = ""
  // An address that has used up its minute would fail the other tests.
  beforeAll(async () => {
    url = (await Effect.runPromise(buildApi(scope))).url
  }, patienceMillis)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)), patienceMillis)

  it("[platform 6.11] is 600 requests a minute, with the headers of other rates", async () => {
    const ask = (at: number) => request(`${url}/.well-known/webhook-keys?endpoint=we_${at % 20}`)
    const first = await ask(0)
    expect(first.headers.get("x-ratelimit-limit")).toBe("600")
    expect(Number(first.headers.get("x-ratelimit-remaining"))).toBeLessThan(600)
    let refused: Awaited<ReturnType<typeof ask>> | undefined
    // The minute of the clock may end meanwhile.
    for (let at = 0; refused === undefined && at < 1_300; at += 20) {
      const replies = await Promise.all(Array.from({ length: 20 }, (_, more) => ask(at + more)))
      for (const reply of replies) expect([200, 429]).toContain(reply.status)
      refused = replies.find(({ status }) => status === 429)
    }
    expect(refused?.body).toStrictEqual({
      success: false,
      error: { code: "rate_limited", message: expect.stringContaining("600 requests per minute") }
    })
    expect(Number(refused!.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
  })
})
