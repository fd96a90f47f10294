/**
 * Rows of endpoints as the SQL reactor folds them. Events are matched against them, and the dispatcher reads them. Each
 * state is decoded once per change. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { LogPosition } from "../../engine/Checkpoints.ts"
import type { CursorMove } from "../../engine/Cursors.ts"
import { unnest } from "../../postgres/unnest.ts"
import { endpointsTable } from "../delivery/model.ts"
import type { FoldedEndpoint } from "../delivery/ports.ts"
import type { Endpoint } from "./model.ts"
import { WebhookEndpoint } from "./rules.ts"

/** Endpoints whose decoded state is remembered. */
const maximumRemembered = 10_000

/** Reads what `encodeEndpoint` wrote. */
const decodeEndpoint = (text: string): Endpoint | null =>
  WebhookEndpoint.decodeState(JSON.parse(text), WebhookEndpoint.version)

const encodeEndpoint = (endpoint: Endpoint): string => JSON.stringify(WebhookEndpoint.encodeState(endpoint))

/** Decoded states, each valid for its frame. */
export class RememberedEndpoints {
  readonly #states = new Map<string, FoldedEndpoint>()

  get(endpointId: string, sequence: number): FoldedEndpoint | undefined {
    const known = this.#states.get(endpointId)
    return known?.sequence === sequence ? known : undefined
  }

  set(folded: FoldedEndpoint): void {
    this.#states.delete(folded.endpointId)
    this.#states.set(folded.endpointId, folded)
    if (this.#states.size <= maximumRemembered) return
    for (const oldest of this.#states.keys()) {
      this.#states.delete(oldest)
      break
    }
  }
}

/** The endpoints of organizations at the end of a move of the SQL reactor's cursor. */
interface Known {
  readonly at: LogPosition
  /** Organizations, least recently used first. */
  readonly organizations: Map<string, ReadonlyArray<FoldedEndpoint>>
  /** Organizations and their endpoints. */
  size: number
}

const sizeOf = (endpoints: ReadonlyArray<FoldedEndpoint>): number => 1 + endpoints.length

/**
 * Remembers the endpoints of whole organizations. Only the SQL reactor of their partition writes them, so the memory is
 * valid for a move of its cursor that begins where the last one ended, and for no other. Bounded in each partition.
 */
export class RememberedOrganizations {
  readonly #partitions = new Map<number, Known>()
  readonly #maximum: number

  /** Organizations and endpoints that are remembered of a partition. */
  constructor(maximum = maximumRemembered) {
    this.#maximum = maximum
  }

  /**
   * Answers what is known of organizations when the transaction of this move begins; nothing if the transaction makes
   * no move.
   */
  of(move: CursorMove | undefined): (organization: string) => ReadonlyArray<FoldedEndpoint> | undefined {
    const known = move === undefined ? undefined : this.#partitions.get(move.partition)
    return known !== undefined && isSame(known.at, move!.from)
      ? (organization) => known.organizations.get(organization)
      : () => undefined
  }

  /** Call it when the move is committed, with the endpoints of the organizations concerned, without deleted ones. */
  committed(move: CursorMove, organizations: Iterable<readonly [string, ReadonlyArray<FoldedEndpoint>]>): void {
    const before = this.#partitions.get(move.partition)
    const holds = before !== undefined && isSame(before.at, move.from)
    const known: Known = holds ? { ...before, at: move.to } : { at: move.to, organizations: new Map(), size: 0 }
    for (const [organization, endpoints] of organizations) {
      forget(known, organization)
      known.organizations.set(organization, endpoints)
      known.size += sizeOf(endpoints)
    }
    for (const oldest of known.organizations.keys()) {
      if (known.size <= this.#maximum) break
      forget(known, oldest)
    }
    this.#partitions.set(move.partition, known)
  }

  /** Call it before anything else than a move of the cursor writes endpoints of the partition. */
  forget(partition: number): void {
    this.#partitions.delete(partition)
  }
}

const isSame = (left: LogPosition, right: LogPosition): boolean =>
  left.sequence === right.sequence && left.hash === right.hash

const forget = (known: Known, organization: string): void => {
  const endpoints = known.organizations.get(organization)
  if (endpoints === undefined) return
  known.organizations.delete(organization)
  known.size -= sizeOf(endpoints)
}

interface Row {
  readonly endpointId: string
  readonly organizationId: string
  readonly partition: number
  readonly sequence: number
  readonly state: string | null
}

const foldedOf = ({ state, ...row }: Row): FoldedEndpoint => ({
  ...row,
  endpoint: state === null ? null : decodeEndpoint(state)
})

/** Endpoints whose row is of another frame than the one given (0 for an unknown one); missing ones have no organization. */
export const changedEndpoints = (
  known: ReadonlyArray<{ readonly endpointId: string; readonly sequence: number }>
): Effect.Effect<ReadonlyArray<FoldedEndpoint>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<Row>`
        select batch.id as "endpointId", coalesce(e.organization_id, '') as "organizationId",
          coalesce(e.partition, 0) as partition, coalesce(e.sequence, 0) as sequence, e.state
        from ${unnest(
          known.map(({ endpointId, sequence }) => ({ id: endpointId, sequence })),
          { id: "text", sequence: "int8" }
        )}
        left join ${sql(endpointsTable)} e on e.id = batch.id
        where e.sequence is distinct from batch.sequence`,
      (rows) => rows.map(foldedOf)
    )
  )

/** The endpoints of organizations, but for deleted ones. */
export const endpointsOf = (organizations: ReadonlyArray<string>, remembered: RememberedEndpoints) =>
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

/** Writes what was folded; a deleted one stays without state until its deliveries are cancelled. */
export const saveEndpoints = (
  folded: ReadonlyArray<FoldedEndpoint>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.asVoid(sql`
      insert into ${sql(endpointsTable)} (id, organization_id, partition, sequence, state)
      select id, organization_id, partition, sequence, state from ${unnest(
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
      on conflict (id) do update set sequence = excluded.sequence, state = excluded.state`)
  )
