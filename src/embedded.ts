/**
 * The engine on servers of its own, for development and tests (`sluice/embedded`): PostgreSQL and nats-server are started on free ports of
 * loopback, and stopped with the scope. Their programs come with the package's optional dependencies, or are found as the platform
 * finds them (`SLUICE_POSTGRES_BIN`, `SLUICE_NATS_SERVER`). For production start servers of your own, and use `sluice/durable`.
 */
import "./common/checkedPeers.ts"

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import * as Durable from "./durable.ts"
import { type DataFolder, openDataFolder } from "./embedded/dataFolder.ts"
import { startEmbedded } from "./embedded/EmbeddedServers.ts"
import { DataFolderUnusable, type EmbeddedError, reasonOf } from "./embedded/errors.ts"
import type * as Engine from "./engine/Engine.ts"
import type { ProgramStreams } from "./engine/ports/ProgramStreams.ts"
import type * as PgClient from "./postgres/PgClient.ts"

export type {
  BinaryUnavailable,
  DataFolderError,
  DataFolderFull,
  DataFolderInUse,
  DataFolderTooNew,
  DataFolderUnusable,
  ServerName,
  ServerStartFailed
} from "./embedded/errors.ts"
export type { EmbeddedError }

/** The folder of the servers' data, and the reader of their progress. See {@link layerServers}. */
export interface ServersOptions {
  /**
   * Where the servers keep their data, made when it is missing; the next start goes on with what is there. One process has it at a time. Without
   * it they use a temporary folder, which is removed with the scope.
   */
  readonly folder?: string
  /** Called with what is being done, one line at a time; by default nothing is said. */
  readonly progress?: (line: string) => Effect.Effect<void>
}

/**
 * Where the servers are, for what else a program connects to them.
 *
 * @example
 * ```ts
 * import { Effect, Redacted } from "effect"
 * import * as Embedded from "sluice/embedded"
 *
 * // for what else connects to them, such as a migration tool
 * export const url = Effect.map(Embedded.Servers, ({ databaseUrl }) => Redacted.value(databaseUrl)).pipe(
 *   Effect.provide(Embedded.layerServers())
 * )
 * ```
 */
export class Servers extends Context.Service<
  Servers,
  {
    /** With the user and the password of a database of its own. */
    readonly databaseUrl: Redacted.Redacted<string>
    readonly natsUrl: Redacted.Redacted<string>
    /** Absolute. */
    readonly folder: string
  }
>()("sluice/embedded/Servers") {}

/** Those of the servers, and of `Durable.layer` without addresses. See {@link Embedded.layer}. */
export interface EmbeddedOptions extends ServersOptions, Durable.StoreOptions {}

/** Each log's bound unless told otherwise: enough for development, and little on the disk. */
const defaultLogBytes = 64 * 1024 * 1024

/** A folder that goes with the scope. */
const temporaryFolder = Effect.acquireRelease(
  Effect.tryPromise({
    try: () => mkdtemp(join(tmpdir(), "sluice-")),
    catch: (cause) => new DataFolderUnusable({ folder: tmpdir(), reason: reasonOf(cause) })
  }),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
)

/** Starts both servers, and completes when they take connections. */
const start = Effect.fnUntraced(function* (options: ServersOptions) {
  const folder: DataFolder = yield* openDataFolder(options.folder ?? (yield* temporaryFolder))
  yield* folder.hold({ purpose: "sluice/embedded" })
  const { natsUrl, postgresUrl } = yield* startEmbedded(folder, {
    postgres: { bin: process.env.SLUICE_POSTGRES_BIN },
    nats: { program: process.env.SLUICE_NATS_SERVER },
    progress: options.progress ?? (() => Effect.void)
  })
  // Both were asked for.
  return Servers.of({ databaseUrl: postgresUrl!, natsUrl: natsUrl!, folder: folder.path })
})

/**
 * The servers alone.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import * as Embedded from "sluice/embedded"
 *
 * // servers alone, with what they do on the terminal
 * export const servers = Embedded.layerServers({ folder: ".data", progress: (line) => Effect.log(line) })
 * ```
 */
export const layerServers = (options: ServersOptions = {}): Layer.Layer<Servers, EmbeddedError> =>
  Layer.effect(Servers, start(options))

/**
 * The engine on PostgreSQL and NATS that it starts itself. Takes what `Durable.layer` takes, without addresses; each log has 64 MiB unless
 * `maximumLogBytes` says otherwise.
 *
 * @example
 * ```ts no-run
 * import { Actor } from "sluice"
 * import * as Embedded from "sluice/embedded"
 *
 * declare const Counter: Actor.AnyActor
 *
 * // a temporary folder, gone with the scope
 * const forTests = Embedded.layer({ actors: [Counter] })
 * // the next start goes on with what is there
 * const forDevelopment = Embedded.layer({ actors: [Counter] }, { folder: ".data" })
 * ```
 */
export const layer = <R = never, W = never>(
  engine: Engine.EngineOptions<R, W>,
  options: EmbeddedOptions = {}
): Layer.Layer<
  Engine.Engine | PgClient.PgClient | ProgramStreams | SqlClient.SqlClient | Servers,
  EmbeddedError | Durable.DurableError,
  Exclude<Engine.ProgramServices<R, W>, PgClient.PgClient | ProgramStreams | SqlClient.SqlClient>
> => {
  const { folder, progress, ...stores } = options
  const durable = Layer.unwrap(
    Effect.map(Servers, ({ databaseUrl, natsUrl }) =>
      Durable.layer(engine, { maximumLogBytes: defaultLogBytes, ...stores, databaseUrl, natsUrl })
    )
  )
  return Layer.provideMerge(
    durable,
    layerServers({ ...(folder === undefined ? {} : { folder }), ...(progress === undefined ? {} : { progress }) })
  )
}
