/**
 * Failures on the fast lane that the platform's own handlers cannot be made to have: a stop while a POST waits, a defect,
 * and a refusal with a wait. Each is answered, and a fault of the program is logged once.
 */
import { Context, Effect, Exit, Layer, Logger, Schema, Scope } from "effect"
import { HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { afterEach, beforeEach, expect, it } from "vitest"
import { keyDigest } from "../../src/common/identifiers.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { effectful } from "../../src/http/fast/marks.ts"
import { retryAfter } from "../../src/http/RequestState.ts"
import { layerServer } from "../../src/http/server.ts"
import { InvalidRequest, Unavailable } from "../../src/http/wireErrors.ts"
import { Authentication } from "../../src/platform/Authentication.ts"
import { WebhooksAccess } from "../../src/platform/access.ts"
import { layerWebhooksAccess } from "../../src/platform/layerAccess.ts"
import type { Principal } from "../../src/platform/model.ts"
import { OrganizationActor } from "../../src/platform/OrganizationActor.ts"
import { RequestRate, requestLimiter } from "../../src/platform/RequestRate.ts"
import { exchange } from "./exchange.ts"

const wait = HttpApiEndpoint.post("wait", "/v1/wait", {
  payload: Schema.Struct({ for: Schema.String }),
  success: Schema.Struct({}),
  error: [InvalidRequest, Unavailable]
}).middleware(WebhooksAccess)
class Api extends HttpApi.make("waits").add(HttpApiGroup.make("waits").add(wait)) {}

const key = "sk_test_waits"
const principal: Principal = {
  keyId: "key_waits",
  organizationId: "org_waits",
  mode: "live",
  plan: "team",
  sendPlan: "pro",
  services: new Set(["webhooks"]),
  scopes: new Set(["*"]),
  expiresAtMillis: null
}
const known = (digest: string) => (digest === keyDigest(key) ? principal : null)
const layerKeys = Layer.succeed(
  Authentication,
  Authentication.of({
    verifyWarm: (given) => known(keyDigest(given)),
    verify: (given) => Effect.succeed(known(keyDigest(given))),
    forget: () => {}
  })
)

/** Serves one POST, and collects the failures that are logged. */
const serve = async (scope: Scope.Scope, run: Effect.Effect<object, Unavailable>) => {
  const logged: Array<unknown> = []
  const begun = Promise.withResolvers<void>()
  const handlers = HttpApiBuilder.group(Api, "waits", (group) =>
    group.handleAll({
      wait: effectful(
        Effect.fnUntraced(function* () {
          begun.resolve()
          return yield* run
        })
      )
    })
  )
  const logger = Logger.make(({ message }) => void logged.push(message))
  const layer = layerServer(Api, { host: "127.0.0.1", port: 0, maxBodyBytes: 1_000, accessLog: false }).pipe(
    Layer.provide(handlers),
    Layer.provide(layerWebhooksAccess.pipe(Layer.provide(Layer.merge(layerKeys, RequestRate.layer)))),
    Layer.provide(Engine.layerMemory({ actors: [OrganizationActor], lanes: [requestLimiter] })),
    Layer.provide(Logger.layer([logger]))
  )
  const { address } = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), HttpServer.HttpServer)
  return { begun: begun.promise, logged, url: HttpServer.formatAddress(address) }
}

const head = (length: number) =>
  `POST /v1/wait HTTP/1.1\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
const body = '{"for":"ever"}'

let scope: Scope.Closeable

beforeEach(() => {
  scope = Scope.makeUnsafe()
})

afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

it("answers a POST whose handler is under way when the server stops", async () => {
  const { begun, url } = await serve(scope, Effect.never)
  const answer = exchange(url, head(body.length), body)
  await begun
  await Effect.runPromise(Scope.close(scope, Exit.void))
  expect(await answer).toMatchObject({ status: 503 })
})

it("answers a defect with the request's id, and logs it once", async () => {
  const { logged, url } = await serve(scope, Effect.die(new Error("a secret of the program")))
  const { status, text } = await exchange(url, head(body.length), body)
  expect(status).toBe(500)
  expect(text).toMatch(/internal_error.*Quote the request id req_/)
  expect(text).not.toContain("secret")
  expect(
    logged
      .flat()
      .map(String)
      .filter((line) => line.includes("Request failed"))
  ).toHaveLength(1)
})

it("says how long to wait where a handler cannot answer now", async () => {
  const unavailable = new Unavailable({ error: "unavailable", message: "Later" })
  const { url } = await serve(scope, Effect.andThen(retryAfter(7_000), Effect.fail(unavailable)))
  const { headers, status } = await exchange(url, head(body.length), body)
  expect(status).toBe(503)
  expect(headers["retry-after"]).toBe("7")
})
