/** The work queue on a real PostgreSQL: every job is worked on at least once, and every outcome counts for its own attempt only. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type JobOutcome, make, maximumBatch, type NewJob, type WorkQueue } from "../../src/postgres/WorkQueue.ts"
import { createWorkQueue } from "../../src/postgres/workQueueTable.ts"
import { freshDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"

class Subject extends Context.Service<Subject, { readonly queue: WorkQueue }>()("test/Subject") {}

let nextPartition = 0

const fresh = Effect.map(Subject, ({ queue }) => ({ queue, partition: nextPartition++ }))

const minute = 60_000

const job = (partition: number, name: string, more: Partial<NewJob> = {}): NewJob => ({
  id: `${partition} ${name}`,
  partition,
  group: "endpoint",
  lane: 0,
  dueAt: 1_000,
  expiresAt: null,
  payload: `payload of ${name}`,
  ...more
})

const all = { group: "endpoint", lane: 0, limit: 100 }

const namesOf = (jobs: ReadonlyArray<{ readonly id: string }>) => jobs.map(({ id }) => id.slice(id.indexOf(" ") + 1))

const done = (jobs: ReadonlyArray<{ readonly id: string; readonly attempt: number }>): ReadonlyArray<JobOutcome> =>
  jobs.map(({ attempt, id }) => ({ _tag: "Done", id, attempt }))

layer(
  Layer.effect(
    Subject,
    Effect.gen(function* () {
      yield* createWorkQueue("jobs")
      return Subject.of({ queue: yield* make("jobs") })
    })
  ).pipe(Layer.provideMerge(freshDatabase())),
  { excludeTestServices: true, timeout: patienceMillis }
)("the work queue", (it) => {
  it.effect("a job is taken, whole, when it is due, and not again before its time is over", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const payload = `{"quote":"'\\"","line":"\\n","wide":"🐎"}`
      yield* queue.put([job(partition, "a", { payload, expiresAt: 90_000, lane: 3 })])
      const claim = [{ ...all, lane: 3 }]
      assert.deepStrictEqual(yield* queue.take(partition, claim, { now: 999, leasedUntil: 2_000 }), [])
      const taken = yield* queue.take(partition, claim, { now: 1_000, leasedUntil: 2_000 })
      assert.deepStrictEqual(taken, [
        {
          id: `${partition} a`,
          group: "endpoint",
          lane: 3,
          attempt: 1,
          leasedUntil: 2_000,
          expiresAt: 90_000,
          payload
        }
      ])
      assert.deepStrictEqual(yield* queue.take(partition, claim, { now: 1_999, leasedUntil: 9_000 }), [])
      const again = yield* queue.take(partition, claim, { now: 2_000, leasedUntil: 9_000 })
      assert.deepStrictEqual([again[0]?.attempt, again[0]?.leasedUntil], [2, 9_000])
    })
  )

  it.effect("the same job put in twice is one", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      yield* queue.put([job(partition, "a"), job(partition, "b"), job(partition, "a")])
      yield* queue.put([job(partition, "a", { payload: "other" })])
      yield* queue.put([])
      const taken = yield* queue.take(partition, [all], { now: minute, leasedUntil: 2 * minute })
      assert.deepStrictEqual(namesOf(taken).sort(), ["a", "b"])
      assert.isFalse(taken.some((one) => one.payload === "other"))
    })
  )

  it.effect("a job may be put in as taken, and is free again when nothing was heard", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      yield* queue.put([job(partition, "a", { leasedUntil: 5_000 }), job(partition, "b", { leasedUntil: 5_000 })])
      assert.deepStrictEqual(yield* queue.take(partition, [all], { now: 4_999, leasedUntil: minute }), [])
      const counted = yield* queue.settle(done([{ id: `${partition} a`, attempt: 1 }]))
      assert.deepStrictEqual([...counted], [`${partition} a`])
      const taken = yield* queue.take(partition, [all], { now: 5_000, leasedUntil: minute })
      assert.deepStrictEqual([namesOf(taken), taken[0]?.attempt], [["b"], 2])
    })
  )

  it.effect("claims are served group by group and lane by lane, the longest waiting first", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const jobs = ["x", "y", "z"].flatMap((group) =>
        [0, 1].flatMap((lane) =>
          [3, 1, 2].map((dueAt) => job(partition, `${group}${lane}${dueAt}`, { group, lane, dueAt }))
        )
      )
      yield* queue.put(jobs)
      yield* queue.put([job(partition + 100_000, "elsewhere", { group: "x", dueAt: 0 })])
      const taken = yield* queue.take(
        partition,
        [
          { group: "x", lane: 0, limit: 2 },
          { group: "x", lane: 1, limit: 1 },
          { group: "y", lane: 1, limit: 10 },
          { group: "nobody", lane: 0, limit: 10 },
          { group: "z", lane: 0, limit: 0 }
        ],
        { now: minute, leasedUntil: 2 * minute }
      )
      assert.deepStrictEqual(namesOf(taken).sort(), ["x01", "x02", "x11", "y11", "y12", "y13"])
    })
  )

  it.effect("claims of several partitions are served together, each from its own", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const other = partition + 200_000
      yield* queue.put([
        job(partition, "a", { group: "x" }),
        job(other, "b", { group: "x" }),
        job(other, "c", { group: "y" }),
        job(other, "d", { group: "y", dueAt: 2 * minute })
      ])
      const taken = yield* queue.takeFrom(
        [
          { partition, group: "x", lane: 0, limit: 10 },
          { partition, group: "y", lane: 0, limit: 10 },
          { partition: other, group: "y", lane: 0, limit: 10 }
        ],
        { now: minute, leasedUntil: 2 * minute }
      )
      assert.deepStrictEqual(taken.map(({ id }) => id).sort(), [`${partition} a`, `${other} c`].sort())
    })
  )

  it.effect("the lanes that hold something are listed with their earliest, page by page, without what is parked", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const jobs: Array<NewJob> = []
      for (let group = 0; group < 30; group++) {
        for (let index = 0; index < 20; index++) {
          const lane = index % 3
          const name = `${group}/${index}`
          jobs.push(
            job(partition, name, { group: `g${String(group).padStart(2, "0")}`, lane, dueAt: 100 * group + index })
          )
        }
      }
      yield* queue.put(jobs)
      yield* queue.put([
        job(partition, "parked", { group: "only parked", leasedUntil: 1 }),
        job(partition, "", { group: "" })
      ])
      yield* queue.settle([{ _tag: "Parked", id: `${partition} parked`, attempt: 1, error: "no" }])
      const expected = [
        { group: "", lane: 0, dueAt: 1_000 },
        ...Array.from({ length: 90 }, (_, index) => ({
          group: `g${String(Math.floor(index / 3)).padStart(2, "0")}`,
          lane: index % 3,
          dueAt: 100 * Math.floor(index / 3) + (index % 3)
        }))
      ]
      assert.deepStrictEqual(yield* queue.due(partition, { limit: 1_000 }), expected)
      const first = yield* queue.due(partition, { limit: 40 })
      const second = yield* queue.due(partition, { limit: 1_000, after: first[39]! })
      assert.deepStrictEqual([...first, ...second], expected)
    })
  )

  it.effect("many takers at once never take the same job", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      yield* queue.put(Array.from({ length: 500 }, (_, index) => job(partition, String(index), { dueAt: index })))
      const takers = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () =>
          Effect.gen(function* () {
            const mine: Array<string> = []
            while (true) {
              const taken = yield* queue.take(partition, [{ ...all, limit: 20 }], {
                now: minute,
                leasedUntil: 9 * minute
              })
              mine.push(...namesOf(taken))
              const left = yield* queue.due(partition, { limit: 1 })
              if (taken.length === 0 && (left[0]?.dueAt ?? minute) >= minute) return mine
            }
          }),
        { concurrency: "unbounded" }
      )
      const taken = takers.flat()
      assert.strictEqual(taken.length, 500)
      assert.strictEqual(new Set(taken).size, 500)
    })
  )

  it.effect("outcomes of every kind are recorded with one statement, each for its own attempt only", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const names = ["done", "again", "returned", "parked", "late"]
      yield* queue.put(names.map((name) => job(partition, name)))
      yield* queue.take(partition, [all], { now: minute, leasedUntil: 2 * minute })
      const id = (name: string) => `${partition} ${name}`
      const counted = yield* queue.settle([
        { _tag: "Done", id: id("done"), attempt: 1 },
        { _tag: "Again", id: id("again"), attempt: 1, dueAt: 5 * minute, lane: 7, error: "503 from \0 the target" },
        { _tag: "Returned", id: id("returned"), attempt: 1, dueAt: 3 * minute },
        { _tag: "Parked", id: id("parked"), attempt: 1, error: "cannot be read" },
        { _tag: "Done", id: id("late"), attempt: 0 },
        { _tag: "Done", id: id("nobody"), attempt: 1 }
      ])
      assert.deepStrictEqual([...counted].sort(), ["again", "done", "parked", "returned"].map(id).sort())
      const at = (now: number, lane = 0) =>
        Effect.map(queue.take(partition, [{ ...all, lane }], { now, leasedUntil: 99 * minute }), (jobs) =>
          jobs.map((one) => [one.id, one.attempt])
        )
      assert.deepStrictEqual(yield* at(2 * minute), [[id("late"), 2]])
      assert.deepStrictEqual(yield* at(3 * minute), [[id("returned"), 1]])
      assert.deepStrictEqual(yield* at(4 * minute, 7), [])
      assert.deepStrictEqual(yield* at(5 * minute, 7), [[id("again"), 2]])
      assert.deepStrictEqual(yield* queue.settle([]), new Set())
      const [parked] = yield* queue.parked(partition, { limit: 10 })
      assert.deepStrictEqual(parked, {
        id: id("parked"),
        group: "endpoint",
        lane: 0,
        attempts: 1,
        expiresAt: null,
        payload: "payload of parked",
        error: "cannot be read"
      })
    })
  )

  it.effect("a late outcome, after another has taken the job, changes nothing", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      yield* queue.put([job(partition, "a")])
      const [first] = yield* queue.take(partition, [all], { now: 1_000, leasedUntil: 2_000 })
      const [second] = yield* queue.take(partition, [all], { now: 2_000, leasedUntil: 3_000 })
      assert.strictEqual((yield* queue.settle(done([first!]))).size, 0)
      assert.strictEqual((yield* queue.settle([{ _tag: "Parked", ...first!, error: "late" }])).size, 0)
      assert.strictEqual((yield* queue.keep([first!], 9_000)).size, 0)
      assert.strictEqual((yield* queue.settle(done([second!]))).size, 1)
      assert.strictEqual((yield* queue.settle(done([second!]))).size, 0)
    })
  )

  it.effect("who needs longer keeps the job", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      yield* queue.put([job(partition, "a"), job(partition, "b")])
      const taken = yield* queue.take(partition, [all], { now: 1_000, leasedUntil: 2_000 })
      const kept = yield* queue.keep(
        taken.filter((one) => one.id.endsWith("a")),
        9_000
      )
      assert.deepStrictEqual([...kept], [`${partition} a`])
      assert.deepStrictEqual(namesOf(yield* queue.take(partition, [all], { now: 3_000, leasedUntil: 4_000 })), ["b"])
    })
  )

  it.effect("what is put in or recorded in a transaction that fails was not", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const sql = yield* SqlClient.SqlClient
      yield* queue.put([job(partition, "there")])
      const [taken] = yield* queue.take(partition, [all], { now: 1_000, leasedUntil: 2_000 })
      const failed = yield* Effect.flip(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* queue.put([job(partition, "never")])
            yield* queue.settle(done([taken!]))
            return yield* Effect.fail("rolled back" as const)
          })
        )
      )
      assert.strictEqual(failed, "rolled back")
      const left = yield* queue.take(partition, [all], { now: minute, leasedUntil: 2 * minute })
      assert.deepStrictEqual(namesOf(left), ["there"])
    })
  )

  it.effect("expired jobs go, except those that are being worked on", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      yield* queue.put([
        job(partition, "old", { expiresAt: 5_000 }),
        job(partition, "old too", { expiresAt: 5_000 }),
        job(partition, "parked", { expiresAt: 5_000, leasedUntil: 1 }),
        job(partition, "taken", { expiresAt: 5_000, leasedUntil: 7_000 }),
        job(partition, "later", { expiresAt: 9_000 }),
        job(partition, "ever")
      ])
      yield* queue.settle([{ _tag: "Parked", id: `${partition} parked`, attempt: 1, error: "no" }])
      assert.deepStrictEqual(yield* queue.expire(partition, { now: 4_999, limit: 10 }), [])
      const first = yield* queue.expire(partition, { now: 5_000, limit: 2 })
      const second = yield* queue.expire(partition, { now: 5_000, limit: 10 })
      assert.strictEqual(first.length, 2)
      assert.deepStrictEqual(namesOf([...first, ...second]).sort(), ["old", "old too", "parked"])
      assert.deepStrictEqual(namesOf(yield* queue.expire(partition, { now: 7_000, limit: 10 })), ["taken"])
    })
  )

  it.effect("a group is removed with everything in it, and others stay", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      for (let piece = 0; piece < 21; piece++) {
        yield* queue.put(Array.from({ length: 1_000 }, (_, index) => job(partition, `${piece}/${index}`)))
      }
      yield* queue.put([job(partition, "other", { group: "other" }), job(partition, "parked", { leasedUntil: 1 })])
      yield* queue.settle([{ _tag: "Parked", id: `${partition} parked`, attempt: 1, error: "no" }])
      assert.strictEqual(yield* queue.removeGroup(partition, "endpoint"), 21_001)
      assert.deepStrictEqual(yield* queue.backlog(partition), { pending: 1, parked: 0, oldestDueAt: 1_000 })
      assert.strictEqual(yield* queue.removeGroup(partition, "endpoint"), 0)
    })
  )

  it.effect("parked jobs wait until an operator lets them go on", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const names = ["a", "b", "c"]
      assert.deepStrictEqual([...(yield* queue.holding([partition]))], [])
      yield* queue.put(names.map((name) => job(partition, name, { group: name === "c" ? "other" : "endpoint" })))
      assert.deepStrictEqual([...(yield* queue.holding([-1, partition]))], [partition])
      const claims = [all, { ...all, group: "other" }]
      const taken = yield* queue.take(partition, claims, { now: 1_000, leasedUntil: 2_000 })
      yield* queue.settle(taken.map(({ attempt, id }) => ({ _tag: "Parked", id, attempt, error: `broken ${id}` })))
      assert.deepStrictEqual(yield* queue.take(partition, claims, { now: minute, leasedUntil: 2 * minute }), [])
      assert.deepStrictEqual(yield* queue.backlog(partition), { pending: 0, parked: 3, oldestDueAt: null })
      assert.deepStrictEqual([...(yield* queue.holding([partition, -1]))], [partition])
      assert.deepStrictEqual(namesOf(yield* queue.parked(partition, { limit: 10 })), names)
      assert.deepStrictEqual(namesOf(yield* queue.parked(partition, { limit: 10, group: "other" })), ["c"])
      const [first] = yield* queue.parked(partition, { limit: 1 })
      assert.deepStrictEqual(namesOf(yield* queue.parked(partition, { limit: 10, after: first!.id })), ["b", "c"])
      assert.strictEqual(yield* queue.unpark([first!.id, "nobody"], 3_000), 1)
      const again = yield* queue.take(partition, claims, { now: 3_000, leasedUntil: 4_000 })
      assert.deepStrictEqual([namesOf(again), again[0]?.attempt], [["a"], 1])
    })
  )

  it.effect("a few are found and recorded among many without looking at all of them", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into jobs select 'many ' || lpad(n::text, 9, '0'), ${partition}::int4, 'g' || n % 100, 0, 1000, 0, null, 'x', null
        from generate_series(1, 100000) n`
      yield* sql`vacuum analyze jobs`
      const scanned = Effect.gen(function* () {
        yield* sql`select pg_stat_force_next_flush()`
        const [row] = yield* sql<{ readonly rows: number }>`
          select coalesce(seq_tup_read, 0) as rows from pg_stat_user_tables where relname = 'jobs'`
        return row!.rows
      })
      const before = yield* scanned
      // A plan for the values at hand at first, one for all values after the fifth time.
      for (let round = 0; round < 8; round++) {
        const due = yield* queue.due(partition, { limit: 100 })
        const claims = due.map(({ group, lane }) => ({ group, lane, limit: 2 }))
        const taken = yield* queue.take(partition, claims, { now: 1_000, leasedUntil: minute })
        assert.strictEqual(taken.length, 200)
        yield* queue.keep(taken, 2 * minute)
        assert.strictEqual((yield* queue.settle(done(taken))).size, 200)
      }
      assert.strictEqual((yield* scanned) - before, 0)
      yield* sql`delete from jobs where partition = ${partition}`
    })
  )

  it.effect("a list that no statement should take is a defect, and nothing of it is put in", () =>
    Effect.gen(function* () {
      const { queue, partition } = yield* fresh
      const many = Array.from({ length: maximumBatch + 1 }, (_, index) => job(partition, String(index)))
      const exit = yield* Effect.exit(queue.put(many))
      assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit))
      assert.deepStrictEqual(yield* queue.due(partition, { limit: 10 }), [])
    })
  )

  it.effect("a table's name is no place for anything else", () =>
    Effect.gen(function* () {
      for (const name of ["", "Jobs", "jobs; drop table jobs", "jobs'", "1jobs"]) {
        const exit = yield* Effect.exit(make(name))
        assert.strictEqual(exit._tag, "Failure")
      }
    })
  )
})
