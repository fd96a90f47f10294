/** The contract of the cursors on PostgreSQL, and what happens when the server or a session goes away. */
import { assert, layer } from "@effect/vitest"
import { Cause, Context, Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as Engine from "../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import * as Parked from "../../src/engine/Parked.ts"
import { emptyLogHash } from "../../src/engine/ports/Checkpoints.ts"
import { type Cursors, ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import { layerLocal } from "../../src/engine/ports/Placement.ts"
import * as Reactor from "../../src/engine/Reactor.ts"
import * as Reactors from "../../src/engine/Reactors.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import { deferred } from "../../src/postgres/deferredStatements.ts"
import { keptErrorCharacters } from "../../src/postgres/errorText.ts"
import { cursorsContract, EffectsHarness } from "../engine/contracts/cursors.ts"
import { Counter } from "../engine/support/actors.ts"
import { engineTables, freshDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import { backendPid, terminate } from "./support.ts"

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* engineTables
  yield* sql`create table effects (id int8 generated always as identity primary key, content text not null unique)`
  return sql
})

cursorsContract(
  "PostgreSQL",
  Layer.merge(
    CursorsPostgres.layer,
    Layer.effect(
      EffectsHarness,
      Effect.gen(function* () {
        const sql = yield* tables
        return EffectsHarness.of({
          write: (partition, text) =>
            Effect.asVoid(sql`insert into effects (content) values (${`${partition} ${text}`})`),
          written: (partition) =>
            Effect.map(
              sql<{ readonly content: string }>`select content from effects where content like ${`${partition} %`}`,
              (rows) => rows.map((row) => row.content.slice(`${partition} `.length))
            )
        })
      })
    )
  ).pipe(Layer.provide(freshDatabase()))
)

class Subject extends Context.Service<Subject, { readonly cursors: Cursors["Service"] }>()("test/Subject") {}

const start = { sequence: 0, hash: emptyLogHash }
const moveOf = (partition: number) => ({
  partition,
  reactor: "sql",
  from: start,
  to: { sequence: 1, hash: "a".repeat(64) }
})

layer(
  Layer.effect(
    Subject,
    Effect.gen(function* () {
      yield* tables
      return Subject.of({ cursors: yield* CursorsPostgres.make })
    })
  ).pipe(Layer.provideMerge(freshDatabase()), Layer.provideMerge(Logger.layer([]))),
  { excludeTestServices: true, timeout: patienceMillis }
)("cursors on PostgreSQL", (it) => {
  const insert = (content: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`insert into effects (content) values (${content})`)

  /** Ends the session of the running transaction, through another one. */
  const kill = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const pid = yield* backendPid
    yield* Effect.updateContext(
      terminate(pid),
      (context: Context.Context<SqlClient.SqlClient>) =>
        Context.omit(sql.transactionService)(context) as Context.Context<SqlClient.SqlClient>
    )
  })

  it.effect("a session that dies in the middle undoes everything and is worth trying again", () =>
    Effect.gen(function* () {
      const { cursors } = yield* Subject
      const failures = [
        Effect.gen(function* () {
          yield* insert("dies")
          yield* kill
          yield* insert("dies too")
        }),
        // The connection is gone when the savepoint should be undone.
        Effect.gen(function* () {
          yield* insert("dies")
          yield* cursors.attempt(Effect.andThen(kill, insert("dies too")))
        }),
        // Nothing notices before the commit.
        Effect.andThen(insert("dies"), kill)
      ]
      for (const [partition, effects] of failures.entries()) {
        const error = yield* Effect.flip(cursors.transact(moveOf(partition), effects))
        assert.strictEqual(error._tag, "CursorsUnavailable", `case ${partition}`)
        assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 0)
        yield* cursors.transact(moveOf(partition), insert(`lives ${partition}`))
      }
    })
  )

  it.effect("a deadlock is the store's, a violated constraint is the reactor's", () =>
    Effect.gen(function* () {
      const { cursors } = yield* Subject
      const sql = yield* SqlClient.SqlClient
      yield* insert("taken")
      const violation = yield* Effect.flip(cursors.transact(moveOf(10), insert("taken")))
      assert.strictEqual(violation._tag, "SqlError")
      yield* cursors.transact(
        moveOf(10),
        Effect.gen(function* () {
          const inside = yield* Effect.flip(cursors.attempt(insert("taken")))
          assert.strictEqual(inside._tag, "SqlError")
          yield* insert("goes on after a violation")
        })
      )
      yield* sql`create table pair (id int4 primary key, n int4 not null)`
      yield* sql`insert into pair values (1, 0), (2, 0)`
      let holding = 0
      const both = (first: number, second: number) =>
        Effect.gen(function* () {
          yield* sql`update pair set n = n + 1 where id = ${first}`
          holding++
          while (holding < 2) yield* Effect.sleep("5 millis")
          yield* sql`update pair set n = n + 1 where id = ${second}`
        })
      const results = yield* Effect.all(
        [
          Effect.result(cursors.transact(moveOf(11), both(1, 2))),
          Effect.result(cursors.transact(moveOf(12), both(2, 1)))
        ],
        { concurrency: 2 }
      )
      const failed = results.filter((result) => result._tag === "Failure")
      assert.strictEqual(failed.length, 1)
      assert.strictEqual(failed[0]?._tag === "Failure" && failed[0].failure._tag, "CursorsUnavailable")
    })
  )

  it.effect("a statement whose failure was swallowed does not let the cursor move", () =>
    Effect.gen(function* () {
      const { cursors } = yield* Subject
      const error = yield* Effect.flip(
        cursors.transact(moveOf(20), Effect.ignore(Effect.andThen(insert("lost"), insert("lost"))))
      )
      // The fault is the effects', so that it is tried as theirs, in the end one by one.
      assert.strictEqual(error._tag, "SqlError")
      assert.strictEqual((yield* cursors.read(20, "sql")).sequence, 0)
    })
  )

  it.effect(
    "a deferred statement of an attempt is the attempt's: its failure is undone with it, and the others go on",
    () =>
      Effect.gen(function* () {
        const { cursors } = yield* Subject
        const sql = yield* SqlClient.SqlClient
        const later = (content: string) => deferred(sql, sql`insert into effects (content) values (${content})`)
        yield* insert("there already")
        yield* cursors.transact(
          moveOf(25),
          Effect.gen(function* () {
            yield* cursors.attempt(later("of the first attempt"))
            const failed = yield* Effect.exit(cursors.attempt(later("there already")))
            assert.strictEqual(failed._tag, "Failure")
            yield* cursors.attempt(later("of the third attempt"))
          })
        )
        const rows = yield* sql`select 1 from effects where content like 'of the % attempt'`
        assert.strictEqual(rows.length, 2)
        assert.strictEqual((yield* cursors.read(25, "sql")).sequence, 1)
      })
  )

  it.effect("records that somebody else has taken off are not worked on a second time", () =>
    Effect.gen(function* () {
      const { cursors } = yield* Subject
      const record = {
        partition: 30,
        reactor: "sql",
        organization: "org",
        sequence: 1,
        index: 0,
        record: "{}",
        error: `a password? no: \0 and \ud800 and ${"x".repeat(5_000)}`
      }
      yield* cursors.transact(moveOf(30), cursors.park([record]))
      const [stored] = yield* cursors.parked(30, "sql", "org", 10)
      assert.strictEqual(stored?.error.length, keptErrorCharacters)
      const results = yield* Effect.all(
        [cursors.unpark([record], insert("retry a")), cursors.unpark([record], insert("retry b"))].map(Effect.result),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(results.map((result) => result._tag).sort(), ["Failure", "Success"])
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`select 1 from effects where content like 'retry%'`
      assert.strictEqual(rows.length, 1)
    })
  )

  it.effect("actions after the commit run even when the fiber is interrupted at that moment", () =>
    Effect.gen(function* () {
      const { cursors } = yield* Subject
      const outcomes = new Set<string>()
      for (let partition = 40; partition < 60; partition++) {
        let told = false
        const fiber = yield* Effect.forkScoped(
          cursors.transact(
            moveOf(partition),
            Effect.map(ReactorTransaction, ({ onCommit }) =>
              onCommit(() => {
                told = true
              })
            )
          )
        )
        for (let turn = 0; turn < partition - 40; turn++) yield* Effect.sleep(0)
        yield* Fiber.interrupt(fiber)
        const exit = yield* Fiber.await(fiber)
        const moved = (yield* cursors.read(partition, "sql")).sequence === 1
        assert.strictEqual(told, moved)
        outcomes.add(moved ? "moved" : "undone")
        if (exit._tag === "Failure") assert.isFalse(Cause.hasDies(exit.cause))
      }
      assert.isAbove(outcomes.size, 0)
    })
  )
})

