/**
 * Copies whole tables out of one snapshot of a database, and into an empty one, with PostgreSQL's COPY. The client of
 * effect/sql does not speak COPY, so this opens connections of its own with `pg` and pg-copy-streams. Needs no service.
 */
import type { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { Data, Duration, Effect, Redacted, type Scope, Stream } from "effect"
import pg from "pg"
import { from as copyFrom, to as copyTo } from "pg-copy-streams"
import { type PgConfig, type PostgresUrlInvalid, type ResolvedConfig, resolve } from "./config.ts"

/** The database cannot be copied, or does not answer. */
export class CopyFailed extends Data.TaggedError("CopyFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** How long a close waits for the server's answer. */
const closeMillis = 2_000

/** How long one query beside the copies may take. */
const queryMillis = 60_000

/** How long a copy waits for a table that is being changed or dropped. */
const lockMillis = 10_000

const failedTo = (what: string) => (cause: unknown) =>
  new CopyFailed({ message: `PostgreSQL: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, cause })

/** The configuration as `pg` spells it. */
const clientOptions = (
  { applicationName, connectTimeoutMillis, pool }: ResolvedConfig,
  password: Redacted.Redacted | undefined
): pg.ClientConfig => ({
  host: pool.host,
  port: pool.port,
  user: pool.username,
  database: pool.database,
  password: password && Redacted.value(password),
  ssl: pool.ssl,
  options: pool.startupOptions,
  application_name: `${applicationName} backup`,
  connectionTimeoutMillis: connectTimeoutMillis,
  keepAlive: true
})

const open = Effect.fnUntraced(function* (
  config: PgConfig
): Effect.fn.Return<pg.Client, CopyFailed | PostgresUrlInvalid, Scope.Scope> {
  const resolved = yield* resolve(config)
  const { password: given } = resolved.pool
  // One of a file is read for each connection.
  const password = Effect.isEffect(given) ? yield* given : given
  const client = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const made = new pg.Client(clientOptions(resolved, password))
        // A statement under way fails of it.
        made.on("error", () => {})
        await made.connect()
        return made
      },
      catch: failedTo("it cannot be reached")
    }),
    // With a statement under way it cuts the connection.
    (made) => Effect.promise(() => made.end().catch(() => {})).pipe(Effect.timeoutOption(closeMillis))
  )
  // The texts of a copy depend on these. No time limit: a copy without progress is given up by its user.
  yield* rowsOf(client, "set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'")
  yield* rowsOf(client, "set extra_float_digits = 3; set statement_timeout = 0")
  yield* rowsOf(client, `set idle_in_transaction_session_timeout = 0; set lock_timeout = ${lockMillis}`)
  return client
})

const rowsOf = <Row extends object>(
  client: pg.Client,
  sql: string,
  values: ReadonlyArray<unknown> = []
): Effect.Effect<ReadonlyArray<Row>, CopyFailed> =>
  Effect.tryPromise({
    try: async () =>
      (values.length === 0 ? await client.query<Row>(sql) : await client.query<Row>(sql, [...values])).rows,
    catch: failedTo("a statement failed")
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(queryMillis),
      orElse: () => Effect.fail(new CopyFailed({ message: `PostgreSQL has not answered for ${queryMillis} ms` }))
    })
  )

/** A table and the columns that hold data of their own. */
export interface TableShape {
  readonly name: string
  readonly columns: ReadonlyArray<string>
}

/** The value of the sequence behind a column. */
export interface ColumnSequence {
  readonly table: string
  readonly column: string
  readonly last: number
}

/** A partition of a table, by the text of its bounds. */
export interface TablePartition {
  readonly table: string
  readonly bounds: string
}

/** A database at one moment. */
export interface Snapshot {
  readonly rows: <Row extends object>(sql: string) => Effect.Effect<ReadonlyArray<Row>, CopyFailed>
  readonly tables: Effect.Effect<ReadonlyArray<TableShape>, CopyFailed>
  readonly partitions: Effect.Effect<ReadonlyArray<TablePartition>, CopyFailed>
  readonly sequences: Effect.Effect<ReadonlyArray<ColumnSequence>, CopyFailed>
  /** The rows of a table, in COPY's text format: one line each. */
  readonly copy: (table: TableShape) => Stream.Stream<Uint8Array, CopyFailed>
}

const inSchema = "join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()"

const tablesQuery = `
  select c.relname::text as name,
    array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '') as columns
  from pg_class c ${inSchema}
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'p') and not c.relispartition
  group by c.relname order by c.relname`

const partitionsQuery = `
  select p.relname::text as table, pg_get_expr(c.relpartbound, c.oid) as bounds
  from pg_class c ${inSchema}
  join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
  where c.relispartition order by 1, 2`

const sequencesQuery = `
  select c.relname::text as table, a.attname::text as column,
    pg_sequence_last_value(pg_get_serial_sequence(quote_ident(c.relname), a.attname)::regclass)::float8 as last
  from pg_class c ${inSchema}
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity <> ''
  where c.relkind in ('r', 'p') order by 1, 2`

const quoted = (name: string): string => pg.escapeIdentifier(name)

const columnsOf = ({ columns }: TableShape): string => columns.map(quoted).join(", ")

/**
 * Opens a snapshot, which lasts as long as the scope. It is held by a connection that reads nothing but the catalogue;
 * each table is read by another one in a short transaction on that snapshot, so that its lock goes with its copy and no
 * change of a table waits for the whole backup.
 */
export const openSnapshot = Effect.fnUntraced(function* (
  config: PgConfig
): Effect.fn.Return<Snapshot, CopyFailed | PostgresUrlInvalid, Scope.Scope> {
  const holder = yield* open(config)
  const reader = yield* open(config)
  yield* rowsOf(holder, "begin isolation level repeatable read read only")
  const [exported] = yield* rowsOf<{ readonly id: string }>(holder, "select pg_export_snapshot() as id")
  const begin = Effect.andThen(
    rowsOf(reader, "begin isolation level repeatable read read only"),
    rowsOf(reader, `set transaction snapshot ${pg.escapeLiteral(exported!.id)}`)
  )
  const within = <A>(read: Effect.Effect<A, CopyFailed>) =>
    Effect.tap(Effect.andThen(begin, read), () => rowsOf(reader, "commit"))
  const rows = <Row extends object>(sql: string) => within(rowsOf<Row>(reader, sql))
  return {
    rows,
    tables: rows(tablesQuery),
    partitions: rows(partitionsQuery),
    sequences: Effect.map(
      rows<{ readonly table: string; readonly column: string; readonly last: number | null }>(sequencesQuery),
      (all) => all.flatMap(({ last, ...of }) => (last === null ? [] : [{ ...of, last }]))
    ),
    copy: (table) =>
      Stream.concat(
        Stream.unwrap(
          Effect.map(begin, () => {
            const text = `copy (select ${columnsOf(table)} from ${quoted(table.name)}) to stdout`
            const readable: Readable = reader.query(copyTo(text))
            return Stream.fromAsyncIterable<Uint8Array, CopyFailed>(
              readable,
              failedTo(`the table ${table.name} cannot be copied`)
            )
          })
        ),
        Stream.drain(Stream.fromEffect(rowsOf(reader, "commit")))
      )
  }
})

/** A database that is being filled, in one transaction. */
export interface Filling {
  readonly rows: <Row extends object>(
    sql: string,
    values?: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<Row>, CopyFailed>
  /** Tables with those that they refer to, such as `["api_keys", "organizations"]`. */
  readonly references: Effect.Effect<ReadonlyArray<readonly [from: string, to: string]>, CopyFailed>
  readonly tables: Effect.Effect<ReadonlyArray<TableShape>, CopyFailed>
  readonly truncate: (tables: ReadonlyArray<string>) => Effect.Effect<void, CopyFailed>
  readonly fill: (table: TableShape, lines: AsyncIterable<Uint8Array>) => Effect.Effect<void, CopyFailed>
  readonly setSequence: (sequence: ColumnSequence) => Effect.Effect<void, CopyFailed>
  readonly commit: Effect.Effect<void, CopyFailed>
}

const referencesQuery = `
  select distinct c.relname::text as from, t.relname::text as to
  from pg_constraint k join pg_class c on c.oid = k.conrelid ${inSchema} join pg_class t on t.oid = k.confrelid
  where k.contype = 'f' and c.oid <> t.oid`

/** Begins to fill a database. Without `commit` nothing of it stays. */
export const openFilling = Effect.fnUntraced(function* (
  config: PgConfig
): Effect.fn.Return<Filling, CopyFailed | PostgresUrlInvalid, Scope.Scope> {
  const client = yield* open(config)
  yield* rowsOf(client, "begin")
  return {
    rows: (sql, values) => rowsOf(client, sql, values),
    references: Effect.map(rowsOf<{ readonly from: string; readonly to: string }>(client, referencesQuery), (all) =>
      all.map(({ from, to }) => [from, to] as const)
    ),
    tables: rowsOf<TableShape>(client, tablesQuery),
    truncate: (tables) => Effect.asVoid(rowsOf(client, `truncate ${tables.map(quoted).join(", ")}`)),
    fill: (table, lines) =>
      Effect.tryPromise({
        try: (signal) =>
          pipeline(lines, client.query(copyFrom(`copy ${quoted(table.name)} (${columnsOf(table)}) from stdin`)), {
            signal
          }),
        catch: failedTo(`the table ${table.name} cannot be filled`)
      }),
    setSequence: ({ column, last, table }) =>
      Effect.asVoid(
        rowsOf(client, "select setval(pg_get_serial_sequence(quote_ident($1), $2), $3::int8)", [table, column, last])
      ),
    commit: Effect.asVoid(rowsOf(client, "commit"))
  }
})
