/**
 * Migrates a database to the schema that the code knows. Any number of nodes may start concurrently: each migration
 * runs in a transaction under one advisory lock, and the next holder of the lock checks again what is left to do. Knows
 * no product: the ordered list is an argument. Needs the `SqlClient`. effect/sql's own Migrator is not used: it runs
 * all migrations in one transaction, and takes a database that is newer than the code for an up-to-date one.
 */
import { Data, Effect } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { lockKey } from "./advisoryLock.ts"
import { withStatementTimeout } from "./deadlines.ts"
import { sqlState } from "./errors.ts"

/** The table that records what has run, when the options name none. */
export const defaultMigrationsTable = "schema_migrations"

/** A statement of a migration, or the wait for another node's, may take this long. */
export const migrationTimeoutMillis = 60 * 60 * 1000

/** One step. Published steps are never changed or renumbered; a new need is a new step. See {@link Durable.layer}. */
export interface Migration {
  /** Position in the list, whole, from 1 upwards; gaps are allowed. */
  readonly number: number
  /** Its content, for people, for example `organizations and API keys`. */
  readonly name: string
  /** Runs inside the migration's transaction, one statement after the other: a text holds one. */
  readonly run: Effect.Effect<unknown, unknown, SqlClient.SqlClient>
}

/** A step, without its effect, for reports. */
export interface MigrationLabel {
  readonly number: number
  readonly name: string
}

/** The list itself is wrong: numbers that are not whole, positive and ascending. A defect of the program. */
export class MigrationsInvalid extends Data.TaggedError("MigrationsInvalid")<{ readonly detail: string }> {
  override get message(): string {
    return `The list of migrations is not valid: ${this.detail}`
  }
}

/** The database was migrated by a newer version of the program, which an older one could damage. */
export class DatabaseNewer extends Data.TaggedError("DatabaseNewer")<{
  readonly database: MigrationLabel
  /** The last migration this program knows, undefined when it knows none. */
  readonly known: MigrationLabel | undefined
}> {
  override get message(): string {
    const { number, name } = this.database
    return `The database is at migration ${number} (${name}) and this program knows only up to ${this.known?.number ?? 0}: start a newer version of it`
  }
}

/**
 * The migrations that have run are not a prefix of the program's list: the database belongs to another program or
 * branch.
 */
export class MigrationsDiverged extends Data.TaggedError("MigrationsDiverged")<{ readonly detail: string }> {
  override get message(): string {
    return `The database was migrated differently from what this program expects: ${this.detail}`
  }
}

/** The role may not make tables. */
export class MigrationsNotAllowed extends Data.TaggedError("MigrationsNotAllowed")<{ readonly detail: string }> {
  override get message(): string {
    return `The role may not make tables (${this.detail}). Run \`sluice migrate\` as the owner of the tables, or give the role the right as the owner of the database: GRANT CREATE, USAGE ON SCHEMA public TO the role; or let the role own the database`
  }
}

/** A step failed and left nothing behind. The steps before it stay. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{
  readonly migration: MigrationLabel
  readonly cause: unknown
}> {
  override get message(): string {
    const { number, name } = this.migration
    const detail = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `Migration ${number} (${name}) failed: ${detail}`
  }
}

export type MigrateError =
  | SqlError.SqlError
  | MigrationsInvalid
  | MigrationsNotAllowed
  | DatabaseNewer
  | MigrationsDiverged
  | MigrationFailed

export interface MigrateOptions {
  /** Records what has run, default {@link defaultMigrationsTable}; also names the lock. */
  readonly table?: string
}

/** Runs the missing migrations in order, and answers those that this call has run: none if another node was faster. */
export const migrate = Effect.fnUntraced(function* (
  migrations: ReadonlyArray<Migration>,
  options: MigrateOptions = {}
): Effect.fn.Return<ReadonlyArray<MigrationLabel>, MigrateError, SqlClient.SqlClient> {
  yield* validate(migrations)
  const done: Array<MigrationLabel> = []
  for (;;) {
    const label = yield* step(migrations, options.table ?? defaultMigrationsTable)
    if (label !== undefined) {
      done.push(label)
      continue
    }
    const last = done.at(-1)
    if (last !== undefined)
      yield* Effect.logInfo(
        `Migrated the database to ${last.number} (${last.name})${done.length === 1 ? "" : `, in ${done.length} steps`}`
      )
    return done
  }
})

