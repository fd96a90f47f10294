/**
 * The engine on real stores, for embedders (`sluice/durable`): its log is on NATS JetStream, its checkpoints, cursors
 * and placement are in PostgreSQL, whose tables it makes. One process runs all partitions, and a second one on the same
 * database is refused; with `placement` several share them. The layer also gives `SqlClient`, for reactors, and
 * `ProgramStreams`.
 */
import "./common/checkedPeers.ts"

import { Data, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { version } from "./common/version.ts"
import { defaultConfig } from "./engine/config.ts"
import * as Engine from "./engine/Engine.ts"
import type { ProgramStreams } from "./engine/ports/ProgramStreams.ts"
import { requireOwnLogs } from "./engine/shell/partition/ownLogs.ts"
import type { NatsFiles } from "./nats/access.ts"
import { NatsConnection } from "./nats/connection.ts"
import * as JournalJetStream from "./nats/JournalJetStream.ts"
import * as ProgramStreamsJetStream from "./nats/ProgramStreamsJetStream.ts"
import * as SignalsJetStream from "./nats/SignalsJetStream.ts"
import * as CheckpointsPostgres from "./postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "./postgres/CursorsPostgres.ts"
import { type Migration, migrate } from "./postgres/migrate.ts"
import { engineMigrations } from "./postgres/migrations.ts"
import * as PgClient from "./postgres/PgClient.ts"
import * as PlacementPostgres from "./postgres/PlacementPostgres.ts"
import { claimDatabase, DatabaseTaken, NamespaceChanged, requireOwnDatabase } from "./postgres/program.ts"
import * as WorkerJobsPostgres from "./postgres/WorkerJobsPostgres.ts"

/** Where the stores are, and what is chosen about them. See {@link Durable.layer}. */
export interface DurableOptions extends StoreOptions {
  /** `nats://…`; a server with JetStream and `sync_interval: always`. */
  readonly natsUrl: string | Redacted.Redacted<string>
  /** Files of an NKey, credentials or certificates for that server, read for each connection; default: none. */
  readonly natsFiles?: NatsFiles
  /** `postgres://…`; PostgreSQL 16 or newer. */
  readonly databaseUrl: string | Redacted.Redacted<string>
}

/**
 * Options of a program for its stores. Signals, reactors, lanes and the engine's bounds are `Engine.EngineOptions`.
 * See {@link Durable.layer}.
 */
export interface StoreOptions {
  /** Copies of each log: 1 on one machine (the default), 3 in a cluster. */
  readonly replicas?: 1 | 3 | 5
  /**
   * Bound of each log in bytes, at least 16 MiB. The NATS server sets as much aside for every partition (`config.partitions`, 8 by default), and a
   * start says what does not fit. Default: 4 GiB for each, less where the server shows that it has no room for so many; a log keeps the
   * bound that it was made with. Raising it takes effect at the next start.
   */
  readonly maximumLogBytes?: number
  /**
   * Put before the names of streams and subjects (`shop-log-0`, `shop.log.0`, `shop.signal.…`): 1 to 64 letters, digits, `_` and `-`. Without it they
   * have none (`log-0`), which is right for the only deployment on a NATS account. A second one, such as the platform beside your program, needs
   * a name of its own: a start that finds streams of another deployment is refused before anything is written. Choose it before the first
   * start: a log is not found under another name, and a start that looks for it there is refused (docs/durable.md, "Several programs").
   */
  readonly namespace?: string
  /**
   * Tables of the program's own, such as those that its reactors write. They are made before the engine starts; a reactor that finds no
   * table waits for it. A number is never reused, a released step never changed.
   */
  readonly migrations?: ReadonlyArray<Migration>
  /** Of a program with `signals`: most bytes of external signals that wait for their partitions; default: 1 GiB. Then publishers are refused. */
  readonly maximumSignalBytes?: number
  /**
   * "machine", the default: this process runs all partitions. `{ node }` shares them with the other processes on the same stores that say so
   * (docs/cluster.md); the name is one that no other process has.
   */
  readonly placement?: "machine" | { readonly node: string }
}

export type { PgTarget } from "./postgres/config.ts"
export type { PgClient } from "./postgres/PgClient.ts"
export type { PgSession } from "./postgres/PgSession.ts"
export type { Migration, NatsFiles }
export { DatabaseTaken, NamespaceChanged }

/** The engine's own table of migrations, beside that of any other program. */
const migrationsTable = "sluice_engine_migrations"

/** The table of the migrations that the program brings. */
const programMigrationsTable = "sluice_program_migrations"

/** An option cannot be used; the message says which and why. Nothing was started. See {@link Durable.layer}. */
export class DurableOptionInvalid extends Data.TaggedError("DurableOptionInvalid")<{ readonly message: string }> {}

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

/** Names with a dot, a blank or a wildcard would be other subjects than meant. */
const checkOptions = ({ namespace, placement }: DurableOptions): Effect.Effect<void, DurableOptionInvalid> => {
  if (namespace !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(namespace))
    return Effect.fail(
      new DurableOptionInvalid({ message: `namespace must be 1 to 64 letters, digits, _ and -, not "${namespace}"` })
    )
  if (typeof placement === "object" && !/^[!-~]{1,64}$/.test(placement.node))
    return Effect.fail(
      new DurableOptionInvalid({
        message: `placement.node must be 1 to 64 visible characters, not "${placement.node}"`
      })
    )
  return Effect.void
}

const redacted = (text: string | Redacted.Redacted<string>) => (typeof text === "string" ? Redacted.make(text) : text)

const layerSignals = ({ config }: Pick<Engine.EngineOptions, "config">, options: DurableOptions) =>
  SignalsJetStream.layer({
    partitions: config?.partitions ?? defaultConfig.partitions,
    replicas: options.replicas,
    maximumBytes: options.maximumSignalBytes,
    namespace: options.namespace
  })

/** One process, or what nodes need to share the partitions, which is loaded only then. */
const layerPlacement = ({ databaseUrl, namespace, placement = "machine" }: DurableOptions) =>
  placement === "machine"
    ? PlacementPostgres.layer()
    : Layer.unwrap(
        Effect.promise(async () => {
          const [Cluster, RemoteNats] = await Promise.all([
            import("./postgres/cluster/PlacementCluster.ts"),
            import("./nats/RemoteNats.ts")
          ])
          const node = { name: placement.node, version, role: "all" }
          return Layer.merge(
            Cluster.layer({ databaseUrl: redacted(databaseUrl), node, takesPartitions: true }),
            RemoteNats.layer({ namespace })
          )
        })
      )

/** How a refusal names what to change. */
const words = { maximumBytes: "maximumLogBytes", partitions: "config.partitions" }

/**
 * The engine over JetStream and PostgreSQL; its partitions start immediately, and `Engine.ready` says when they serve. When the scope ends they finish
 * what they accepted.
 *
 * @example
 * ```ts no-run
 * import { Actor, Engine } from "sluice"
 * import * as Durable from "sluice/durable"
 *
 * declare const Counter: Actor.AnyActor
 *
 * const durable = Durable.layer(
 *   { actors: [Counter], config: { partitions: 4 } },
 *   {
 *     natsUrl: "nats://127.0.0.1:4222",
 *     databaseUrl: "postgres://app@127.0.0.1/app",
 *     namespace: "app",
 *     maximumLogBytes: 256 * 1024 * 1024
 *   }
 * )
 * ```
 */
export const layer = <R = never, W = never>(engine: Engine.EngineOptions<R, W>, options: DurableOptions) => {
  const { actors, lanes = [] } = engine
  const program = { kinds: [...actors, ...lanes].map(({ kind }) => kind), namespace: options.namespace }
  // Noted when the log is known to be this database's: a start that is refused leaves the choice of a namespace open.
  return Layer.effectDiscard(claimDatabase(program)).pipe(
    Layer.provideMerge(Engine.layer(engine)),
    Layer.provide(engine.signals === undefined ? Layer.empty : layerSignals(engine, options)),
    // The stream of signals is made where it is not there, so the place is looked at first.
    Layer.provide(Layer.effectDiscard(requireOwnLogs({ ...defaultConfig, ...engine.config }.partitions))),
    Layer.provide(layerPlacement(options)),
    Layer.provide(
      Layer.mergeAll(
        JournalJetStream.layer({
          replicas: options.replicas,
          maximumBytes: options.maximumLogBytes,
          namespace: options.namespace,
          words
        }),
        CheckpointsPostgres.layer,
        CursorsPostgres.layer,
        WorkerJobsPostgres.layer
      )
    ),
    Layer.provideMerge(ProgramStreamsJetStream.layer),
    Layer.provide(
      Layer.effectDiscard(
        Effect.all([
          requireOwnTables,
          requireOwnDatabase(program),
          migrate(engineMigrations, { table: migrationsTable }),
          migrate(options.migrations ?? [], { table: programMigrationsTable })
        ])
      )
    ),
    Layer.provide(NatsConnection.layer({ url: redacted(options.natsUrl), files: options.natsFiles ?? {} })),
    Layer.provideMerge(PgClient.layer({ url: redacted(options.databaseUrl) })),
    Layer.provide(Layer.effectDiscard(checkOptions(options)))
  ) as Layer.Layer<
    Engine.Engine | PgClient.PgClient | ProgramStreams | SqlClient.SqlClient,
    DurableError,
    Exclude<Engine.ProgramServices<R, W>, PgClient.PgClient | ProgramStreams | SqlClient.SqlClient>
  >
}

/** Why the engine could not start; each has one sentence as its message. See {@link DatabaseTaken}. */
export type DurableError = { readonly _tag: string; readonly message: string }
