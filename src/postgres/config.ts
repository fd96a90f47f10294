/**
 * Describes a PostgreSQL server: its address, the session's settings and the timeouts. Every connection, pooled or a
 * session of its own, is made from one `PgConfig`; the URL stays redacted until a connection is opened, and no error
 * quotes it. Needs no service.
 */
import { PgConnection, type PgPool } from "@effect/sql-pg"
import { Data, Duration, Effect, Redacted } from "effect"
import { type PgAddress, type PgHost, type PgTarget, readAddress, type SessionAttributes } from "./address.ts"
import { defaultPasswordFile, passwordFrom, unreadable } from "./passwordFile.ts"
import { TlsFileUnreadable, takesTls, tlsOptions } from "./tls.ts"
import { typeRegistry } from "./types.ts"

export type { PgTarget }

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

/**
 * How long after the statement timeout a silent server counts as hanging. Then the statement fails and its connection
 * is closed.
 */
export const answerMarginMillis = 5_000

/** A silent TCP connection is probed after this time, so that firewalls keep it and a vanished server is noticed. */
const tcpKeepAliveDelayMillis = 10_000

/** Statements that a connection keeps prepared; the one used least recently goes first. */
export const preparedStatements = 500

/** The largest row with all its columns; PostgreSQL's own limit is a gigabyte. */
const maximumMessageBytes = 256 * 1024 * 1024

