/**
 * Reads and writes rows of endpoints as the SQL reactor folds them. Events are matched against them, and the dispatcher
 * reads them. Each state is decoded once per change. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { unnest } from "../../postgres/unnest.ts"
import type { EndpointCache } from "./EndpointCache.ts"
import { type Endpoint, endpointsTable, type FoldedEndpoint } from "./model.ts"
import { WebhookEndpoint } from "./rules.ts"

/** Reads a text of `encodeEndpoint` of that version. */
const decodeEndpoint = (text: string, version: number): Endpoint | null =>
  WebhookEndpoint.decodeState(JSON.parse(text), version)

const encodeEndpoint = (endpoint: Endpoint): string => JSON.stringify(WebhookEndpoint.encodeState(endpoint))

interface Row {
  readonly endpointId: string
  readonly organizationId: string
  readonly partition: number
  readonly sequence: number
  readonly state: string | null
  /** Of the state; 0 without a row. */
  readonly version: number
}

const foldedOf = ({ state, version, ...row }: Row): FoldedEndpoint => ({
  ...row,
  endpoint: state === null ? null : decodeEndpoint(state, version)
})

/**
 * The readable rows. An unreadable one is logged and left out: one bad row must not keep the dispatcher from every
 * other endpoint of its partition.
 */
const readable = (rows: ReadonlyArray<Row>): Effect.Effect<ReadonlyArray<FoldedEndpoint>> =>
  Effect.gen(function* () {
    const read: Array<FoldedEndpoint> = []
    for (const row of rows) {
      const folded = yield* Effect.result(Effect.try({ try: () => foldedOf(row), catch: (cause) => cause }))
      if (folded._tag === "Success") read.push(folded.success)
      else yield* Effect.logError(`The webhook endpoint ${row.endpointId} cannot be read`, folded.failure)
    }
    return read
  })

/**
 * Endpoints whose row is of another frame than the one given (0 for an unknown one); missing ones have no organization.
 * A row that cannot be read is a defect, which parks the records if a projection asks; the dispatcher asks for the
 * others only.
 */
export const changedEndpoints = (
  known: ReadonlyArray<{ readonly endpointId: string; readonly sequence: number }>,
  unreadable: "defect" | "left out" = "defect"
): Effect.Effect<ReadonlyArray<FoldedEndpoint>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.flatMap(
      sql<Row>`
        select batch.id as "endpointId", coalesce(e.organization_id, '') as "organizationId",
          coalesce(e.partition, 0) as partition, coalesce(e.sequence, 0) as sequence, e.state,
          coalesce(e.version, 0) as version
        from ${unnest(
          known.map(({ endpointId, sequence }) => ({ id: endpointId, sequence })),
          { id: "text", sequence: "int8" }
        )}
        left join ${sql(endpointsTable)} e on e.id = batch.id
        where e.sequence is distinct from batch.sequence`,
      (rows) => (unreadable === "defect" ? Effect.sync(() => rows.map(foldedOf)) : readable(rows))
    )
  )

/** The endpoints of organizations, except deleted ones. */
export const endpointsOf = (organizations: ReadonlyArray<string>, remembered: EndpointCache) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly endpointId: string; readonly sequence: number }>`
      select e.id as "endpointId", e.sequence
      from ${unnest(
        organizations.map((organization_id) => ({ organization_id })),
        { organization_id: "text" }
      )}
      join ${sql(endpointsTable)} e on e.organization_id = batch.organization_id
      where e.state is not null`
    const found: Array<FoldedEndpoint> = []
    const unknown: Array<{ readonly endpointId: string; readonly sequence: number }> = []
    for (const { endpointId, sequence } of rows) {
      const known = remembered.get(endpointId, sequence)
      if (known === undefined) unknown.push({ endpointId, sequence: 0 })
      else found.push(known)
    }
    if (unknown.length > 0) {
      for (const folded of yield* changedEndpoints(unknown)) {
        remembered.set(folded)
        found.push(folded)
      }
    }
    return found
  })

/** Whether the organization has the endpoint, as the log was a moment ago. */
export const hasEndpoint = (
  organizationId: string,
  endpointId: string
): Effect.Effect<boolean, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`
        select 1 from ${sql(endpointsTable)}
        where id = ${endpointId} and organization_id = ${organizationId} and state is not null`,
      ({ length }) => length > 0
    )
  )

/** Writes the folded endpoints; a deleted one stays without state until its deliveries are cancelled. */
export const saveEndpoints = (
  folded: ReadonlyArray<FoldedEndpoint>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.asVoid(sql`
      insert into ${sql(endpointsTable)} (id, organization_id, partition, sequence, state, version)
      select id, organization_id, partition, sequence, state, ${WebhookEndpoint.version}::int4 from ${unnest(
        folded
          .map(({ endpoint, endpointId, organizationId, partition, sequence }) => ({
            id: endpointId,
            organization_id: organizationId,
            partition,
            sequence,
            state: endpoint === null ? null : encodeEndpoint(endpoint)
          }))
          .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
        { id: "text", organization_id: "text", partition: "int4", sequence: "int8", state: "text" }
      )}
      on conflict (id) do update set sequence = excluded.sequence, state = excluded.state, version = excluded.version`)
  )
