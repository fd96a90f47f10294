/**
 * Adds usage up by the hour, as part of the SQL reactor's batch: the transaction that moves the cursor adds the records
 * before it, so nothing is added twice (docs/platform.md, 11.8). Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { LogRecord } from "../../engine/records.ts"
import { deferred } from "../../postgres/deferredStatements.ts"
import { unnest } from "../../postgres/unnest.ts"
import { summed, tellsOfUsage, usedIn } from "./countUsage.ts"

/**
 * Of the type `contents` a row has the change of an hour, which may be negative and lie ahead; of every other type, the
 * sum of the hour.
 */
export const createUsageTable = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    create table usage_hours (
      organization_id text collate "C" not null,
      hour int8 not null,
      product text collate "C" not null,
      usage_type text collate "C" not null,
      quantity int8 not null,
      primary key (organization_id, hour, product, usage_type)
    ) with (fillfactor = 70)`
)

const add = Effect.fnUntraced(function* (records: ReadonlyArray<LogRecord>) {
  const sql = yield* SqlClient.SqlClient
  const rows = summed(records.flatMap(usedIn)).map(({ hour, organization, product, quantity, usageType }) => ({
    organization_id: organization,
    hour,
    product,
    usage_type: usageType,
    quantity
  }))
  if (rows.length === 0) return
  const statement = sql`
    insert into usage_hours as u (organization_id, hour, product, usage_type, quantity)
    select organization_id, hour, product, usage_type, quantity
    from ${unnest(rows, { organization_id: "text", hour: "int8", product: "text", usage_type: "text", quantity: "int8" })}
    where not exists (select 1 from organizations o where o.id = batch.organization_id and o.deleted_at is not null)
    on conflict (organization_id, hour, product, usage_type) do update set quantity = u.quantity + excluded.quantity`
  yield* deferred(sql, statement)
})

/** The part of the SQL reactor that counts usage. */
export const usageProjection = { wants: tellsOfUsage, handle: add }
