/** The embedded servers in a process of their own, for workloads that come and go while their data stays. */
import { Effect } from "effect"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

serveWorkload(({ dataFolder }: { readonly dataFolder: string }) =>
  Effect.map(startServers(dataFolder), (told) => ({ told }))
)
