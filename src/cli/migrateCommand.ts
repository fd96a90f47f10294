/**
 * Implements `sluice migrate [plan]`: migrates the database that `DATABASE_URL` names as the owner of its tables, so that
 * the platform may run as a role that may not change them; `plan` only says what is missing (docs/upgrade.md).
 */
import { Console, Data, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { SqlClient } from "effect/sql"
import { indexBuilds, migrations } from "../app/migrations.ts"
import { knownFormats } from "../common/formatLevels.ts"
import type { Config } from "../config/settings.ts"
import { checkServer } from "../postgres/databaseServer.ts"
import { buildIndexes, missingIndexes } from "../postgres/indexBuilds.ts"
import { appliedMigrations, migrate as runMigrations } from "../postgres/migrate.ts"
import * as PgClient from "../postgres/PgClient.ts"
import { grantRuntime } from "../postgres/runtimeRole.ts"
import { configuration, json } from "./flags.ts"
import { explained, printJson, printTable } from "./output.ts"

/** The command is for a database of one's own. */
export class DatabaseNotNamed extends Data.TaggedError("DatabaseNotNamed") {
  override get message(): string {
    return "Name the database with DATABASE_URL. The embedded one is migrated by each start"
  }
}

/** Runs an effect on the configured database, through two connections. */
const onDatabase = <A, E>({ databaseUrl: url }: Config, effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  url === undefined
    ? Effect.fail(new DatabaseNotNamed())
    : Effect.andThen(
        checkServer({ url }),
        Effect.provide(
          effect,
          Layer.fresh(PgClient.layer({ url, maxConnections: 2, applicationName: "sluice migrate" }))
        )
      )

const levelInForce = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [there] = yield* sql<{
    readonly isThere: boolean
  }>`select to_regclass('deployment_formats') is not null as "isThere"`
  if (!there!.isThere) return null
  const [row] = yield* sql<{ readonly level: number }>`select max(level)::int4 as level from deployment_formats`
  return row?.level ?? null
})

const plan = Command.make("plan", { json }, ({ json }) =>
  Effect.flatMap(configuration({}), (config) =>
    explained(
      Effect.gen(function* () {
        const applied = new Set((yield* onDatabase(config, appliedMigrations())).map(({ number }) => number))
        const level = yield* onDatabase(config, levelInForce)
        const indexes = yield* onDatabase(config, missingIndexes(indexBuilds))
        const steps = migrations.map(({ name, number }) => ({ number, name, isMissing: !applied.has(number) }))
        const missing = steps.filter(({ isMissing }) => isMissing)
        const formats = { inForce: level, known: knownFormats.newest }
        if (json)
          return yield* printJson({ missing: missing.map(({ name, number }) => ({ number, name })), indexes, formats })
        yield* printTable(
          ["MIGRATION", "NAME"],
          missing.map(({ name, number }) => [`${number}`, name]),
          `No migration is missing: the database is at ${steps.at(-1)!.number}.`
        )
        if (indexes.length > 0)
          yield* Console.log(
            `\nIndexes that are not there: ${indexes.join(", ")}. A migration makes those of small tables; the platform builds the others while it runs, and so does \`sluice migrate\`.`
          )
        yield* Console.log(
          `\nFormats of level ${level ?? "-"} are in force, and this version knows level ${knownFormats.newest}.${
            level !== null && level < knownFormats.newest
              ? " They rise when every node knows the higher one; then no older version can start."
              : ""
          }`
        )
      })
    )
  )
).pipe(Command.withDescription("Say what a migration would do, and change nothing"))

const runtimeRole = Flag.String("runtime-role").pipe(
  Flag.withDescription("Role that the platform runs as, which gets what it needs and may change no table"),
  Flag.optional
)

export const migrateCommand = Command.make("migrate", { runtimeRole, json }, ({ json, runtimeRole }) =>
  Effect.flatMap(configuration({}), (config) =>
    explained(
      Effect.gen(function* () {
        const done = yield* onDatabase(
          config,
          Effect.gen(function* () {
            const steps = yield* runMigrations(migrations)
            const result = yield* buildIndexes(indexBuilds, Console.error)
            if (result === "elsewhere") yield* Console.error("A running platform builds the indexes that are missing.")
            if (Option.isSome(runtimeRole)) yield* grantRuntime(runtimeRole.value)
            return steps
          })
        )
        if (json) return yield* printJson({ done, runtimeRole: Option.getOrNull(runtimeRole) })
        yield* printTable(
          ["MIGRATION", "NAME"],
          done.map(({ name, number }) => [`${number}`, name]),
          `No migration was missing: the database is at ${migrations.at(-1)!.number}.`
        )
        if (Option.isSome(runtimeRole)) yield* Console.log(`\n${runtimeRole.value} may run the platform.`)
      })
    )
  )
).pipe(
  Command.withDescription("Migrate the database as the owner of its tables, before a start as another role"),
  Command.withSubcommands([plan])
)
