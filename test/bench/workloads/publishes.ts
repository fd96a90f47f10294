/**
 * A program without an engine: the same facts published one message each to a log as the engine's, fenced by the
 * expected last sequence, so many in flight on one connection.
 */
import { headers } from "@nats-io/transport-node"
import { Effect, Redacted } from "effect"
import { connectNats } from "../../../src/nats/connection.ts"
import * as JournalJetStream from "../../../src/nats/JournalJetStream.ts"
import { subjectOf } from "../../../src/nats/logStream.ts"
import { Latencies, sampleOf } from "./latencies.ts"
import { mailOf } from "./mail.ts"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface PublishLoad {
  readonly inFlight: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

const timeoutMillis = 10_000

serveWorkload((load: PublishLoad & { readonly dataFolder: string }) =>
  Effect.gen(function* () {
    const { natsUrl } = yield* startServers(load.dataFolder)
    const { client } = yield* connectNats({ url: Redacted.make(natsUrl) })
    const journal = yield* JournalJetStream.make(client)
    const log = yield* journal.open(0)
    const latencies = new Latencies()
    const encoder = new TextEncoder()
    let number = (yield* log.state).lastSequence
    let stopped = false
    const publisher = async () => {
      while (!stopped) {
        const messageHeaders = headers()
        messageHeaders.set("Nats-Expected-Last-Sequence", String(number))
        const fact = encoder.encode(JSON.stringify(mailOf(number++)))
        const sent = performance.now()
        const answer = await client.request(subjectOf(0, undefined), fact, {
          timeout: timeoutMillis,
          headers: messageHeaders
        })
        if (answer.json<{ readonly error?: unknown }>().error !== undefined) throw new Error(answer.string())
        latencies.record(performance.now() - sent)
      }
    }
    const publishers = Promise.all(Array.from({ length: load.inFlight }, publisher))
    yield* Effect.addFinalizer(() => {
      stopped = true
      return Effect.promise(() => publishers)
    })
    yield* Effect.sleep(load.warmUpSeconds * 1000)
    return { measure: () => sampleOf(latencies, load.seconds) }
  })
)