/** insufficient_privilege */
const notPermitted = "42501"

const notAllowed = (error: SqlError.SqlError): SqlError.SqlError | MigrationsNotAllowed =>
  sqlState(error.reason.cause) === notPermitted ? new MigrationsNotAllowed({ detail: error.message }) : error

const isThere = (sql: SqlClient.SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly isThere: boolean }>`SELECT to_regclass(quote_ident(${table})) IS NOT NULL AS "isThere"`,
    ([row]) => row!.isThere
  )

/** The migrations that have run, in order: none in a database without any. */
export const appliedMigrations = (
  table: string = defaultMigrationsTable
): Effect.Effect<ReadonlyArray<MigrationLabel>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.flatMap(isThere(sql, table), (there) =>
      there ? sql<MigrationLabel>`SELECT number, name FROM ${sql(table)} ORDER BY number` : Effect.succeed([])
    )
  )

/** One transaction: waits for the lock, reads what has run, and runs the next missing migration. */
const step = (
  migrations: ReadonlyArray<Migration>,
  table: string
): Effect.Effect<MigrationLabel | undefined, MigrateError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(${migrationsKey(table)})`
      // A role that may make no tables is refused even where the table is there.
      if (!(yield* isThere(sql, table)))
        yield* sql`CREATE TABLE ${sql(table)} (
          number int4 PRIMARY KEY,
          name text NOT NULL,
          applied_at timestamptz NOT NULL DEFAULT now()
        )`.pipe(Effect.mapError(notAllowed))
      const applied = yield* sql<MigrationLabel>`SELECT number, name FROM ${sql(table)} ORDER BY number`
      yield* compare(migrations, applied)
      const next = migrations[applied.length]
      if (next === undefined) return undefined
      const label = { number: next.number, name: next.name }
      yield* Effect.mapError(next.run, (cause) => {
        const refused = SqlError.isSqlError(cause) ? notAllowed(cause) : cause
        return refused instanceof MigrationsNotAllowed ? refused : new MigrationFailed({ migration: label, cause })
      })
      yield* sql`INSERT INTO ${sql(table)} ${sql.insert(label)}`
      return label
    }).pipe((statements) => sql.withTransaction(withStatementTimeout(sql, migrationTimeoutMillis, statements)))
  )

const validate = (migrations: ReadonlyArray<Migration>): Effect.Effect<void, MigrationsInvalid> => {
  let last = 0
  for (const { number, name } of migrations) {
    if (!Number.isInteger(number) || number <= last) {
      return Effect.fail(new MigrationsInvalid({ detail: `${number} (${name}) follows ${last}` }))
    }
    last = number
  }
  return Effect.void
}

const compare = (
  migrations: ReadonlyArray<Migration>,
  applied: ReadonlyArray<MigrationLabel>
): Effect.Effect<void, DatabaseNewer | MigrationsDiverged> => {
  const known = migrations.at(-1)
  const last = applied.at(-1)
  if (last !== undefined && last.number > (known?.number ?? 0)) {
    return Effect.fail(
      new DatabaseNewer({ database: last, known: known && { number: known.number, name: known.name } })
    )
  }
  for (const [index, { number, name }] of applied.entries()) {
    const expected = migrations[index]
    if (expected?.number !== number || expected.name !== name) {
      const found = expected === undefined ? "nothing" : `${expected.number} (${expected.name})`
      return Effect.fail(new MigrationsDiverged({ detail: `it has ${number} (${name}) where ${found} was expected` }))
    }
  }
  return Effect.void
}

/** A lock of its own for each table, out of the way of other users of advisory locks. */
const migrationsKey = (table: string): bigint => lockKey(`migrations in ${table}`)
