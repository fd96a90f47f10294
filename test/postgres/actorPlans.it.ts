/**
 * How PostgreSQL plans the statements on actors' rows while it knows nothing of the table: no statistics, or a plan
 * that a session has kept from when there was nothing. The plans are read from the server, for the statements as the
 * adapter sends them.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import type { ActorAddress } from "../../src/engine/address.ts"
import { maximumLoadBatch } from "../../src/engine/limits.ts"
import { Checkpoints } from "../../src/engine/ports/Checkpoints.ts"
import * as CheckpointsPostgres from "../../src/postgres/CheckpointsPostgres.ts"
import { engineTables, freshDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"

const partition = 2
const rows = 20_000
const through = 1_000

const absent = Array.from(
  { length: maximumLoadBatch },
  (_, index): ActorAddress => ({ organization: `org_${index % 100}`, kind: "account", key: `absent ${index}` })
)

/** A node of a plan as `explain (format json)` shows it. */
interface PlanNode {
  readonly "Node Type": string
  readonly "Index Name"?: string
  readonly "Relation Name"?: string
  readonly "Shared Hit Blocks"?: number
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** What reads a table: `the index`, or `the kind of scan` of the table. */
const scansOf = (node: PlanNode): ReadonlyArray<string> => {
  const below = (node.Plans ?? []).flatMap(scansOf)
  const own = node["Index Name"] ?? (node["Relation Name"] === "engine_actors" ? node["Node Type"] : undefined)
  return own === undefined || own === "Bitmap Heap Scan" || own === "ModifyTable" ? below : [own, ...below]
}

const list = (names: ReadonlyArray<string>) => `array[${names.map((name) => `'${name}'`).join(",")}]`

/** The arguments of the statement that loads `absent`, as SQL. */
const absentArguments = [
  list(absent.map(({ organization }) => organization)),
  list(absent.map(({ kind }) => kind)),
  list(absent.map(({ key }) => key)),
  partition,
  through
].join(", ")

/** The texts of the statements on actors' rows that an effect sends. */
const statementsOf = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const texts: Array<string> = []
  yield* Effect.provideService(effect, Statement.CurrentTransformer, (statement) =>
    Effect.sync(() => {
      const [text] = statement.compile()
      if (text.includes("engine_actors")) texts.push(text)
      return statement
    })
  )
  return texts
})

/** Runs a text that holds one statement and no parameters. */
const run = (text: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, unknown>>(text).unprepared)

const explain = (execution: string) =>
  Effect.map(run(`explain (analyze, buffers, format json) ${execution}`), ([row]) => {
    // This shape is PostgreSQL's.
    const [{ Plan }] = row?.["QUERY PLAN"] as [{ readonly Plan: PlanNode }]
    return Plan
  })

const fill = run(`
  insert into engine_actors (partition, organization, kind, key, sequence, version, state, wake_at)
  select ${partition}, 'org_' || n % 100, 'account', 'key ' || n, 1 + n / 500, 1, '{}', n from generate_series(1, ${rows}) n`)

const setPlans = (mode: string) => run(`set plan_cache_mode = ${mode}`)

/** One session, so that what it sets and prepares stays in force. */
const database = (name: string, body: Effect.Effect<void, unknown, Checkpoints | SqlClient.SqlClient>) =>
  layer(
    CheckpointsPostgres.layer.pipe(
      Layer.provideMerge(Layer.effectDiscard(engineTables)),
      Layer.provideMerge(freshDatabase({ maxConnections: 1 }))
    ),
    { excludeTestServices: true, timeout: patienceMillis }
  )((it) => {
    it.effect(name, () => Effect.andThen(run("alter table engine_actors set (autovacuum_enabled = off)"), body))
  })

const modes = ["force_generic_plan", "force_custom_plan"]

database(
  "absent actors are looked up by the primary key, with no statistics and with a plan from before there were rows",
  Effect.gen(function* () {
    const store = yield* Checkpoints
    const [text, ...others] = yield* statementsOf(store.load(partition, absent, through))
    assert.deepStrictEqual(others, [])
    const plans = Effect.fnUntraced(function* (moment: string) {
      for (const mode of modes) {
        yield* setPlans(mode)
        yield* run(`prepare ${mode}_${moment} as ${text}`)
        for (const prepared of new Set([`${mode}_empty`, `${mode}_${moment}`])) {
          const plan = yield* explain(`execute ${prepared} (${absentArguments})`)
          assert.deepStrictEqual(scansOf(plan), ["engine_actors_pkey"], `${prepared}, ${moment}`)
          // A descent into the index for each of them, and next to nothing of the table.
          assert.isBelow(plan["Shared Hit Blocks"] ?? Number.NaN, 8 * maximumLoadBatch, `${prepared}, ${moment}`)
        }
      }
    })
    yield* plans("empty")
    yield* fill
    yield* plans("filled")
    const [known] = yield* run(`
      select reltuples, (select count(*) from pg_stats where tablename = 'engine_actors') as statistics
      from pg_class where relname = 'engine_actors'`)
    assert.deepStrictEqual(known, { reltuples: -1, statistics: 0 })
  })
)

database(
  "a look-up and a page of timers read few rows after the table has grown, whatever they were planned for before",
  Effect.gen(function* () {
    const store = yield* Checkpoints
    const page = store.timers(partition, { through, after: undefined, limit: 100 })
    const load = store.load(partition, absent, through)
    const scanned = Effect.andThen(
      run("select pg_stat_force_next_flush()"),
      Effect.map(
        run(
          "select seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_user_tables where relname = 'engine_actors'"
        ),
        ([row]) => Number(row?.rows)
      )
    )
    // With an empty table that is known to be empty, reading all of it is the best plan.
    yield* run("analyze engine_actors")
    yield* setPlans("force_generic_plan")
    assert.deepStrictEqual([yield* load, yield* page], [[], []])
    yield* fill
    const before = yield* scanned
    assert.deepStrictEqual(yield* load, [])
    assert.strictEqual((yield* page).length, 100)
    assert.isBelow((yield* scanned) - before, rows / 10)
  })
)

database(
  "removals find rows by their sequence",
  Effect.gen(function* () {
    const store = yield* Checkpoints
    const save = (previous: number, sequence: number) =>
      store.save({
        record: { partition, sequence, hash: "0".repeat(64), epoch: 1, number: sequence, now: 1, signalSequence: 0 },
        previous,
        rows: []
      })
    yield* fill
    yield* run("analyze engine_actors")
    yield* save(0, 30)
    yield* save(30, 41)
    const pruning = yield* statementsOf(store.prune(partition))
    const discarding = yield* statementsOf(store.discardAbove(partition, 40))
    assert.deepStrictEqual([pruning.length, discarding.length], [2, 2])
    for (const [index, text] of pruning.entries()) {
      yield* run(`prepare prune_${index} as ${text}`)
      const plan = yield* explain(`execute prune_${index} (${partition}, 36, 38)`)
      assert.include(scansOf(plan), "engine_actors_lasting")
    }
    for (const [index, name] of ["engine_actors_lasting", "engine_actors_by_expiry"].entries()) {
      yield* run(`prepare discard_${index} as ${discarding[index]}`)
      assert.deepStrictEqual(scansOf(yield* explain(`execute discard_${index} (${partition}, 38)`)), [name])
    }
  })
)
