/** The embedded servers for workloads: a nats-server that syncs always and PostgreSQL, on loopback in a data folder. */
import { Effect, Redacted } from "effect"
import { openDataFolder } from "../../../src/embedded/dataFolder.ts"
import { startEmbedded } from "../../../src/embedded/EmbeddedServers.ts"

export interface Addresses {
  readonly natsUrl: string
  readonly databaseUrl: string
}

/** Starts both; they stop with the scope. */
export const startServers = Effect.fnUntraced(function* (dataFolder: string) {
  const folder = yield* openDataFolder(dataFolder)
  yield* folder.hold({ purpose: "a benchmark" })
  const { natsUrl, postgresUrl } = yield* startEmbedded(folder, {
    postgres: { bin: process.env.SLUICE_POSTGRES_BIN },
    nats: { program: process.env.SLUICE_NATS_SERVER },
    progress: () => Effect.void
  })
  const addresses: Addresses = {
    natsUrl: Redacted.value(natsUrl!),
    databaseUrl: Redacted.value(postgresUrl!)
  }
  return addresses
})
