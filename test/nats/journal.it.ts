/** The contract of the journal on JetStream, with one copy and with three. */
import { Effect, Layer } from "effect"
import { journalContract } from "../engine/contracts/journal.ts"
import { JournalHarness } from "../engine/contracts/journalHarness.ts"
import { journalOn } from "./jetStreamSupport.ts"
import { oneServer, threeServers } from "./natsServers.ts"

journalContract(
  "JetStream, one copy",
  Layer.effect(
    JournalHarness,
    Effect.map(oneServer(), ({ url }) => JournalHarness.of({ connect: (options) => journalOn(url, options) }))
  )
)

journalContract(
  "JetStream, three copies",
  Layer.effect(
    JournalHarness,
    Effect.map(threeServers, (servers) => {
      const urls = servers.map((server) => server.url).join(",")
      return JournalHarness.of({ connect: (options) => journalOn(urls, { replicas: 3, ...options }) })
    })
  )
)
