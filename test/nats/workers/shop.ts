/** The program of the kill test of workers: orders come from a stream, a worker charges each, and its outcome becomes a command. */
import { Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Ingest from "../../../src/engine/Ingest.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import * as Worker from "../../../src/engine/Worker.ts"

const Command = Schema.Union([Schema.Struct({ order: Schema.Int }), Schema.Struct({ paid: Schema.Int })])

const State = Schema.Struct({ orders: Schema.Array(Schema.Int), paid: Schema.Array(Schema.Int) })

/** Keeps the numbers of an organization's orders, and of those that are paid. A reply that counts twice is seen twice. */
export const Till = Actor.make({
  kind: "till",
  command: Command,
  fact: Command,
  state: State,
  reply: Schema.Void,
  initial: (): typeof State.Type => ({ orders: [], paid: [] }),
  evolve: ({ orders, paid }, fact) =>
    "order" in fact ? { orders: [...orders, fact.order], paid } : { orders, paid: [...paid, fact.paid] },
  decide: (_, command) => Actor.decided({ facts: [command] })
})

const orders = Ingest.jetStream({
  name: "orders",
  stream: "orders",
  subject: "orders.*",
  organization: ({ subject }) => subject.split(".")[1],
  toCommand: (message) => Ingest.command(Till, "", { order: Ingest.json(message) as number })
})

/** A worker that charges at an address. */
const chargeAt = (address: string) =>
  Worker.make({
    name: "charge",
    from: Publish.facts(Till),
    job: Schema.Int,
    toJob: ({ fact }) => ("order" in fact ? fact.order : undefined),
    run: (order, { key }) =>
      Effect.flatMap(
        Effect.tryPromise((signal) =>
          fetch(address, { method: "POST", headers: { "idempotency-key": key }, body: String(order), signal })
        ),
        ({ ok, status }) => (ok ? Effect.void : Effect.fail(new Error(`the service answers ${status}`)))
      ),
    // Attempts whose process dies count.
    retry: { pausesMillis: Array.from({ length: 50 }, () => 50) },
    timeoutMillis: 2_000,
    reply: { actor: Till, toCommand: (_, { job }) => ({ command: { paid: job } }) }
  })

/** Few frames until a checkpoint, so that most starts begin with one. */
export const programWith = (address: string) => ({
  actors: [Till],
  ingests: [orders],
  workers: [chargeAt(address)],
  config: { partitions: 3, checkpointFrames: 40 }
})

export const storesOf = (natsUrl: string, databaseUrl: string) => ({
  natsUrl,
  databaseUrl,
  namespace: "shop",
  maximumLogBytes: 64 * 1024 * 1024
})
