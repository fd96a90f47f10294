/** Runs the program of the kill test until it is killed: `node process.ts <nats> <postgres> <service>`. */
import { Effect, Layer, Logger } from "effect"
import * as Durable from "../../../src/durable.ts"
import { programWith, storesOf } from "./shop.ts"

const [natsUrl = "", databaseUrl = "", service = ""] = process.argv.slice(2)

await Effect.runPromise(
  Layer.launch(
    Durable.layer(programWith(service), storesOf(natsUrl, databaseUrl)).pipe(Layer.provide(Logger.layer([])))
  )
)
