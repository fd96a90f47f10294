/**
 * What the nodes of a deployment tell each other in PostgreSQL: who is there, with which version and role, and which node has taken which
 * partition last. effect/cluster decides who may take one; these rows say it to people, and to an owner that has lost sight of its locks.
 * Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** A node as it shows itself. */
export interface NodeCard {
  /** Unique among the nodes. */
  readonly name: string
  readonly version: string
  readonly role: string
}

export interface NodeRow extends NodeCard {
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** Milliseconds since its last sign of life. */
  readonly silentMillis: number
  readonly isDraining: boolean
}

export interface OwnerRow {
  readonly partition: number
  readonly node: string
  /** Milliseconds since the Unix epoch. */
  readonly takenAt: number
}

/** A silent node is forgotten after this time. */
const forgottenAfter = "1 hour"

type Sql<A> = Effect.Effect<A, SqlError.SqlError>

export interface Nodes {
  /** Shows the node, as one that has just started. */
  readonly join: (card: NodeCard) => Sql<void>
  /** Gives a sign of life. Answers whether the node is to hand its partitions over. */
  readonly beat: (card: NodeCard) => Sql<boolean>
  readonly leave: (name: string) => Sql<void>
  readonly list: Sql<ReadonlyArray<NodeRow>>
  /** Asks a node to hand its partitions over. False when there is no such node. */
  readonly drain: (name: string) => Sql<boolean>
  /** Notes that a node has taken a partition. */
  readonly take: (partition: number, node: string) => Sql<void>
  readonly owners: Sql<ReadonlyArray<OwnerRow>>
}

export const make: Effect.Effect<Nodes, never, SqlClient.SqlClient> = Effect.map(SqlClient.SqlClient, (sql) => ({
  join: ({ name, role, version }) =>
    Effect.asVoid(sql`
      insert into cluster_nodes (name, version, role) values (${name}, ${version}, ${role})
      on conflict (name) do update set version = excluded.version, role = excluded.role, started_at = now(),
        seen_at = now(), is_draining = false`),
  beat: ({ name, role, version }) =>
    Effect.map(
      sql<{ readonly isDraining: boolean }>`
        insert into cluster_nodes (name, version, role) values (${name}, ${version}, ${role})
        on conflict (name) do update set seen_at = now()
        returning is_draining as "isDraining"`,
      ([row]) => row?.isDraining === true
    ),
  leave: (name) =>
    Effect.asVoid(sql`
    delete from cluster_nodes where name = ${name} or seen_at < now() - ${forgottenAfter}::interval`),
  list: sql<NodeRow>`
    select name, version, role, is_draining as "isDraining",
      (extract(epoch from started_at) * 1000)::float8 as "startedAt",
      (extract(epoch from now() - seen_at) * 1000)::float8 as "silentMillis"
    from cluster_nodes order by name`,
  drain: (name) =>
    Effect.map(
      sql`update cluster_nodes set is_draining = true where name = ${name} returning name`,
      ({ length }) => length > 0
    ),
  take: (partition, node) =>
    Effect.asVoid(sql`
      insert into cluster_partitions (partition, node) values (${partition}, ${node})
      on conflict (partition) do update set node = excluded.node, taken_at = now()`),
  owners: sql<OwnerRow>`
    select partition, node, (extract(epoch from taken_at) * 1000)::float8 as "takenAt"
    from cluster_partitions order by partition`
}))