layer(Layer.provideMerge(freshDatabase(), Logger.layer([])), { excludeTestServices: true, timeout: patienceMillis })(
  "a projection on PostgreSQL",
  (it) => {
    it.effect("waits for a table that is missing, parks nothing, and is built anew in one transaction", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* engineTables
        let failures = 0
        const projection = Reactor.make({
          name: "totals",
          parts: [
            Reactor.facts(
              Counter,
              (records) =>
                Effect.forEach(
                  records,
                  ({ fact, organization }) => sql`
                  insert into totals as t (organization, total) values (${organization}, ${fact._tag === "Added" ? fact.amount : 0})
                  on conflict (organization) do update set total = t.total + excluded.total`,
                  { discard: true }
                ).pipe(Effect.tapError(() => Effect.sync(() => void failures++))),
              {
                states: (counters) =>
                  Effect.asVoid(
                    Effect.forEach(
                      counters,
                      ({ organization, state }) => sql`insert into totals values (${organization}, ${state.total})`
                    )
                  )
              }
            )
          ]
        })
        const engineLayer = Engine.layer({
          actors: [Counter],
          reactors: [projection],
          config: { partitions: 4, checkpointFrames: 1 }
        }).pipe(Layer.provide([JournalMemory.layer, CheckpointsMemory.layer, CursorsPostgres.layer, layerLocal]))
        yield* Effect.gen(function* () {
          const engine = yield* Engine.Engine
          yield* engine.ready
          const organizations = Array.from({ length: 8 }, (_, index) => `org_${index}`)
          const addAll = (amount: number) =>
            Effect.forEach(organizations, (organization) =>
              engine.ask(Counter, { organization }, { _tag: "Add", amount })
            )
          yield* addAll(1)
          yield* addAll(2)
          // Three attempts of a batch and then one by one: a record that failed so often would be parked.
          yield* Effect.repeat(Effect.sleep("50 millis"), { times: 30 })
          assert.isAbove(failures, 3)
          assert.deepStrictEqual((yield* Parked.list("totals", { limit: 10 })).organizations, [])
          yield* sql`create table totals (organization text primary key, total int8 not null)`
          yield* Reactors.settled
          const totals = Effect.map(
            sql<{ readonly total: number }>`select total from totals order by organization`,
            (rows) => rows.map(({ total }) => total)
          )
          assert.deepStrictEqual(
            yield* totals,
            organizations.map(() => 3)
          )
          const failing = Effect.andThen(sql`delete from totals`, Effect.fail("not now" as const))
          assert.strictEqual(yield* Effect.flip(Reactors.rebuild({ reactor: "totals", clear: failing })), "not now")
          assert.deepStrictEqual(
            yield* totals,
            organizations.map(() => 3)
          )
          yield* Reactors.rebuild({ reactor: "totals", clear: Effect.asVoid(sql`delete from totals`) })
          yield* addAll(4)
          yield* Reactors.settled
          assert.deepStrictEqual(
            yield* totals,
            organizations.map(() => 7)
          )
          yield* Reactors.rebuild({ reactor: "totals", clear: Effect.asVoid(sql`delete from totals`), from: "states" })
          yield* addAll(1)
          yield* Reactors.settled
          assert.deepStrictEqual(
            yield* totals,
            organizations.map(() => 8)
          )
        }).pipe(Effect.provide(engineLayer))
      })
    )
  }
)
