/**
 * The engine on real stores, for embedders (`sluice/durable`): its log is on NATS JetStream, its checkpoints, cursors
 * and placement are in PostgreSQL, whose tables it makes. One process runs all partitions; a second one on the same
 * database is refused. The layer also gives `SqlClient`, for reactors.
 */
import { Data, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { ReactorTransaction } from "./engine/Cursors.ts"
import { defaultConfig } from "./engine/config.ts"
import * as Engine from "./engine/Engine.ts"
import { NatsConnection } from "./nats/connection.ts"
import * as JournalJetStream from "./nats/JournalJetStream.ts"
import * as SignalsJetStream from "./nats/SignalsJetStream.ts"
import * as CheckpointsPostgres from "./postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "./postgres/CursorsPostgres.ts"
import { type Migration, migrate } from "./postgres/migrate.ts"
import { engineMigrations } from "./postgres/migrations.ts"
import * as PgClient from "./postgres/PgClient.ts"
import * as PlacementPostgres from "./postgres/PlacementPostgres.ts"

export interface DurableOptions {
  /** `nats://…`; a server with JetStream and `sync_interval: always`. */
  readonly natsUrl: string | Redacted.Redacted<string>
  /** `postgres://…`; PostgreSQL 16 or newer. */
  readonly databaseUrl: string | Redacted.Redacted<string>
  /** Copies of each log: 1 on one machine (the default), 3 in a cluster. */
  readonly replicas?: 1 | 3 | 5
  /** Put before the names of streams and subjects, for several deployments on one NATS account. */
  readonly namespace?: string
  /**
   * Tables of the program's own, such as those that its reactors write. They are made before the engine starts: a
   * reactor that finds no table parks what it was to write. A number is never reused, a released step never changed.
   */
  readonly migrations?: ReadonlyArray<Migration>
  /** Of a program with `signals`: most bytes of external signals that wait for their partitions; default: 1 GiB. Then publishers are refused. */
  readonly maximumSignalBytes?: number
}

export type { Migration }

/** The engine's own table of migrations, beside that of any other program. */
const migrationsTable = "sluice_engine_migrations"

/** The table of the migrations that the program brings. */
const programMigrationsTable = "sluice_program_migrations"

/** The database belongs to another program's engine, such as the platform. Nothing was written to it. */
export class DatabaseTaken extends Data.TaggedError("DatabaseTaken")<{ readonly message: string }> {}

/** Refuses engine tables that another program has made: two programs on them would take each other's partitions. */
const requireOwnTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly name: string; readonly isTaken: boolean }>`
    select current_database() as name,
      to_regclass('engine_deployment') is not null and to_regclass(${migrationsTable}) is null as "isTaken"`
  if (found?.isTaken === true) {
    return yield* new DatabaseTaken({
      message: `the database ${found.name} holds the engine of another program, such as the platform: give this one a database of its own`
    })
  }
})

const redacted = (text: string | Redacted.Redacted<string>) => (typeof text === "string" ? Redacted.make(text) : text)

const layerSignals = ({ config }: Pick<Engine.EngineOptions, "config">, options: DurableOptions) =>
  SignalsJetStream.layer({
    partitions: config?.partitions ?? defaultConfig.partitions,
    replicas: options.replicas,
    maximumBytes: options.maximumSignalBytes,
    namespace: options.namespace
  })

/** The engine over JetStream and PostgreSQL; its partitions start at once, `Engine.ready` says when they serve. */
export const layer = <R = never>(engine: Engine.EngineOptions<R>, options: DurableOptions) =>
  Engine.layer(engine).pipe(
    Layer.provide(engine.signals === undefined ? Layer.empty : layerSignals(engine, options)),
    Layer.provide(
      Layer.mergeAll(
        JournalJetStream.layer({ replicas: options.replicas, namespace: options.namespace }),
        CheckpointsPostgres.layer,
        CursorsPostgres.layer,
        PlacementPostgres.layer()
      )
    ),
    Layer.provide(
      Layer.effectDiscard(
        Effect.all([
          requireOwnTables,
          migrate(engineMigrations, { table: migrationsTable }),
          migrate(options.migrations ?? [], { table: programMigrationsTable })
        ])
      )
    ),
    Layer.provide(NatsConnection.layer({ url: redacted(options.natsUrl) })),
    Layer.provideMerge(PgClient.layer({ url: redacted(options.databaseUrl) }))
  ) as Layer.Layer<
    Engine.Engine | PgClient.PgClient | SqlClient.SqlClient,
    DurableError,
    Exclude<R, ReactorTransaction | PgClient.PgClient | SqlClient.SqlClient>
  >

/** Why the engine could not start; each has one sentence as its message. */
export type DurableError = { readonly _tag: string; readonly message: string }
