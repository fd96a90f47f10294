/** Reads that take too long (docs/platform.md, 8.4): the edge ends them, in the words of a read. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { afterAll, describe, expect, it } from "vitest"
import { layerEdge } from "../../src/http/edge.ts"

let released = 0
const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void released++))
const quick = Effect.succeed(HttpServerResponse.text("done"))

const { dispose, handler } = HttpRouter.toWebHandler(
  Layer.mergeAll(
    HttpRouter.use((router) =>
      Effect.gen(function* () {
        for (const path of ["/v1/send/emails", "/v1/telco/lookup/1", "/admin/v1/slow"] as const) {
          yield* router.add("GET", path, hanging)
          yield* router.add("POST", path, quick)
        }
        yield* router.add("GET", "/v1/quick", quick)
      })
    ),
    layerEdge(HttpApi.make("none"), { accessLog: false, failureLog: false, readTimeoutMillis: 20 })
  ).pipe(Layer.provideMerge(HttpServer.layerServices)),
  { disableLogger: true }
)
afterAll(dispose)

const ask = async (path: string, method = "GET") => {
  const answer = await handler(new Request(`http://sluice.test${path}`, { method }))
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), text: await answer.text() }
}

describe("[platform 8.4] a read that takes too long", () => {
  const message = "The answer took too long; the request is safe to repeat"

  it.each([
    ["/v1/send/emails", { error: { code: "unavailable", message } }],
    ["/v1/telco/lookup/1", { error: "unavailable", message }],
    ["/admin/v1/slow", { success: false, error: { code: "unavailable", message } }]
  ])("is 503 in its product's shape, and is given up: %s", async (path, body) => {
    const before = released
    const { retryAfter, status, text } = await ask(path)
    expect([status, JSON.parse(text), released - before]).toEqual([503, body, 1])
    // It grows with other 503 of this process.
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1)
  })

  it("and others go on", async () => {
    expect(await ask("/v1/quick")).toMatchObject({ status: 200, text: "done" })
    expect(await ask("/v1/send/emails", "POST")).toMatchObject({ status: 200, text: "done" })
  })
})
