/**
 * Checks that a backup can be restored here: this version knows its formats, the stores are empty, and a store that
 * stays fits. Nothing is changed. Needs `NatsConnection` and `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { knownFormats } from "../../common/formatLevels.ts"
import * as Api from "../../nats/jetStreamApi.ts"
import { deploymentOf, streamNameOf } from "../../nats/logStream.ts"
import { streamsOf } from "../../nats/replicas.ts"
import { isHalfRestored } from "../../nats/streamRestore.ts"
import { migrations } from "../migrations.ts"
import type { BackupWitness, Manifest } from "./backupManifest.ts"
import { type LogReach, lacksOf } from "./backupRules.ts"
import { BackupRefused } from "./errors.ts"
import { checkpointsQuery, cursorsQuery, type SeenCheckpoint, type SeenCursor, seenBy } from "./seenPositions.ts"

/** Why this version cannot restore a backup, as a sentence; undefined where it can. */
export const versionProblem = (
  { formatLevel, migration, program }: Pick<Manifest, "formatLevel" | "migration" | "program">,
  known: { readonly level: number; readonly migration: number }
): string | undefined => {
  const advice = `restore it with version ${program} or a later one`
  if (formatLevel > known.level)
    return `It has formats of level ${formatLevel}, and this version knows level ${known.level}: ${advice}`
  if (migration.number > known.migration)
    return `Its database is at migration ${migration.number} (${migration.name}), and this version knows only up to ${known.migration}: ${advice}`
  return undefined
}

export const requireKnownVersion = (manifest: Manifest): Effect.Effect<void, BackupRefused> => {
  const problem = versionProblem(manifest, { level: knownFormats.newest, migration: migrations.at(-1)!.number })
  return problem === undefined ? Effect.void : Effect.fail(new BackupRefused({ message: problem }))
}

/** Tables that a migration fills. The others of a database that nobody has used are empty. */
const seeded = new Set([
  "schema_migrations",
  "platform_secrets",
  "deployment_formats",
  "directory_generation",
  "directory_notices"
])

/** Refuses a database in which something is stored. */
export const requireEmptyDatabase: Effect.Effect<void, BackupRefused | SqlError.SqlError, SqlClient.SqlClient> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [role] = yield* sql<{ readonly mayFill: boolean; readonly name: string }>`
      select current_user::text as name, has_schema_privilege(current_schema(), 'CREATE') and not exists (
        select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
          and not pg_has_role(current_user, relowner, 'USAGE')
      ) as "mayFill"`
    if (role?.mayFill !== true)
      return yield* new BackupRefused({
        message: `The role ${role?.name} may not make and fill the tables: restore as their owner, then run sluice migrate --runtime-role with the role that runs the platform. Nothing was changed`
      })
    const tables = yield* sql<{ readonly name: string; readonly home: string }>`
      select c.relname::text as name, current_database()::text as home from pg_class c
      join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
      where c.relkind in ('r', 'p') and not c.relispartition order by 1`
    for (const { home, name } of tables) {
      if (seeded.has(name)) continue
      const [row] = yield* sql<{ readonly isUsed: boolean }>`
        select exists (select from ${sql(name)}) as "isUsed"`
      if (row!.isUsed)
        return yield* new BackupRefused({
          message: `The database ${home} is not empty: its table ${name} has rows. Nothing was changed. Restore into an empty database (DATABASE_URL), or into a data folder of its own (SLUICE_DATA_DIR)`
        })
    }
  })

/** The streams of the deployment that are there. */
const streamsThere = Effect.fnUntraced(function* (api: Api.JetStreamApi, { namespace, partitions }: Manifest) {
  const found: Array<Api.StreamInfo> = []
  for (const name of streamsOf(partitions, namespace ?? undefined)) {
    const info = yield* api.streamInfo(name).pipe(
      Effect.catchIf(
        (error) => error._tag === "ApiRefused" && error.errorCode === Api.errorCodes.streamNotFound,
        () => Effect.undefined
      ),
      Effect.mapError(
        ({ message }) => new BackupRefused({ message: `The stream ${name} cannot be looked at: ${message}` })
      )
    )
    if (info !== undefined) found.push(info)
  }
  return found
})

