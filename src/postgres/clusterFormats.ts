/**
 * Stores the present level of formats of a deployment (`common/formats.ts`) in its database. A process checks it before
 * it does anything there, and is refused if it does not know the level. A process that runs alone sets its own newest
 * level; nodes that share the partitions raise it when all of them know a higher one. Needs `SqlClient`.
 */
import { Effect, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import {
  type FormatsRefused,
  formatLevels,
  type KnownFormats,
  knownFormats,
  raisedLevel,
  type SeenLevel,
  type ShownNode,
  seenLevel
} from "../common/formatLevels.ts"
import { version } from "../common/version.ts"

const gaugeOf = (kind: "in force" | "known") =>
  Metric.gauge("sluice_format_level", {
    description: "The newest level of formats that this program knows, and the one in force in the deployment",
    attributes: { kind }
  })

export interface Formats extends SeenLevel {
  readonly known: KnownFormats
  /** Reads the level, which no other process raises until the transaction around it ends. */
  readonly look: Effect.Effect<void, FormatsRefused | SqlError.SqlError>
  /** Puts the newest level of this program in force. For a process that keeps all others out. */
  readonly raiseAlone: Effect.Effect<void, FormatsRefused | SqlError.SqlError>
  /** Raises the level to what every node knows; one that `forgets` leaves out those that have been silent for long. */
  readonly raise: (forgets: boolean) => Effect.Effect<void, FormatsRefused | SqlError.SqlError>
}

export const make = (known: KnownFormats = knownFormats): Effect.Effect<Formats, never, SqlClient.SqlClient> =>
  Effect.map(SqlClient.SqlClient, (sql) => {
    const seen = seenLevel(known, version)
    const saw: Formats["saw"] = Effect.fnUntraced(function* (level) {
      yield* seen.saw(level)
      yield* Metric.update(gaugeOf("known"), known.newest)
      yield* Metric.update(gaugeOf("in force"), seen.level())
    })
    const read = (lock: "share" | "update") =>
      Effect.map(
        sql<{ readonly level: number }>`select level from deployment_formats for ${sql.literal(lock)}`,
        ([row]) => row?.level ?? formatLevels.first
      )
    const set = Effect.fnUntraced(function* (before: number, level: number) {
      yield* saw(before)
      if (level <= before) return
      yield* sql`update deployment_formats set level = ${level}, raised_at = now(), raised_by = ${version}`
      yield* Effect.logInfo(`Formats of level ${level} are in force: every node knows them`)
    })
    /** After the transaction, because what it has raised is in force when it is stored. */
    const settled = <E>(change: Effect.Effect<number, E>) =>
      Effect.flatMap(sql.withTransaction(change), (level) => saw(level))
    return {
      known,
      level: seen.level,
      saw,
      look: Effect.flatMap(read("share"), saw),
      raiseAlone: settled(
        Effect.flatMap(read("update"), (before) => {
          const level = Math.max(before, known.newest)
          return Effect.as(set(before, level), level)
        })
      ),
      raise: (forgets) =>
        settled(
          Effect.gen(function* () {
            // A joining node waits for this lock, or the statement after it sees the node.
            const before = yield* read("update")
            const nodes = yield* sql<ShownNode>`
              select level, (extract(epoch from now() - seen_at) * 1000)::float8 as "silentMillis" from cluster_nodes`
            const level = raisedLevel(before, nodes, forgets)
            yield* set(before, level)
            return level
          })
        )
    }
  })

/** Refuses a program that does not know the formats in force, before it does anything. */
export const requireFormats = Effect.flatMap(make(), ({ look }) => look)
