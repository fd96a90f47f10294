/**
 * Identifies the program of a database (`sluice/durable`): the kinds of its actors and the namespace of its log. Two
 * programs that name neither database nor namespace would otherwise write into one log, one after the other. Needs
 * `SqlClient`.
 */
import { Data, Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The database belongs to another program's engine, such as the platform. Nothing was written to it.
 *
 * @example
 * ```ts
 * import { Effect, Layer } from "effect"
 * import type * as Durable from "sluice/durable"
 *
 * // Says which of the options is to be changed, and ends.
 * export const explained = <A, R>(durable: Layer.Layer<A, Durable.DurableError, R>) =>
 *   Layer.tapError(durable, (error) =>
 *     Effect.logError(error._tag === "DatabaseTaken" ? `databaseUrl: ${error.message}` : error.message)
 *   )
 * ```
 */
export class DatabaseTaken extends Data.TaggedError("DatabaseTaken")<{ readonly message: string }> {}

/** The program's log is under another namespace. Nothing was started. See {@link Durable.layer}. */
export class NamespaceChanged extends Data.TaggedError("NamespaceChanged")<{ readonly message: string }> {}

/** Kinds that a sentence names. */
const shownKinds = 5

interface Found {
  /** The database's name. */
  readonly home: string
  readonly namespace: string
  readonly kinds: ReadonlyArray<string>
}

export interface Program {
  /** The kinds of its actors. */
  readonly kinds: ReadonlyArray<string>
  readonly namespace: string | undefined
}

const named = (namespace: string): string =>
  namespace === "" ? "without a namespace" : `under the namespace ${namespace}`

const nameAll = (kinds: ReadonlyArray<string>): string =>
  [...kinds.slice(0, shownKinds), ...(kinds.length > shownKinds ? ["…"] : [])].join(", ")

/** A row for the program that the database belongs to; none before its first start. */
export const createProgramTable = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    create table engine_program (
      one boolean primary key default true check (one),
      namespace text not null,
      kinds text[] not null
    )`
)

/** The reason to refuse a program on this database. */
const problemOf = (
  { home, kinds, namespace }: Found,
  program: Program
): DatabaseTaken | NamespaceChanged | undefined => {
  const own = program.namespace ?? ""
  if (kinds.length > 0 && !program.kinds.some((kind) => kinds.includes(kind)))
    return new DatabaseTaken({
      message: `the database ${home} holds the engine of another program, with the actors ${nameAll(kinds)}, and this one has none of them: give it a database and a namespace of its own`
    })
  if (namespace !== own)
    return new NamespaceChanged({
      message: `the log that belongs to the database ${home} is ${named(namespace)}, and not ${named(own)}: leave \`namespace\` as it was, since a log is not found under another one, or take another database`
    })
  return undefined
}

const findProgram = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<Found>`select current_database() as home, namespace, kinds from engine_program for update`
)

/**
 * Refuses the database of another program, before and after its tables are there. A program keeps some kind of actor
 * from version to version, so one that has none of those that were here before is another one.
 */
export const requireOwnDatabase = (program: Program) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [table] = yield* sql<{ readonly isThere: boolean }>`
      select to_regclass('engine_program') is not null as "isThere"`
    if (table?.isThere !== true) return
    const [found] = yield* findProgram
    const problem = found === undefined ? undefined : problemOf(found, program)
    if (problem !== undefined) return yield* problem
  })

/** Notes that the database is this program's. Kinds are never forgotten: an earlier version may be started again. */
export const claimDatabase = (program: Program) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const { kinds, namespace = "" } = program
        yield* sql`
          insert into engine_program (namespace, kinds) values (${namespace}, ${[...kinds]}::text[])
          on conflict (one) do nothing`
        yield* requireOwnDatabase(program)
        yield* sql`
          update engine_program
          set kinds = kinds || array(select kind from unnest(${[...kinds]}::text[]) as kind where kind <> all(kinds))
          where not kinds @> ${[...kinds]}::text[]`
      })
    )
  )
