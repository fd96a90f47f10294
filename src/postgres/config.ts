/**
 * Where a PostgreSQL server is and how this process talks to it. Every connection of the adapter, pooled or dedicated,
 * is made from one `PgConfig`; the URL stays redacted until the driver needs it, and no error quotes it.
 */
import { Data, Effect, Redacted } from "effect"
import { Client, type ClientConfig } from "pg"
import { typeParsers } from "./types.ts"

/** Connections that a pool holds when the configuration names no figure. */
export const defaultMaxConnections = 10

/** How long a caller waits for a connection, free or new, when the configuration names no figure. */
export const defaultConnectTimeoutMillis = 5_000

/** An idle pooled connection is closed after this time. */
export const defaultIdleTimeoutMillis = 30_000

/** A silent TCP connection is probed after this time, so that firewalls keep it and a vanished server is noticed. */
const tcpKeepAliveDelayMillis = 10_000

export interface PgConfig {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq (`sslmode`, …) as a query. */
  readonly url: Redacted.Redacted<string>
  /** Size of the pool, default {@link defaultMaxConnections}. */
  readonly maxConnections?: number | undefined
  /** Wait for a connection, default {@link defaultConnectTimeoutMillis}. */
  readonly connectTimeoutMillis?: number | undefined
  /** Idle life of a pooled connection, default {@link defaultIdleTimeoutMillis}. */
  readonly idleTimeoutMillis?: number | undefined
  /** Shown in `pg_stat_activity`, default `sluice`. */
  readonly applicationName?: string | undefined
  /** The server ends statements that run longer; no limit when left out. */
  readonly statementTimeoutMillis?: number | undefined
}

/** The URL cannot be read. Says nothing of its contents, which may hold a password. */
export class PostgresUrlInvalid extends Data.TaggedError("PostgresUrlInvalid") {
  override get message(): string {
    return "The PostgreSQL URL is not valid: it must look like postgres://user:password@host:port/database"
  }
}

/** What the URL names, without the password. */
export interface PgTarget {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

/** The driver's form of the configuration, and what it leads to; made once, so that a bad URL is found at once. */
export interface ResolvedConfig {
  readonly target: PgTarget
  readonly client: ClientConfig
  readonly connectTimeoutMillis: number
}

/** Reads the configuration. The driver fills what the URL leaves out from the `PG*` environment, as libpq does. */
export const resolve = (config: PgConfig): Effect.Effect<ResolvedConfig, PostgresUrlInvalid> =>
  Effect.try({
    try: () => {
      const connectionString = Redacted.value(config.url)
      if (!/^(postgres|postgresql|socket):\/\//.test(connectionString)) throw new PostgresUrlInvalid()
      const connectTimeoutMillis = config.connectTimeoutMillis ?? defaultConnectTimeoutMillis
      const client: ClientConfig = {
        connectionString,
        application_name: config.applicationName ?? "sluice",
        connectionTimeoutMillis: connectTimeoutMillis,
        statement_timeout: config.statementTimeoutMillis ?? false,
        keepAlive: true,
        keepAliveInitialDelayMillis: tcpKeepAliveDelayMillis,
        types: typeParsers
      }
      // The driver's own reading of the URL, so that messages name what it really connects to. Opens no socket.
      const { host, port, user, database } = new Client(client)
      const target = { host, port, user: user ?? "", database: database ?? "" }
      return { target, client, connectTimeoutMillis }
    },
    catch: () => new PostgresUrlInvalid()
  })
