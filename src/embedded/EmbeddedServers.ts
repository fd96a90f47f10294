/**
 * Starts the platform's own servers for one data folder: PostgreSQL, nats-server, or both concurrently. They live as
 * long as the scope and stop together. Needs no service; the caller holds the data folder (`DataFolder.hold`), as
 * nothing else keeps two platforms off the same data.
 */
import { Context, Effect, Layer, type Redacted, Scope, SubscriptionRef } from "effect"
import type { DataFolder } from "./dataFolder.ts"
import { type EmbeddedNats, startNats } from "./EmbeddedNats.ts"
import { type EmbeddedPostgres, startPostgres } from "./EmbeddedPostgres.ts"
import type { EmbeddedError, ServerName } from "./errors.ts"
import type { NatsPackage } from "./natsPackage.ts"
import { requireRoom } from "./room.ts"
import type { ServerState } from "./supervisor.ts"

export interface EmbeddedOptions {
  /** Undefined when DATABASE_URL names a server, and none is started. `bin` is `SLUICE_POSTGRES_BIN`. */
  readonly postgres: { readonly bin?: string | undefined } | undefined
  /** Undefined when NATS_URL names a server, and none is started. `program` is `SLUICE_NATS_SERVER`. */
  readonly nats: { readonly program?: string | undefined } | undefined
  /** Called with progress, one line at a time; default: the log. */
  readonly progress?: (line: string) => Effect.Effect<void>
  /** PATH, HOME, XDG_CACHE_HOME and npm's own variables; default: those of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** For tests only. */
  readonly testing?: {
    readonly endWithParent?: boolean
    readonly postgresPackageFolder?: string | undefined
    readonly natsPackageFolder?: string | undefined
    readonly natsPackage?: NatsPackage | undefined
    readonly pickPostgresPort?: Effect.Effect<number, string>
    readonly pickNatsPort?: Effect.Effect<number, string>
  }
}

export class EmbeddedServers extends Context.Service<
  EmbeddedServers,
  {
    /** Undefined when the server was not wanted, like the next three. */
    readonly postgresUrl: Redacted.Redacted<string> | undefined
    readonly natsUrl: Redacted.Redacted<string> | undefined
    readonly postgres: EmbeddedPostgres | undefined
    readonly nats: EmbeddedNats | undefined
    /** The state of each server that was started, for /readyz. */
    readonly states: Effect.Effect<ReadonlyArray<{ readonly server: ServerName; readonly state: ServerState }>>
  }
>()("sluice/embedded/EmbeddedServers") {
  static readonly layer = (folder: DataFolder, options: EmbeddedOptions): Layer.Layer<EmbeddedServers, EmbeddedError> =>
    Layer.effect(EmbeddedServers, startEmbedded(folder, options))
}

/** Starts the wanted servers in parallel, and completes when each takes connections. */
export const startEmbedded = Effect.fnUntraced(function* (
  folder: DataFolder,
  options: EmbeddedOptions
): Effect.fn.Return<EmbeddedServers["Service"], EmbeddedError, Scope.Scope> {
  const { environment = process.env, testing = {} } = options
  yield* requireRoom(folder.path, { postgres: options.postgres !== undefined, nats: options.nats !== undefined })
  const progress = options.progress ?? ((line: string) => Effect.logInfo(line))
  const common = {
    folder,
    progress,
    ...(testing.endWithParent === undefined ? {} : { endWithParent: testing.endWithParent })
  }
  // Both stop in parallel: each may need some seconds, and together they have less than ten.
  const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
  const within = <A>(start: Effect.Effect<A, EmbeddedError, Scope.Scope>) =>
    Effect.flatMap(Scope.fork(scope), (own) => Scope.provide(start, own))
  const nothing = Effect.succeed(undefined)
  const [postgres, nats] = yield* Effect.all(
    [
      options.postgres === undefined
        ? nothing
        : within(
            startPostgres({
              ...common,
              binaries: options.postgres.bin,
              ...("postgresPackageFolder" in testing ? { packageFolder: testing.postgresPackageFolder } : {}),
              ...(testing.pickPostgresPort === undefined ? {} : { pickPort: testing.pickPostgresPort })
            })
          ),
      options.nats === undefined
        ? nothing
        : within(
            startNats({
              ...common,
              environment,
              binary: options.nats.program,
              ...("natsPackageFolder" in testing ? { packageFolder: testing.natsPackageFolder } : {}),
              ...("natsPackage" in testing ? { package: testing.natsPackage } : {}),
              ...(testing.pickNatsPort === undefined ? {} : { pickPort: testing.pickNatsPort })
            })
          )
    ],
    { concurrency: 2 }
  )
  const started: ReadonlyArray<readonly [ServerName, SubscriptionRef.SubscriptionRef<ServerState>]> = [
    ...(postgres === undefined ? [] : [["PostgreSQL", postgres.state] as const]),
    ...(nats === undefined ? [] : [["NATS", nats.state] as const])
  ]
  return EmbeddedServers.of({
    postgres,
    nats,
    postgresUrl: postgres?.url,
    natsUrl: nats?.url,
    states: Effect.forEach(started, ([server, state]) =>
      Effect.map(SubscriptionRef.get(state), (now) => ({ server, state: now }))
    )
  })
})