/** Refuses a NATS that has a stream of the deployment. Answers those that an earlier restore has left half filled. */
export const requireNoStreams = Effect.fnUntraced(function* (api: Api.JetStreamApi, manifest: Manifest) {
  const found = yield* streamsThere(api, manifest)
  const whole = found.filter(({ config }) => !isHalfRestored(config)).map(({ config }) => config.name)
  if (whole.length > 0)
    return yield* new BackupRefused({
      message: `NATS is not empty: it has ${whole.join(", ")}. Nothing was changed. Restore into an empty one (NATS_URL), or into a data folder of its own (SLUICE_DATA_DIR); remove the streams (nats stream rm) only if nobody needs them`
    })
  return found.map(({ config }) => config.name)
})

/** The frames that a log offers beside the backup, as a sentence for each partition that lacks some. */
interface PairReport {
  /** Sentences about frames that neither store has. */
  readonly lacks: ReadonlyArray<string>
  /** Frames that the database will replay. */
  readonly replayed: number
}

const compare = (
  { namespace, partitions }: Manifest,
  witnesses: ReadonlyArray<BackupWitness>,
  reaches: ReadonlyMap<string, LogReach>
): PairReport => {
  const lacks: Array<string> = []
  let replayed = 0
  for (let partition = 0; partition < partitions; partition++) {
    const own = witnesses.filter((one) => one.partition === partition)
    const log = reaches.get(streamNameOf(partition, namespace ?? undefined))
    lacks.push(...lacksOf(partition, own, log))
    const seen = Math.max(0, ...own.map(({ sequence }) => sequence))
    replayed += Math.max(0, (log?.last ?? 0) - seen)
  }
  return { lacks, replayed }
}

/** Compares the backup's tables with the log as it is. Refuses the log of another deployment. */
export const besideLog = Effect.fnUntraced(function* (api: Api.JetStreamApi, manifest: Manifest) {
  const found = yield* streamsThere(api, manifest)
  for (const info of found) {
    const owner = deploymentOf(info)
    if (owner !== undefined && owner !== manifest.deployment)
      return yield* new BackupRefused({
        message: `The stream ${info.config.name} belongs to the deployment ${owner}, and the backup to ${manifest.deployment}. Nothing was changed. Look at NATS_URL and SLUICE_LOG_NAMESPACE`
      })
  }
  const reaches = new Map(
    found.map(({ config, state }) => [
      config.name,
      { first: state.messages === 0 ? state.last_seq + 1 : state.first_seq, last: state.last_seq }
    ])
  )
  return compare(manifest, manifest.witnesses, reaches)
})

/** Compares the backup's streams with the database as it is. Refuses the database of another deployment. */
export const besideDatabase = Effect.fnUntraced(function* (manifest: Manifest) {
  const sql = yield* SqlClient.SqlClient
  const [there] = yield* sql<{ readonly isThere: boolean }>`
    select to_regclass('engine_deployment') is not null as "isThere"`
  const [deployment] = there!.isThere ? yield* sql<{ readonly id: string }>`select id::text from engine_deployment` : []
  if (deployment?.id !== manifest.deployment)
    return yield* new BackupRefused({
      message: `The database belongs to ${deployment === undefined ? "no deployment" : `the deployment ${deployment.id}`}, and the backup to ${manifest.deployment}. Nothing was changed. Look at DATABASE_URL, or restore both stores`
    })
  const witnesses = seenBy(
    manifest.partitions,
    yield* sql.unsafe<SeenCheckpoint>(checkpointsQuery),
    yield* sql.unsafe<SeenCursor>(cursorsQuery)
  )
  return compare(manifest, witnesses, new Map(manifest.streams.map((stream) => [stream.name, stream])))
})
