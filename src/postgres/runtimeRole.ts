/**
 * Lets a role run the platform without owning its tables (docs/operating.md, "Two roles"): it reads and writes rows,
 * and makes and drops days of partitioned tables through two functions of the owner. Everything else stays with the
 * owner, who migrates. Needs `SqlClient`.
 */
import { Data, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { defaultMigrationsTable } from "./migrate.ts"

/** No role has this name. */
export class RoleMissing extends Data.TaggedError("RoleMissing")<{ readonly role: string }> {
  override get message(): string {
    return `PostgreSQL has no role ${JSON.stringify(this.role)}: create it first, with LOGIN and a password`
  }
}

/** The functions' names with their arguments, as PostgreSQL writes them. */
export const createDayFunction = "sluice_create_day(text, text, text)"
export const dropDayFunction = "sluice_drop_day(text, text)"

/**
 * Makes the two functions, for a migration. They run with the rights of the owner, so they take nothing but days of
 * partitioned tables of this schema, and look up every name in this schema alone.
 */
export const createDayFunctions: Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly schema: string }>`select quote_ident(current_schema()) as schema`
  // A name of pg_catalog always comes first, and one of a temporary table last.
  const safely = `language plpgsql security definer set search_path = ${row!.schema}, pg_temp`
  const requireDay = `
      if not exists (select from pg_partitioned_table where partrelid = to_regclass(quote_ident(parent)))
        or left(day, length(parent) + 2) <> parent || '_d'
        or substr(day, length(parent) + 3) !~ '^[0-9]{8}$' then
        raise exception '% is no day of %', day, parent using errcode = 'invalid_parameter_value';
      end if;`
  yield* sql.unsafe(`
    create function sluice_create_day(parent text, day text, storage text) returns void ${safely} as $$
    declare
      midnight bigint;
    begin ${requireDay}
      if storage !~ '^(with \\(fillfactor = [0-9]{1,3}\\))?$' then
        raise exception '% is no storage of a day', storage using errcode = 'invalid_parameter_value';
      end if;
      -- The bounds follow from the name, so a day that lies elsewhere cannot be made.
      midnight := extract(epoch from to_date(right(day, 8), 'YYYYMMDD')::timestamp) * 1000;
      execute format('create table %I (like %I including all) %s', day, parent, storage);
      execute format('alter table %I attach partition %I for values from (%s) to (%s)', parent, day, midnight,
        midnight + 86400000);
    end $$`).unprepared
  yield* sql.unsafe(`
    create function sluice_drop_day(parent text, day text) returns void ${safely} as $$
    begin ${requireDay}
      if exists (select from pg_inherits where inhrelid = to_regclass(quote_ident(day))
          and inhparent = to_regclass(quote_ident(parent))) then
        execute format('drop table %I', day);
      end if;
    end $$`).unprepared
  for (const name of [createDayFunction, dropDayFunction])
    yield* sql.unsafe(`revoke execute on function ${name} from public`).unprepared
})

/** Gives a role what it needs to run the platform, on all tables that are there and those that come. As the owner. */
export const grantRuntime = Effect.fnUntraced(function* (
  role: string
): Effect.fn.Return<void, RoleMissing | SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly role: string | null; readonly schema: string }>`
    select (select quote_ident(rolname) from pg_roles where rolname = ${role}) as role,
      quote_ident(current_schema()) as schema`
  if (row!.role === null) return yield* new RoleMissing({ role })
  const { role: to, schema } = row!
  const rows = "select, insert, update, delete on tables"
  const statements = [
    `grant usage on schema ${schema} to ${to}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${to}`,
    `grant usage, select, update on all sequences in schema ${schema} to ${to}`,
    `alter default privileges in schema ${schema} grant ${rows} to ${to}`,
    `alter default privileges in schema ${schema} grant usage, select, update on sequences to ${to}`,
    // Only the owner says which migrations have run.
    `revoke insert, update, delete on ${schema}.${defaultMigrationsTable} from ${to}`,
    `grant execute on function ${createDayFunction} to ${to}`,
    `grant execute on function ${dropDayFunction} to ${to}`
  ]
  yield* sql.withTransaction(Effect.forEach(statements, (one) => sql.unsafe(one).unprepared, { discard: true }))
})
