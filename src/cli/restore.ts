/** Implements `sluice restore` (docs/backup.md): a backup into empty stores, and the words about what comes next. */
import { Console, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { type RestoredStores, type RestoreReport, restoreBackup } from "../app/backup/restoreBackup.ts"
import type { Config } from "../config/settings.ts"
import { NatsConnection } from "../nats/connection.ts"
import { DayPartitions } from "../postgres/dayPartitions.ts"
import * as PgClient from "../postgres/PgClient.ts"
import { backupPlace } from "./backup.ts"
import { existingSecretsKeys, unusedStores } from "./bothStores.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { natsOptions } from "./natsOptions.ts"
import { explained, printJson } from "./output.ts"

const sentences = ({ lacks, manifest, messages, millis, replayed, rows }: RestoreReport, stores: RestoredStores) => [
  `Restored the backup ${manifest.id} in ${(millis / 1000).toFixed(1)} s: ${rows} rows, ${messages} messages.`,
  ...(stores === "postgres" && replayed > 0
    ? [`The log is ${replayed} frames newer than PostgreSQL, which the next start replays.`]
    : []),
  ...(lacks.length === 0
    ? []
    : [
        "The two stores do not fit:",
        ...lacks.map((lack) => `  ${lack}`),
        "A start refuses them. `sluice recover` says how much is lost, and with --accept-loss continues without it."
      ]),
  `Decisions after ${manifest.positionsAt} are not in the backup; emails and webhooks that went out after it may go out again.`,
  "Start with SLUICE_HOLD_MAIL=on, look, and start again without it."
]

interface RestoreFlags {
  readonly folder: string
  readonly at: Option.Option<string>
  readonly only: Option.Option<"postgres" | "nats">
  readonly json: boolean
}

const restoreWith = Effect.fnUntraced(function* (config: Config, { at, folder, json, only }: RestoreFlags) {
  // Before any server is started: without the key there is nothing to restore.
  const keys = yield* existingSecretsKeys(config)
  const addresses = yield* unusedStores(config, "sluice restore")
  const stores = Option.getOrElse(only, (): RestoredStores => "both")
  const sql = PgClient.layer({ url: addresses.databaseUrl, maxConnections: 2 })
  const report = yield* restoreBackup({
    folder,
    keys,
    at: Option.getOrUndefined(at),
    stores,
    databaseUrl: addresses.databaseUrl,
    namespace: config.logNamespace,
    replicas: config.logReplicas === undefined ? undefined : Number(config.logReplicas),
    progress: (line) => Console.error(`  ${line}`)
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        NatsConnection.layer(natsOptions(config, addresses.natsUrl)),
        Layer.provideMerge(DayPartitions.layer, sql)
      )
    )
  )
  const { lacks, manifest, messages, millis, replayed, rows } = report
  if (json) return yield* printJson({ id: manifest.id, millis, rows, messages, replayed, lacks })
  yield* Console.log(sentences(report, stores).join("\n"))
}, Effect.scoped)

export const restore = Command.make(
  "restore",
  {
    ...settingFlags,
    ...backupPlace,
    only: Flag.Literals("only", ["postgres", "nats"]).pipe(
      Flag.withDescription("Restore one store beside the other, which was not lost; default: both"),
      Flag.optional
    ),
    json
  },
  ({ at, folder, json, only, ...flags }) =>
    Effect.flatMap(configuration(flags), (config) =>
      explained(restoreWith(config, { at, folder, json, only }), config.dataDir)
    )
).pipe(Command.withDescription("Restore a backup into empty stores"))
