/** The level of formats on a real PostgreSQL: who may run, who holds it down, and joins against raises. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as Nodes from "../../../src/postgres/cluster/nodes.ts"
import { createClusterTables, createFormatLevels } from "../../../src/postgres/cluster/tables.ts"
import * as Formats from "../../../src/postgres/clusterFormats.ts"
import { freshDatabase } from "../../support/database.ts"

/** A program that knows levels up to `newest`, as a node. */
const program = (newest: number, oldest = 1) =>
  Effect.gen(function* () {
    const formats = yield* Formats.make({ newest, oldest })
    const nodes = yield* Nodes.make(formats)
    const card = (name: string) => ({ name, version: `0.${newest}.0`, role: "all", level: newest })
    return {
      formats,
      join: (name: string) => nodes.join(card(name)),
      beat: (name: string) => nodes.beat(card(name)),
      take: (partition: number, name: string) => nodes.take(partition, card(name)),
      owners: nodes.owners,
      leave: nodes.leave
    }
  })

const inDatabase = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly level: number }>`select level from deployment_formats`, ([row]) => row!.level)
)

/** Everything as before the first node. */
const anew = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.andThen(sql`delete from cluster_nodes`, sql`update deployment_formats set level = 1`)
)

const tables = Layer.effectDiscard(Effect.andThen(createClusterTables, createFormatLevels))

layer(tables.pipe(Layer.provideMerge(freshDatabase()), Layer.provideMerge(Logger.layer([]))), {
  excludeTestServices: true
})("levels of formats", (it) => {
  it.effect("who runs alone puts its own in force, and an older program is refused from then on", () =>
    Effect.gen(function* () {
      yield* anew
      const [older, newer] = [yield* program(2), yield* program(3)]
      yield* older.formats.raiseAlone
      assert.strictEqual(older.formats.level(), 2)
      yield* newer.formats.look
      assert.strictEqual(newer.formats.level(), 2)
      yield* newer.formats.raiseAlone
      assert.strictEqual(yield* inDatabase, 3)
      for (const attempt of [older.formats.look, older.formats.raiseAlone, older.join("old")]) {
        const refused = yield* Effect.flip(attempt)
        assert.strictEqual(refused._tag, "FormatsRefused")
        assert.match(refused.message, /formats of level 3 are in force, and this version .* knows level 2/)
      }
      assert.strictEqual(yield* inDatabase, 3)
      const tooNew = yield* Effect.flip((yield* program(6, 4)).formats.look)
      assert.match(tooNew.message, /formats of level 3 are in force.*works beside level 4 and later/)
    })
  )

  it.effect("it rises when the last node has gone that does not know it", () =>
    Effect.gen(function* () {
      yield* anew
      const [older, newer] = [yield* program(1), yield* program(2)]
      yield* older.join("one")
      yield* newer.join("two")
      yield* newer.formats.raise(true)
      assert.strictEqual(newer.formats.level(), 1)
      yield* older.leave("one")
      yield* newer.formats.raise(true)
      assert.strictEqual(newer.formats.level(), 2)
      // One that stood still meanwhile learns it with its next sign of life.
      const { inForce } = yield* older.beat("one")
      assert.strictEqual((yield* Effect.flip(older.formats.saw(inForce)))._tag, "FormatsRefused")
    })
  )

  it.effect("a node that was killed holds it down for a minute, and an upgraded one of its name does not", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* anew
      const [older, newer] = [yield* program(1), yield* program(2)]
      yield* older.join("one")
      yield* older.join("two")
      yield* newer.join("three")
      yield* newer.join("one")
      yield* sql`update cluster_nodes set seen_at = now() - interval '59 seconds' where name = 'two'`
      yield* newer.formats.raise(true)
      assert.strictEqual(yield* inDatabase, 1)
      yield* sql`update cluster_nodes set seen_at = now() - interval '61 seconds' where name = 'two'`
      yield* newer.formats.raise(true)
      assert.strictEqual(yield* inDatabase, 2)
    })
  )

  it.effect(
    "a node takes no partition once formats are in force that it does not know, and what it takes is a sign of life",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* anew
        yield* sql`delete from cluster_partitions`
        const [older, newer] = [yield* program(1), yield* program(2)]
        const nodesOf = Effect.map(newer.owners, (rows) => rows.map(({ node, partition }) => `${partition} ${node}`))
        const silent = sql`update cluster_nodes set seen_at = now() - interval '61 seconds' where name = 'old'`
        yield* older.join("old")
        yield* newer.join("new")
        yield* silent
        yield* older.take(3, "old")
        yield* newer.formats.raise(true)
        assert.strictEqual(yield* inDatabase, 1)
        yield* silent
        yield* newer.formats.raise(true)
        assert.strictEqual(yield* inDatabase, 2)
        yield* newer.take(3, "new")
        assert.strictEqual((yield* Effect.flip(older.take(3, "old")))._tag, "FormatsRefused")
        assert.deepStrictEqual(yield* nodesOf, ["3 new"])
      })
  )

  it.effect("whoever has just come back leaves nobody out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* anew
      const [older, newer] = [yield* program(1), yield* program(2)]
      yield* older.join("old")
      yield* newer.join("new")
      yield* sql`update cluster_nodes set seen_at = now() - interval '61 seconds' where name = 'old'`
      yield* newer.formats.raise(false)
      assert.strictEqual(yield* inDatabase, 1)
    })
  )

  it.effect("a node that joins while it is raised is refused, or holds it down", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 30; round++) {
        yield* anew
        const [older, newer] = [yield* program(1), yield* program(2)]
        yield* newer.join("new")
        const [joined] = yield* Effect.all(
          [
            Effect.result(older.join("old")),
            Effect.result(newer.formats.raise(true)),
            Effect.result(newer.formats.raise(true))
          ],
          { concurrency: "unbounded" }
        )
        const level = yield* inDatabase
        assert.strictEqual(level, Result.isSuccess(joined) ? 1 : 2)
      }
    })
  )
})
