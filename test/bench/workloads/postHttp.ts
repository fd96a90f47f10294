/**
 * A listener with one POST that takes a message and does nothing with it: what the platform's server costs a POST by itself. Its edge,
 * access, limiter, schemas and both ways are the platform's; keys are in a map and the engine is in memory.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { keyDigest, randomText } from "../../../src/common/identifiers.ts"
import * as Engine from "../../../src/engine/Engine.ts"
import { effectful } from "../../../src/http/fast/marks.ts"
import { layerServer } from "../../../src/http/server.ts"
import { InvalidRequest, Unavailable } from "../../../src/http/wireErrors.ts"
import { maximumLimit } from "../../../src/limits/index.ts"
import { Authentication } from "../../../src/platform/Authentication.ts"
import { CurrentPrincipal, WebhooksAccess } from "../../../src/platform/access.ts"
import { layerWebhooksAccess } from "../../../src/platform/layerAccess.ts"
import type { Principal } from "../../../src/platform/model.ts"
import { OrganizationActor } from "../../../src/platform/OrganizationActor.ts"
import { RequestRate, requestLimiter } from "../../../src/platform/RequestRate.ts"
import { demoKey } from "../runner/platform.ts"
import { serveWorkload } from "./workload.ts"

export interface PostHttpLoad {
  readonly fastLane: boolean
}

const Message = Schema.Struct({
  from: Schema.String,
  to: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(50)),
  subject: Schema.String.check(Schema.isMaxLength(500)),
  html: Schema.optionalKey(Schema.String),
  text: Schema.optionalKey(Schema.String),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  tags: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })))
})

const Accepted = Schema.Struct({ id: Schema.String, state: Schema.Literal("queued"), recipients: Schema.Int })

const accept = HttpApiEndpoint.post("accept", "/v1/messages", {
  payload: Message,
  success: Accepted.pipe(HttpApiSchema.status(202)),
  error: [InvalidRequest, Unavailable]
}).middleware(WebhooksAccess)

class MessagesApi extends HttpApi.make("messages").add(HttpApiGroup.make("messages").add(accept)) {}

const layerMessages = HttpApiBuilder.group(MessagesApi, "messages", (handlers) =>
  handlers.handleAll({
    accept: effectful(
      Effect.fnUntraced(function* ({ payload }: { readonly payload: typeof Message.Type }) {
        yield* CurrentPrincipal
        // As a store that has to be waited for would.
        yield* Effect.promise(() => Promise.resolve())
        return { id: `msg_${randomText()}`, state: "queued" as const, recipients: payload.to.length }
      })
    )
  })
)

const principal: Principal = {
  keyId: "key_demo",
  organizationId: "org_demo",
  mode: "live",
  plan: "team",
  sendPlan: "pro",
  services: new Set(),
  scopes: new Set(["*"]),
  expiresAtMillis: null
}

const keys = new Map([[keyDigest(demoKey), principal]])
const principalOf = (key: string) => keys.get(keyDigest(key)) ?? null

const layerKeys = Layer.succeed(
  Authentication,
  Authentication.of({
    verifyWarm: principalOf,
    verify: (key) => Effect.sync(() => principalOf(key)),
    forget: () => {}
  })
)

const maxBodyBytes = 262_144

serveWorkload(({ fastLane }: PostHttpLoad) =>
  Effect.gen(function* () {
    const engine = yield* Layer.build(Engine.layerMemory({ actors: [OrganizationActor], lanes: [requestLimiter] }))
    yield* Context.get(engine, Engine.Engine).ask(
      OrganizationActor,
      { organization: principal.organizationId },
      { _tag: "SetLimits", limits: { requestsPerMinute: maximumLimit } }
    )
    const access = layerWebhooksAccess.pipe(
      Layer.provide(Layer.merge(layerKeys, RequestRate.layer.pipe(Layer.provide(Layer.succeedContext(engine)))))
    )
    const listener = yield* Layer.build(
      layerServer(MessagesApi, { host: "127.0.0.1", port: 0, maxBodyBytes, accessLog: false, fastLane }).pipe(
        Layer.provide(layerMessages),
        Layer.provide(access)
      )
    )
    return { told: HttpServer.formatAddress(Context.get(listener, HttpServer.HttpServer).address) }
  })
)
