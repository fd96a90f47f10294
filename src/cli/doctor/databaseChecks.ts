/**
 * Judges the PostgreSQL that `DATABASE_URL` names, for `sluice doctor`: the connection, what is durable there, the
 * role's rights, migrations, room for connections, clocks. Reads only; `databaseChecks` is pure.
 */
import { Clock, Effect, type Redacted } from "effect"
import { formatsProblem, knownFormats } from "../../common/formatLevels.ts"
import { version } from "../../common/version.ts"
import { lockKey } from "../../postgres/advisoryLock.ts"
import { resolve } from "../../postgres/config.ts"
import { checkServer } from "../../postgres/databaseServer.ts"
import { defaultMigrationsTable } from "../../postgres/migrate.ts"
import * as Session from "../../postgres/PgSession.ts"
import { placementLock } from "../../postgres/PlacementPostgres.ts"
import { type CheckResult, clockCheck, failed, ok, warning } from "./CheckResult.ts"

/** The state of a server and its database, as one query shows it. */
export interface DatabaseFacts {
  readonly isLocal: boolean
  readonly isEncrypted: boolean
  readonly fsync: boolean
  readonly fullPageWrites: boolean
  readonly synchronousCommit: string
  readonly encoding: string
  readonly mayCreate: boolean
  readonly mayConnect: number
  readonly connections: number
  /** Number of the last migration that has run; undefined in a database without any. */
  readonly migrated: number | undefined
  /** The level of formats in force; undefined where there is none. */
  readonly level: number | undefined
  readonly isServed: boolean
  readonly aheadMillis: number
}

/** The needs of a start with the present settings. */
export interface DatabaseNeeds {
  readonly connections: number
  /** The numbers of all migrations of this program, in order. */
  readonly migrations: ReadonlyArray<number>
  readonly isCluster: boolean
}

const durability = ({ fsync, fullPageWrites, synchronousCommit }: DatabaseFacts): CheckResult => {
  const check = "PostgreSQL durability"
  if (!fsync) return failed(check, "fsync is off, so a power failure can destroy the database: switch it on")
  if (!fullPageWrites)
    return warning(check, "full_page_writes is off, which only a file system that never tears a page allows")
  if (synchronousCommit === "off")
    return warning(
      check,
      "synchronous_commit is off: a crash loses the last moments of keys, secrets and sessions, which no log has"
    )
  return ok(check, `fsync and full_page_writes are on, synchronous_commit is ${synchronousCommit}`)
}

const migrations = (facts: DatabaseFacts, { migrations: known }: DatabaseNeeds): CheckResult => {
  const check = "migrations"
  const newest = known.at(-1) ?? 0
  const { level, mayCreate, migrated = 0 } = facts
  const problem = level === undefined ? undefined : formatsProblem(knownFormats, level, version)
  if (problem !== undefined) return failed(check, problem)
  if (migrated > newest)
    return failed(check, `the database is at ${migrated} and this version knows ${newest}: start the newer version`)
  const missing = known.filter((number) => number > migrated)
  if (missing.length === 0) return ok(check, `the database is at ${newest}, the newest`)
  const rights =
    "the role may make no tables: run `sluice migrate` as the owner, or GRANT CREATE, USAGE ON SCHEMA public"
  if (!mayCreate) return failed(check, `${missing.length} are missing, and ${rights}`)
  return migrated === 0
    ? ok(check, `the database is empty, and the start makes its ${missing.length} migrations`)
    : warning(check, `the start makes ${missing.length} (${missing.join(", ")}): take a backup before it`)
}

const connections = ({ connections: used, mayConnect }: DatabaseFacts, needs: DatabaseNeeds): CheckResult => {
  const check = "PostgreSQL connections"
  const free = mayConnect - used
  const room = `this process needs ${needs.connections}, and the server has ${free} free of ${mayConnect}`
  if (needs.connections > mayConnect)
    return failed(check, `${room}: raise max_connections, or lower SLUICE_DATABASE_POOL`)
  return needs.connections > free ? warning(check, `${room}: others may have to end first`) : ok(check, room)
}

