/**
 * Where a PostgreSQL server is, how this process talks to it and how long it waits. Every connection, pooled or a session of its own, is made
 * from one `PgConfig`; the URL stays redacted until a connection is opened, and no error quotes it. Needs no service.
 */
import type { PgPool } from "@effect/sql-pg"
import { Data, Duration, Effect, Redacted } from "effect"
import { registry } from "./types.ts"

/** The default size of the pool. */
export const defaultMaxConnections = 10

/** Most statements that share a connection. Each waits for those before it. */
export const sharedStatements = 16

/** How long a caller waits for a free or new connection by default. */
export const defaultConnectTimeoutMillis = 5_000

/** An idle pooled connection is closed after this time. */
export const defaultIdleTimeoutMillis = 30_000

/** After this time the server ends a statement, by default. */
export const defaultStatementTimeoutMillis = 30_000

/** How long after the statement timeout a silent server counts as hanging. Then the statement fails and its connection is closed. */
export const answerMarginMillis = 5_000

/** A silent TCP connection is probed after this time, so that firewalls keep it and a vanished server is noticed. */
const tcpKeepAliveDelayMillis = 10_000

/** Statements that a connection keeps prepared; the one used least recently goes first. */
export const preparedStatements = 500

/** The largest row with all its columns; PostgreSQL's own limit is a gigabyte. */
const maximumMessageBytes = 256 * 1024 * 1024

const defaultPort = 5432

export interface PgConfig {
  /** `postgres://user:password@host:port/database`, with `sslmode`, `options`, `connect_timeout` and the like as a query. */
  readonly url: Redacted.Redacted<string>
  /** Size of the pool, default {@link defaultMaxConnections}. */
  readonly maxConnections?: number | undefined
  /** How many of them short statements share (`PgClient.pipelined`), default none. */
  readonly sharedConnections?: number | undefined
  /** Wait for a connection, default {@link defaultConnectTimeoutMillis}. */
  readonly connectTimeoutMillis?: number | undefined
  /** Idle life of a pooled connection, default {@link defaultIdleTimeoutMillis}. */
  readonly idleTimeoutMillis?: number | undefined
  /** Shown in `pg_stat_activity`, default `sluice`. */
  readonly applicationName?: string | undefined
  /** The server ends statements that run longer, default {@link defaultStatementTimeoutMillis}. */
  readonly statementTimeoutMillis?: number | undefined
}

/** The URL cannot be parsed. The error does not quote it, because it may hold a password. */
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

/** The configuration in the client's form, with its target. It is made once, so that a bad URL is found at once. */
export interface ResolvedConfig {
  readonly target: PgTarget
  readonly pool: PgPool.Config
  /** Undefined when no connections are shared. */
  readonly sharedPool: PgPool.Config | undefined
  readonly applicationName: string
  readonly connectTimeoutMillis: number
  /** How long a caller waits for an answer. */
  readonly answerTimeoutMillis: number
}

/** Reads the configuration. What the URL leaves out comes from the `PG*` environment, as in libpq. */
export const resolve = (config: PgConfig): Effect.Effect<ResolvedConfig, PostgresUrlInvalid> =>
  Effect.try({
    try: () => {
      const { password, target } = read(Redacted.value(config.url))
      const connectTimeoutMillis = config.connectTimeoutMillis ?? defaultConnectTimeoutMillis
      const statementTimeoutMillis = config.statementTimeoutMillis ?? defaultStatementTimeoutMillis
      const applicationName = config.applicationName ?? "sluice"
      const maxConnections = config.maxConnections ?? defaultMaxConnections
      const sharedConnections = config.sharedConnections ?? 0
      const pool: PgPool.Config = {
        url: config.url,
        host: target.host,
        port: target.port,
        username: target.user,
        database: target.database,
        password,
        applicationName,
        // Times without a zone, which effect/cluster stores, must mean the same in every session.
        startupParameters: { statement_timeout: `${statementTimeoutMillis}`, TimeZone: "UTC" },
        connectTimeout: Duration.millis(connectTimeoutMillis),
        keepAlive: Duration.millis(tcpKeepAliveDelayMillis),
        types: registry,
        preparedStatementCacheSize: preparedStatements,
        maxMessageSize: maximumMessageBytes,
        maxConnections: maxConnections - sharedConnections,
        // These connections are not shared; this lets a transaction send several statements at once.
        multiplex: true,
        multiplexConcurrency: 1,
        idleTimeout: Duration.millis(config.idleTimeoutMillis ?? defaultIdleTimeoutMillis)
      }
      const answerTimeoutMillis = statementTimeoutMillis + answerMarginMillis
      const sharedPool =
        sharedConnections === 0
          ? undefined
          : {
              ...pool,
              maxConnections: sharedConnections,
              multiplexConcurrency: sharedStatements
            }
      return { target, pool, sharedPool, applicationName, connectTimeoutMillis, answerTimeoutMillis }
    },
    // The parsers' own errors would quote the URL.
    catch: () => new PostgresUrlInvalid()
  })

/** Parses the URL into the parts that messages name, and the password. Throws when it is no PostgreSQL URL. */
const read = (text: string) => {
  const url = new URL(text)
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") throw new PostgresUrlInvalid()
  const { env } = process
  const given = (parameter: string, part: string, variable: string): string | undefined => {
    const value = url.searchParams.get(parameter) ?? decodeURIComponent(part)
    return value === "" ? env[variable] : value
  }
  const user = given("user", url.username, "PGUSER") ?? env.USER ?? env.USERNAME ?? "postgres"
  const password = given("password", url.password, "PGPASSWORD")
  const target: PgTarget = {
    host: given("host", url.hostname.replace(/^\[(.*)\]$/, "$1"), "PGHOST") ?? "localhost",
    port: Number(given("port", url.port, "PGPORT") ?? defaultPort),
    user,
    database: given("dbname", url.pathname.slice(1), "PGDATABASE") ?? user
  }
  return { target, password: password === undefined ? undefined : Redacted.make(password) }
}
