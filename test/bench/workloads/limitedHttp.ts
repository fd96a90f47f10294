/**
 * The platform's public listener on a filled data folder, with the request rate that the platform has or with none, its calls counted as usage or not, all else
 * being equal: both run the engine. The demo organization has a limit that no load reaches, so that limited requests pass.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, identity, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { layerEngine } from "../../../src/app/engine.ts"
import { layerDelivery, layerServices, layerStores } from "../../../src/app/layers.ts"
import { layerPublic } from "../../../src/app/server.ts"
import { parseSecretsKeys } from "../../../src/common/secretsKeys.ts"
import { Directory } from "../../../src/directory/Directory.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { maximumLimit } from "../../../src/limits/index.ts"
import { NatsConnection } from "../../../src/nats/connection.ts"
import { CallCounts } from "../../../src/platform/CallCounts.ts"
import { ensureDemo } from "../../../src/platform/demo.ts"
import { OrganizationPlans } from "../../../src/platform/OrganizationPlans.ts"
import { RequestRate } from "../../../src/platform/RequestRate.ts"
import { MessageContents } from "../../../src/send/emails/contents/MessageContents.ts"
import { SendRate } from "../../../src/send/emails/SendRate.ts"
import { VerificationMail } from "../../../src/send/senders/addresses/VerificationMail.ts"
import { demoKey } from "../runner/platform.ts"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface LimitedHttpLoad {
  readonly dataFolder: string
  readonly limited: boolean
  /** Whether calls are counted as usage. */
  readonly counted: boolean
}

/** As `sluice serve` has them by default. */
const partitions = 8
const maxConnections = 8
const maxBodyBytes = 1_048_576

serveWorkload(({ counted, dataFolder, limited }: LimitedHttpLoad) =>
  Effect.gen(function* () {
    const servers = yield* startServers(dataFolder)
    const options = {
      databaseUrl: Redacted.make(servers.databaseUrl),
      maxConnections,
      // The folder's own, under which its first start has stored keys of domains.
      secretsKeys: Redacted.make(parseSecretsKeys(readFileSync(join(dataFolder, "secrets", "secrets.key"), "utf8"))!),
      webhookTargets: "public" as const
    }
    const decisions = Layer.mergeAll(
      OrganizationPlans.layer,
      limited ? RequestRate.layer : RequestRate.layerUnlimited,
      SendRate.layer
    ).pipe(
      Layer.provideMerge(layerEngine({ partitions, replicas: 1, maximumLogBytes: undefined, namespace: undefined }))
    )
    const platform = yield* Layer.build(
      layerServices(options).pipe(
        Layer.provideMerge(Layer.merge(MessageContents.layerMemory, VerificationMail.layerMemory([]))),
        Layer.provideMerge(layerDelivery(options)),
        Layer.provideMerge(decisions),
        Layer.provideMerge(NatsConnection.layer({ url: Redacted.make(servers.natsUrl) })),
        Layer.provideMerge(layerStores(options))
      )
    )
    return yield* Effect.gen(function* () {
      yield* (yield* Engine).ready
      yield* (yield* Directory).refresh
      const sql = yield* SqlClient.SqlClient
      const plans = yield* OrganizationPlans
      // Where the folder's first start was stopped before it had made one.
      yield* ensureDemo(Redacted.make(demoKey), () => Effect.void)
      const [demo] = yield* sql<{ readonly id: string }>`select id from organizations where name = 'demo'`
      yield* plans.setLimits(demo!.id, { requestsPerMinute: maximumLimit })
      const listener = yield* Layer.build(
        layerPublic({ host: "127.0.0.1", port: 0, maxBodyBytes, accessLog: false })
      ).pipe(counted ? identity : Effect.provideService(CallCounts, { count: () => {} }))
      return { told: HttpServer.formatAddress(Context.get(listener, HttpServer.HttpServer).address) }
    }).pipe(Effect.provideContext(platform))
  })
)
