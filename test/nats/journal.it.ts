/** The contract of the journal, on JetStream with one copy. */
import { Effect, Layer, Redacted } from "effect"
import { connectNats } from "../../src/nats/connection.ts"
import * as JournalJetStream from "../../src/nats/JournalJetStream.ts"
import { JournalHarness, journalContract } from "../engine/contracts/journal.ts"
import { oneServer } from "./natsServers.ts"

/** Small enough that a server's file limit holds all logs of the suite. */
const maximumBytes = 64 * 1024 * 1024

journalContract(
  "JetStream, one copy",
  Layer.effect(
    JournalHarness,
    Effect.map(oneServer(), (server) =>
      JournalHarness.of({
        connect: (options) =>
          Effect.gen(function* () {
            const { client } = yield* connectNats({ url: Redacted.make(server.url) })
            return yield* JournalJetStream.make(client, { maximumBytes, ...options })
          }).pipe(Effect.orDie)
      })
    )
  )
)
