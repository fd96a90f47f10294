/** Runs the program of the kill test until it is killed: `node process.ts <nats> <postgres>`. */
import { Effect, Layer, Logger } from "effect"
import * as Durable from "../../../src/durable.ts"
import { program, storesOf } from "./book.ts"

const [natsUrl = "", databaseUrl = ""] = process.argv.slice(2)

await Effect.runPromise(
  Layer.launch(Durable.layer(program, storesOf(natsUrl, databaseUrl)).pipe(Layer.provide(Logger.layer([]))))
)
