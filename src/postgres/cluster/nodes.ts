/**
 * Exchanges the state of a deployment's nodes in PostgreSQL: their names, versions and roles, and the node that has
 * taken each partition last. effect/cluster decides who may take one; these rows show it to people, and to an owner
 * that has lost sight of its locks. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type FormatsRefused, formatLevels } from "../../common/formatLevels.ts"
import type { Formats } from "../clusterFormats.ts"

/** A node as it shows itself. */
export interface NodeCard {
  /** Unique among the nodes. */
  readonly name: string
  readonly version: string
  readonly role: string
  /** The newest level of formats that its program knows. */
  readonly level: number
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

type Agreed = Pick<Formats, "known" | "look" | "saw">

type Sql<A> = Effect.Effect<A, SqlError.SqlError>

export interface Nodes {
  /** Shows the node, as one that has just started. Refused where it does not know the formats in force. */
  readonly join: (card: NodeCard) => Effect.Effect<void, SqlError.SqlError | FormatsRefused>
  /**
   * Gives a sign of life. Answers whether the node is to hand its partitions over, and the level of formats in force.
   */
  readonly beat: (card: NodeCard) => Sql<{ readonly isDraining: boolean; readonly inForce: number }>
  readonly leave: (name: string) => Sql<void>
  readonly list: Sql<ReadonlyArray<NodeRow>>
  /** Asks a node to hand its partitions over. False when there is no such node. */
  readonly drain: (name: string) => Sql<boolean>
  /**
   * Notes that a node has taken a partition, and that it is alive. Refused where it does not know the formats in force:
   * one that stood still for long must not begin a log that newer ones have written to.
   */
  readonly take: (partition: number, card: NodeCard) => Effect.Effect<void, SqlError.SqlError | FormatsRefused>
  readonly owners: Sql<ReadonlyArray<OwnerRow>>
}

export const make = (formats: Agreed): Effect.Effect<Nodes, never, SqlClient.SqlClient> =>
  Effect.map(SqlClient.SqlClient, (sql) => makeOn(sql, formats))

const makeOn = (sql: SqlClient.SqlClient, formats: Agreed): Nodes => ({
  join: ({ level, name, role, version }) =>
    // Together, so that the level is not raised between the look and the node's being seen.
    sql.withTransaction(
      Effect.andThen(
        formats.look,
        Effect.asVoid(sql`
          insert into cluster_nodes (name, version, role, level) values (${name}, ${version}, ${role}, ${level})
          on conflict (name) do update set version = excluded.version, role = excluded.role, level = excluded.level,
            started_at = now(), seen_at = now(), is_draining = false`)
      )
    ),
  beat: ({ level, name, role, version }) =>
    Effect.map(
      sql<{ readonly isDraining: boolean; readonly inForce: number | null }>`
        insert into cluster_nodes (name, version, role, level) values (${name}, ${version}, ${role}, ${level})
        on conflict (name) do update set seen_at = now(), level = excluded.level
        returning is_draining as "isDraining", (select level from deployment_formats) as "inForce"`,
      ([row]) => ({ isDraining: row?.isDraining === true, inForce: row?.inForce ?? formatLevels.first })
    ),
  leave: (name) =>
    Effect.asVoid(sql`
    delete from cluster_nodes where name = ${name} or seen_at < now() - ${forgottenAfter}::interval`),
  list: sql<NodeRow>`
    select name, version, role, level, is_draining as "isDraining",
      (extract(epoch from started_at) * 1000)::float8 as "startedAt",
      (extract(epoch from now() - seen_at) * 1000)::float8 as "silentMillis"
    from cluster_nodes order by name`,
  drain: (name) =>
    Effect.map(
      sql`update cluster_nodes set is_draining = true where name = ${name} returning name`,
      ({ length }) => length > 0
    ),
  // One statement, because partitions wait for it, and no raise may come in between: it waits for a change of the
  // level, and the change sees it.
  take: (partition, { level, name, role, version }) =>
    Effect.flatMap(
      sql<{ readonly inForce: number }>`
        with in_force as (select level from deployment_formats for share),
        seen as (
          insert into cluster_nodes (name, version, role, level)
          select ${name}, ${version}, ${role}, ${level} from in_force
          where in_force.level between ${formats.known.oldest} and ${formats.known.newest}
          on conflict (name) do update set seen_at = now(), level = excluded.level),
        taken as (
          insert into cluster_partitions (partition, node)
          select ${partition}::integer, ${name} from in_force
          where in_force.level between ${formats.known.oldest} and ${formats.known.newest}
          on conflict (partition) do update set node = excluded.node, taken_at = now())
        select level as "inForce" from in_force`,
      ([row]) => formats.saw(row?.inForce ?? formatLevels.first)
    ),
  owners: sql<OwnerRow>`
    select partition, node, (extract(epoch from taken_at) * 1000)::float8 as "takenAt"
    from cluster_partitions order by partition`
})
