/** A server whose fast lane stops while POSTs wait there: they are answered as on the general path, and no client is left without an answer. */
import { Context, Effect, Exit, Layer, Schema, Scope } from "effect"
import { HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { expect, it } from "vitest"
import { keyDigest } from "../../src/common/identifiers.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { effectful } from "../../src/http/fast/marks.ts"
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

/** Serves one POST that never answers, and says when its handler has begun. */
const serve = async (scope: Scope.Scope) => {
  const begun = Promise.withResolvers<void>()
  const handlers = HttpApiBuilder.group(Api, "waits", (group) =>
    group.handleAll({
      wait: effectful(
        Effect.fnUntraced(function* () {
          begun.resolve()
          return yield* Effect.never
        })
      )
    })
  )
  const layer = layerServer(Api, { host: "127.0.0.1", port: 0, maxBodyBytes: 1_000, accessLog: false }).pipe(
    Layer.provide(handlers),
    Layer.provide(layerWebhooksAccess.pipe(Layer.provide(Layer.merge(layerKeys, RequestRate.layer)))),
    Layer.provide(Engine.layerMemory({ actors: [OrganizationActor], lanes: [requestLimiter] }))
  )
  const { address } = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), HttpServer.HttpServer)
  return { begun: begun.promise, url: HttpServer.formatAddress(address) }
}

const head = (length: number) =>
  `POST /v1/wait HTTP/1.1\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
const body = '{"for":"ever"}'

it("answers a POST whose handler is under way", async () => {
  const scope = Scope.makeUnsafe()
  const { begun, url } = await serve(scope)
  const answer = exchange(url, head(body.length), body)
  await begun
  await Effect.runPromise(Scope.close(scope, Exit.void))
  expect(await answer).toMatchObject({ status: 503 })
})
