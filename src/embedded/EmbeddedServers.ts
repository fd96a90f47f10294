/**
 * The servers that the platform starts for itself: PostgreSQL, nats-server, or both at the same time, for one data
 * folder. They live as long as the scope and stop together. Needs no service; the caller holds the data folder
 * (`DataFolder.hold`), as nothing else keeps two platforms off the same data.
 */
import { Context, Effect, Layer, Scope, SubscriptionRef } from "effect"
import type { DataFolder } from "./dataFolder.ts"
import { type EmbeddedNats, startNats } from "./EmbeddedNats.ts"
import { type EmbeddedPostgres, startPostgres } from "./EmbeddedPostgres.ts"
import type { EmbeddedError, ServerName } from "./errors.ts"
import type { NatsPackage } from "./natsPackage.ts"
import type { ServerState } from "./supervisor.ts"

export interface EmbeddedServersOptions {
  readonly folder: DataFolder
  /** Which are wanted: what DATABASE_URL or NATS_URL names is not started. */
  readonly postgres: boolean
  readonly nats: boolean
  /** `SLUICE_POSTGRES_BIN`. */
  readonly postgresBinaries?: string | undefined
  /** `SLUICE_NATS_SERVER`. */
  readonly natsServer?: string | undefined
  /** Told what is being done now, one line at a time; default: the log. */
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
    /** Undefined where it was not wanted. */
    readonly postgres: EmbeddedPostgres | undefined
    readonly nats: EmbeddedNats | undefined
    /** The state of each server that was started, for /readyz. */
    readonly states: Effect.Effect<ReadonlyArray<{ readonly server: ServerName; readonly state: ServerState }>>
  }
>()("sluice/embedded/EmbeddedServers") {
  static readonly layer = (options: EmbeddedServersOptions): Layer.Layer<EmbeddedServers, EmbeddedError> =>
    Layer.effect(EmbeddedServers, startServers(options))
}

/** Starts what is wanted, both at once, and returns when each takes connections. */
export const startServers = Effect.fnUntraced(function* (
  options: EmbeddedServersOptions
): Effect.fn.Return<EmbeddedServers["Service"], EmbeddedError, Scope.Scope> {
  const { folder, environment = process.env, testing = {} } = options
  const progress = options.progress ?? ((line: string) => Effect.logInfo(line))
  const ends = testing.endWithParent === undefined ? {} : { endWithParent: testing.endWithParent }
  // Both stop at once: each may need some seconds, and together they have less than ten.
  const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
  const within = <A>(start: Effect.Effect<A, EmbeddedError, Scope.Scope>) =>
    Effect.flatMap(Scope.fork(scope), (own) => Scope.provide(start, own))
  const [postgres, nats] = yield* Effect.all(
    [
      options.postgres
        ? within(
            startPostgres({
              folder,
              progress,
              binaries: options.postgresBinaries,
              ...ends,
              ...("postgresPackageFolder" in testing ? { packageFolder: testing.postgresPackageFolder } : {}),
              ...(testing.pickPostgresPort === undefined ? {} : { pickPort: testing.pickPostgresPort })
            })
          )
        : Effect.succeed(undefined),
      options.nats
        ? within(
            startNats({
              folder,
              progress,
              environment,
              binary: options.natsServer,
              ...ends,
              ...("natsPackageFolder" in testing ? { packageFolder: testing.natsPackageFolder } : {}),
              ...("natsPackage" in testing ? { package: testing.natsPackage } : {}),
              ...(testing.pickNatsPort === undefined ? {} : { pickPort: testing.pickNatsPort })
            })
          )
        : Effect.succeed(undefined)
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
    states: Effect.forEach(started, ([server, state]) =>
      Effect.map(SubscriptionRef.get(state), (now) => ({ server, state: now }))
    )
  })
})
