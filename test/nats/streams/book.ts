/** The program of the kill test of streams: it counts orders that it reads from one stream, and publishes what it has counted to another one. */
import { Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Ingest from "../../../src/engine/Ingest.ts"
import * as Publish from "../../../src/engine/Publish.ts"

/** Keeps the numbers of an organization's orders, in order. */
export const Book = Actor.make({
  kind: "book",
  command: Schema.Int,
  fact: Schema.Struct({ order: Schema.Int }),
  state: Schema.Array(Schema.Int),
  initial: (): ReadonlyArray<number> => [],
  evolve: (orders, { order }) => [...orders, order],
  decide: (_, order) => Actor.decided({ facts: [{ order }] })
})

const orders = Ingest.jetStream({
  name: "orders",
  stream: "orders",
  subject: "orders.*",
  organization: ({ subject }) => subject.split(".")[1],
  toCommand: (message) => Ingest.command(Book, "", Ingest.json(message) as number)
})

const counted = Publish.jetStream({
  name: "counted",
  from: Publish.facts(Book),
  stream: "counted",
  subject: ({ organization }) => `counted.${organization}`
})

/** Few frames until a checkpoint, so that most starts begin with one. */
export const program = {
  actors: [Book],
  ingests: [orders],
  reactors: [counted],
  config: { partitions: 3, checkpointFrames: 40 }
}

export const storesOf = (natsUrl: string, databaseUrl: string) => ({
  natsUrl,
  databaseUrl,
  namespace: "books",
  maximumLogBytes: 64 * 1024 * 1024
})