/** The findings of a server that can be used. */
export const databaseChecks = (facts: DatabaseFacts, needs: DatabaseNeeds): ReadonlyArray<CheckResult> => [
  facts.isEncrypted || facts.isLocal
    ? ok("PostgreSQL TLS", facts.isEncrypted ? "the connection is encrypted" : "the connection stays on this machine")
    : warning(
        "PostgreSQL TLS",
        "the connection is not encrypted: add ?sslmode=verify-full to DATABASE_URL, with TLS at the server"
      ),
  durability(facts),
  facts.encoding === "UTF8"
    ? ok("PostgreSQL encoding", "UTF8")
    : failed("PostgreSQL encoding", `${facts.encoding} cannot hold every text: make the database with ENCODING 'UTF8'`),
  migrations(facts, needs),
  connections(facts, needs),
  clockCheck("PostgreSQL clock", facts.aheadMillis),
  facts.isServed && !needs.isCluster
    ? warning("other platforms", "one runs on this database, and a second one is refused: stop it before the start")
    : ok("other platforms", facts.isServed ? "one runs on this database" : "none runs on this database")
]

const factsQuery = `
  SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted",
    coalesce(inet_server_addr() << '127.0.0.0/8'::inet OR inet_server_addr() = '::1'::inet, true) AS "isLocal",
    current_setting('fsync') = 'on' AS fsync,
    current_setting('full_page_writes') = 'on' AS "fullPageWrites",
    current_setting('synchronous_commit') AS "synchronousCommit",
    pg_encoding_to_char(encoding) AS encoding,
    has_schema_privilege(coalesce(current_schema(), 'public'), 'CREATE') AS "mayCreate",
    current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4 AS "mayConnect",
    (SELECT count(*)::int4 - 1 FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    to_regclass('${defaultMigrationsTable}') IS NOT NULL AS "isMigrated",
    to_regclass('deployment_formats') IS NOT NULL AS "hasLevel",
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMillis",
    EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.database = d.oid
      AND ((l.classid::int8 << 32) | l.objid::int8) = $1::int8) AS "isServed"
  FROM pg_database d WHERE datname = current_database()`

type Row = Omit<DatabaseFacts, "migrated" | "level" | "aheadMillis"> & {
  readonly isMigrated: boolean
  readonly hasLevel: boolean
  readonly nowMillis: number
}

const readFacts = Effect.fnUntraced(function* (session: Session.PgSession) {
  // Read before the question: a slow answer makes no clock appear ahead.
  const now = yield* Clock.currentTimeMillis
  const [row] = (yield* session.query(factsQuery, [`${lockKey(placementLock)}`])) as unknown as ReadonlyArray<Row>
  const { hasLevel, isMigrated, nowMillis, ...facts } = row!
  const numberIn = (isThere: boolean, sql: string) =>
    isThere
      ? Effect.map(session.query(sql), ([found]) => (found as { readonly value: number | null }).value ?? undefined)
      : Effect.undefined
  return {
    ...facts,
    migrated: yield* numberIn(isMigrated, `SELECT max(number) AS value FROM ${defaultMigrationsTable}`),
    level: yield* numberIn(hasLevel, "SELECT max(level)::int4 AS value FROM deployment_formats"),
    aheadMillis: now - nowMillis
  } satisfies DatabaseFacts
})

/** Connects once and judges. A server that cannot be used is one finding. */
export const examineDatabase = (
  url: Redacted.Redacted<string>,
  needs: DatabaseNeeds
): Effect.Effect<ReadonlyArray<CheckResult>> =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* checkServer({ url })
      const { database, host, port, user } = server.target
      const session = yield* Session.open(yield* resolve({ url }), "doctor")
      const facts = yield* readFacts(session)
      return [
        ok("PostgreSQL", `${server.version} at ${host}:${port}, database ${database}, user ${user}`),
        ...databaseChecks(facts, needs)
      ]
    })
  ).pipe(Effect.catch((error) => Effect.succeed([failed("PostgreSQL", error.message)])))