export interface PgConfig {
  /**
   * `postgres://user:password@host:port/database` as libpq reads it: several hosts, a socket's folder, `sslmode` and
   * the like as a query.
   */
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

/**
 * The URL cannot be read. The error does not quote it, because it may hold a password; `detail` says what is wrong with
 * it.
 */
export class PostgresUrlInvalid extends Data.TaggedError("PostgresUrlInvalid")<{ readonly detail: string }> {
  override get message(): string {
    return `The PostgreSQL URL is not valid: it must look like postgres://user:password@host:port/database (${this.detail})`
  }
}

/** The configuration in the client's form, with its target. It is made once, so that a bad URL is found immediately. */
export interface ResolvedConfig {
  readonly target: PgTarget
  /** How many servers the address names besides. */
  readonly others: number
  /** The kind of server that the address asks for. */
  readonly wanted: SessionAttributes
  readonly pool: PgPool.Config
  /** Undefined when no connections are shared. */
  readonly sharedPool: PgPool.Config | undefined
  readonly applicationName: string
  readonly connectTimeoutMillis: number
  /** After so long the server ends a statement. */
  readonly statementTimeoutMillis: number
  /** How long a caller waits for an answer. */
  readonly answerTimeoutMillis: number
}

/**
 * Reads the configuration, and finds the server of several. What the URL leaves out comes from the `PG*` environment,
 * as in libpq.
 */
export const resolve = Effect.fnUntraced(function* (
  config: PgConfig
): Effect.fn.Return<ResolvedConfig, PostgresUrlInvalid> {
  const address = yield* addressOf(config)
  const { hosts } = address
  if (hosts.length === 1 && address.sessionAttributes === "any") return yield* resolveHost(config, address, hosts[0])
  return yield* firstFitting(
    yield* Effect.forEach(hosts, (host) => resolveHost(config, address, host)),
    address.sessionAttributes
  )
})

const addressOf = ({ url }: PgConfig): Effect.Effect<PgAddress, PostgresUrlInvalid> =>
  Effect.mapError(
    Effect.fromResult(readAddress(Redacted.value(url), process.env)),
    (detail) => new PostgresUrlInvalid({ detail })
  )

/** The client's form of TLS with one host. */
const sslOf = Effect.fnUntraced(function* (address: PgAddress, host: PgHost, timeoutMillis: number) {
  // A socket of this machine is not encrypted.
  if (address.sslMode === "disable" || host.host.startsWith("/")) return false
  if ((address.sslMode === "allow" || address.sslMode === "prefer") && !(yield* takesTls(host, timeoutMillis)))
    return false
  return yield* Effect.try({
    try: () => tlsOptions(address),
    catch: (cause) =>
      new PostgresUrlInvalid({ detail: cause instanceof TlsFileUnreadable ? cause.message : "its certificates" })
  })
})

/** The password in the address, or one that each connection reads from a file. */
const passwordOf = ({ passFile, password }: PgAddress, target: PgTarget) => {
  if (password !== undefined) return Effect.succeed(Redacted.make(password))
  const problem = passFile === undefined ? undefined : unreadable(passFile)
  if (problem !== undefined)
    return Effect.fail(new PostgresUrlInvalid({ detail: `its password file ${passFile} cannot be read: ${problem}` }))
  if (passFile !== undefined) return Effect.succeed(passwordFrom(passFile, target))
  const path = defaultPasswordFile(target)
  return Effect.succeed(path === undefined ? undefined : passwordFrom(path, target))
}

const resolveHost = Effect.fnUntraced(function* (
  config: PgConfig,
  address: PgAddress,
  { host, port }: PgHost
): Effect.fn.Return<ResolvedConfig, PostgresUrlInvalid> {
  const connectTimeoutMillis = config.connectTimeoutMillis ?? defaultConnectTimeoutMillis
  const statementTimeoutMillis = config.statementTimeoutMillis ?? defaultStatementTimeoutMillis
  const applicationName = config.applicationName ?? "sluice"
  const maxConnections = config.maxConnections ?? defaultMaxConnections
  const sharedConnections = config.sharedConnections ?? 0
  const target: PgTarget = { host, port, user: address.user, database: address.database }
  const pool: PgPool.Config = {
    host,
    port,
    username: address.user,
    database: address.database,
    password: yield* passwordOf(address, target),
    ssl: yield* sslOf(address, { host, port }, connectTimeoutMillis),
    ...(address.options === undefined ? {} : { startupOptions: address.options }),
    applicationName,
    // Times without a zone, which effect/cluster stores, must mean the same in every session. Other parameters are
    // refused by PgBouncer.
    startupParameters: { TimeZone: "UTC" },
    connectTimeout: Duration.millis(connectTimeoutMillis),
    keepAlive: Duration.millis(tcpKeepAliveDelayMillis),
    types: typeRegistry,
    preparedStatementCacheSize: preparedStatements,
    maxMessageSize: maximumMessageBytes,
    maxConnections: maxConnections - sharedConnections,
    // These connections are not shared; this lets a transaction send several statements together.
    multiplex: true,
    multiplexConcurrency: 1,
    idleTimeout: Duration.millis(config.idleTimeoutMillis ?? defaultIdleTimeoutMillis)
  }
  const answerTimeoutMillis = statementTimeoutMillis + answerMarginMillis
  const sharedPool =
    sharedConnections === 0
      ? undefined
      : { ...pool, maxConnections: sharedConnections, multiplexConcurrency: sharedStatements }
  return {
    target,
    others: address.hosts.length - 1,
    wanted: address.sessionAttributes,
    pool,
    sharedPool,
    applicationName,
    connectTimeoutMillis,
    statementTimeoutMillis,
    answerTimeoutMillis
  }
})

/** The kind of a server, for the choice among several. */
export interface ServerRole {
  readonly isStandby: boolean
  readonly isReadOnly: boolean
}

/** Whether a server is one that an address asks for. */
export const fitsAttributes = ({ isReadOnly, isStandby }: ServerRole, wanted: SessionAttributes): boolean => {
  switch (wanted) {
    case "any":
      return true
    case "read-write":
      return !isReadOnly
    case "read-only":
      return isReadOnly
    case "primary":
      return !isStandby
    case "standby":
    case "prefer-standby":
      return isStandby
  }
}

/**
 * The first server that answers and is what is asked for; the first of all where none is, whose check says what is
 * wrong.
 */
const firstFitting = Effect.fnUntraced(function* (
  servers: ReadonlyArray<ResolvedConfig>,
  wanted: SessionAttributes
): Effect.fn.Return<ResolvedConfig> {
  const roles: Array<{ readonly server: ResolvedConfig; readonly role: ServerRole }> = []
  for (const server of servers) {
    const role = yield* Effect.option(Effect.timeout(roleOf(server), server.connectTimeoutMillis * 2))
    if (role._tag === "None") continue
    if (fitsAttributes(role.value, wanted)) return server
    roles.push({ server, role: role.value })
  }
  return (wanted === "prefer-standby" ? roles[0]?.server : undefined) ?? roles[0]?.server ?? servers[0]!
})

/** Whether a server answers in time and is what is asked for; without a preference that its address may name. */
export const isFitting = (server: ResolvedConfig, wanted = server.wanted): Effect.Effect<boolean> =>
  roleOf(server).pipe(
    Effect.timeout(server.connectTimeoutMillis),
    Effect.map((role) => fitsAttributes(role, wanted === "prefer-standby" ? "any" : wanted)),
    Effect.orElseSucceed(() => false)
  )

/**
 * The first of an address's servers that answers and fits, but not `except`; undefined if none does. All are asked
 * concurrently, since one that is gone may not even refuse.
 */
export const findFitting = Effect.fnUntraced(function* (
  config: PgConfig,
  except: PgTarget
): Effect.fn.Return<ResolvedConfig | undefined, PostgresUrlInvalid> {
  const address = yield* addressOf(config)
  const others = address.hosts.filter(({ host, port }) => host !== except.host || port !== except.port)
  const fitting = (wanted: SessionAttributes) =>
    Effect.raceAll(
      others.map((host) =>
        Effect.gen(function* () {
          const server = yield* resolveHost(config, address, host)
          return (yield* isFitting(server, wanted)) ? server : yield* Effect.fail("it does not fit")
        })
      )
    )
  const wanted = address.sessionAttributes
  return yield* (
    wanted === "prefer-standby" ? Effect.catch(fitting("standby"), () => fitting("any")) : fitting(wanted)
  ).pipe(Effect.orElseSucceed(() => undefined))
})

const roleOf = ({ pool }: ResolvedConfig) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make({ ...pool, multiplex: false })
      const { rows } = yield* connection.query(
        `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly"`
      )
      return rows[0] as unknown as ServerRole
    })
  )
