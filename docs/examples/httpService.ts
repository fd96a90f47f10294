/** An HTTP service over an actor: a shop takes orders, each once, however often a client repeats it. `PORT=3000 node httpService.ts` */
import { createServer } from "node:http"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiError, HttpApiGroup } from "effect/http-api"
import { Actor, AskErrors, Engine } from "sluice"
import * as Durable from "sluice/durable"

class SoldOut extends Schema.TaggedError<SoldOut>()("SoldOut", { left: Schema.Int }, { httpApiStatus: 409 }) {}
const Order = Schema.Struct({ pieces: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 })) })

const Left = Schema.Struct({ left: Schema.Int })

const Stock = Actor.make({
  kind: "stock",
  command: Order,
  fact: Order,
  state: Schema.Int,
  reply: Left,
  initial: () => 12,
  evolve: (left, { pieces }) => left - pieces,
  decide: (left, order) =>
    order.pieces > left
      ? Actor.rejected(new SoldOut({ left }))
      : Actor.decided({ facts: [order], reply: { left: left - order.pieces } })
})

const order = HttpApiEndpoint.post("order", "/shops/:shop/orders", {
  params: { shop: Schema.String },
  headers: { "idempotency-key": Schema.NonEmptyString },
  payload: Order,
  success: Left,
  error: [SoldOut, HttpApiError.Conflict, HttpApiError.ServiceUnavailable]
})
const Api = HttpApi.make("shops").add(HttpApiGroup.make("orders").add(order))
const layerHandlers = HttpApiBuilder.group(Api, "orders", (handlers) =>
  Effect.map(Engine.Engine, (engine) =>
    handlers.handle("order", ({ headers, params, payload }) => {
      const once = { key: headers["idempotency-key"], digest: JSON.stringify(payload) }
      return engine.askOnce(Stock, { organization: params.shop }, payload, once).pipe(
        Effect.map(({ reply }) => reply),
        Effect.catchTag("IdempotencyConflict", () => Effect.fail(new HttpApiError.Conflict())),
        Effect.catchTag("ReplyTooLarge", Effect.die),
        Effect.catchIf(AskErrors.isAnAskError, () => Effect.fail(new HttpApiError.ServiceUnavailable()))
      )
    })
  )
)

const { DATABASE_URL: databaseUrl = "", NATS_URL: natsUrl = "", PORT = "3000" } = process.env
const parts = { actors: [Stock] }
// in memory for a try
const layerEngine = databaseUrl === "" ? Engine.layerMemory(parts) : Durable.layer(parts, { databaseUrl, natsUrl })
HttpRouter.serve(HttpApiBuilder.layer(Api)).pipe(
  Layer.provide([layerHandlers, NodeHttpServer.layer(createServer, { port: Number(PORT), host: "127.0.0.1" })]),
  Layer.provide(layerEngine),
  Layer.launch,
  NodeRuntime.runMain
)
