import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Result } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"
import { Directory } from "../../src/directory/Directory.ts"
import { Ingestions } from "../../src/directory/Ingestions.ts"
import * as Notifications from "../../src/postgres/Notifications.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { TestDatabase } from "../support/database.ts"
import { canadianLines, directoryDatabase, ingest, temporaryFolder, until, usLines, writeLines } from "./support.ts"

/** The service on a real database: loading, swapping on every node, and living through the database's absence. */

/** The directory as a node of its own has it, with its own pool and its own ear. */
const makeNode = Effect.gen(function* () {
  const { config } = yield* TestDatabase
  const context = yield* Layer.build(
    Layer.fresh(
      Directory.layer.pipe(
        Layer.provide(Notifications.layer()),
        Layer.provide(PgClient.layer({ ...config, maxConnections: 2 }))
      )
    )
  )
  return yield* Effect.provide(Directory, context)
})

const ready = (directory: Directory["Service"]) => until(directory.ready)

/** Once the directory holds so many records. */
const holds = (directory: Directory["Service"], records: number) =>
  until(Effect.map(directory.statistics, (statistics) => statistics.total_records === records))

const manhattan = usLines("212")
const toronto = canadianLines("416")

layer(directoryDatabase, { excludeTestServices: true })("the directory on PostgreSQL", (it) => {
  it.effect("[directory 3.6] is ready with an empty database, and answers from no records", () =>
    Effect.gen(function* () {
      const directory = yield* makeNode
      yield* ready(directory)
      assert.deepStrictEqual(yield* directory.carriers(), {
        carriers: [],
        pagination: { limit: 50, offset: 0, total: 0 }
      })
      const error = yield* Effect.flip(directory.areaCode("212"))
      assert.strictEqual(error._tag, "EntryNotFound")
      // Null before the first ingestion.
      assert.strictEqual(yield* directory.lastIngestion, null)
      assert.deepStrictEqual((yield* directory.statistics).last_updated, { NANPA: null, CNAC: null })
    })
  )

  it.effect("every node swaps by itself when an ingestion has ended", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const nodes = yield* Effect.all([makeNode, makeNode])
      yield* Effect.forEach(nodes, ready)
      yield* ingest([writeLines(folder, manhattan)])
      yield* Effect.forEach(nodes, (node) => holds(node, 800))
      yield* ingest([writeLines(folder, toronto)])
      yield* Effect.forEach(nodes, (node) => holds(node, 1600))
      for (const node of nodes) {
        const area = yield* node.areaCode("416", { limit: 1 })
        assert.deepStrictEqual(area, {
          npa: "416",
          state: "ON",
          country: "CA",
          total_exchanges: 800,
          exchanges: [
            { nxx: "200", ocn: "6574", company_name: "Bell Mobility", rate_center: "Toronto", status: "ASSIGNED" }
          ],
          pagination: { limit: 1, offset: 0, total: 800 }
        })
      }
    })
  )

  it.effect("a number that a file leaves out is gone from every node, and there again with the next one", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const nodes = yield* Effect.all([makeNode, makeNode])
      yield* Effect.forEach(nodes, (node) => holds(node, 1600))
      yield* ingest([
        writeLines(
          folder,
          manhattan.filter((line) => !line.includes("212-200"))
        )
      ])
      yield* Effect.forEach(nodes, (node) => holds(node, 1599))
      yield* ingest([writeLines(folder, manhattan)])
      yield* Effect.forEach(nodes, (node) => holds(node, 1600))
    })
  )

  it.effect("a snapshot stays whole while another one takes its place", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const directory = yield* makeNode
      yield* ready(directory)
      const before = yield* directory.snapshot
      const kept = Result.getOrThrow(before.answers.areaCode("212", { limit: 1 }))
      const renamed = manhattan.map((line) => (line.includes("212-200") ? line.replace('"ONVOY', '"ENVOY') : line))
      yield* ingest([writeLines(folder, renamed)])
      yield* until(Effect.map(directory.snapshot, (snapshot) => snapshot.index !== before.index))
      assert.strictEqual(Result.getOrThrow(before.answers.areaCode("212", { limit: 1 })), kept)
      const area = yield* directory.areaCode("212", { limit: 1 })
      assert.strictEqual(area.exchanges[0]?.company_name, "ENVOY, LLC- NY")
      const { answers } = yield* directory.snapshot
      const encoded = yield* Effect.fromResult(answers.areaCode("212", { limit: 1 }))
      assert.deepStrictEqual(JSON.parse(encoded.toString()), area)
    })
  )

  it.effect("a repeated ingestion moves its time, and keeps the index and its answers", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const directory = yield* makeNode
      const source = writeLines(folder, toronto)
      yield* ingest([source])
      yield* directory.refresh
      const before = yield* directory.snapshot
      const [record] = yield* Effect.flatMap(Ingestions, (ingestions) =>
        Effect.andThen(ingest([source]), ingestions.history)
      )
      yield* until(Effect.map(directory.lastIngestion, (time) => time === record!.finishedAt))
      const after = yield* directory.snapshot
      assert.strictEqual(after.index, before.index)
      assert.strictEqual(after.answers, before.answers)
      const { last_updated } = yield* directory.statistics
      assert.strictEqual(last_updated.CNAC, record!.finishedAt)
      assert.strictEqual(last_updated.NANPA, before.state.lastUpdated.NANPA)
    })
  )
})

/** Shuts the test's database to everybody, and opens it again. */
const doorkeeper = Effect.gen(function* () {
  const { name } = yield* TestDatabase
  const admin = yield* PgClient.make({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 }).pipe(
    Effect.provide(Reactivity.layer)
  )
  const open = Effect.asVoid(admin`alter database ${admin(name)} with allow_connections true`)
  const shut = Effect.gen(function* () {
    yield* admin`alter database ${admin(name)} with allow_connections false`
    yield* admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`
  })
  return { shut: Effect.acquireRelease(shut, () => Effect.orDie(open)), open }
})

layer(directoryDatabase, { excludeTestServices: true })("the directory while the database is away", (it) => {
  it.effect("reads go on from memory, and what changes afterwards is seen", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { open, shut } = yield* doorkeeper
      yield* ingest([writeLines(folder, manhattan)])
      const directory = yield* makeNode
      yield* ready(directory)
      yield* shut
      const error = yield* Effect.flip(directory.refresh)
      assert.strictEqual(error._tag, "SqlError")
      assert.strictEqual((yield* directory.areaCode("212")).total_exchanges, 800)
      assert.strictEqual((yield* directory.carrier("9104")).ocn, "9104")
      yield* open
      yield* ingest([writeLines(folder, toronto)])
      yield* holds(directory, 1600)
    })
  )

  it.effect("a start without it is not ready, says so, and becomes ready when it is back", () =>
    Effect.gen(function* () {
      const { open, shut } = yield* doorkeeper
      yield* shut
      const directory = yield* makeNode
      yield* Effect.flip(directory.refresh)
      assert.strictEqual(yield* directory.ready, false)
      const error = yield* Effect.flip(directory.carriers())
      assert.strictEqual(error._tag, "DirectoryUnavailable")
      assert.strictEqual((yield* Effect.flip(directory.statistics))._tag, "DirectoryUnavailable")
      yield* open
      yield* ready(directory)
      assert.strictEqual((yield* directory.statistics).total_records, 1600)
    })
  )
})
