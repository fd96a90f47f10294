import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Directory } from "../../src/directory/Directory.ts"
import { indexBytes } from "../../src/directory/DirectoryIndex.ts"
import { bundledSources } from "../../src/directory/files/bundledSources.ts"
import { Ingestions } from "../../src/directory/Ingestions.ts"
import * as rules from "../../src/directory/rules.ts"
import * as Notifications from "../../src/postgres/Notifications.ts"
import { areaCodes } from "./snapshotAreaCodes.ts"
import { carrierFilters, carriers, carriersInPuertoRico, recordsByState, statistics } from "./snapshotNumbers.ts"
import { directoryDatabase, storedDigest, summariesOf, workerIngestions } from "./support.ts"

/**
 * The bundled snapshot of real files, from a first start to answers. The numbers were counted from the published files
 * by another program in another language.
 */

const directory = Directory.layer.pipe(Layer.provide(Notifications.layer()))

layer(directory.pipe(Layer.provideMerge(workerIngestions), Layer.provideMerge(directoryDatabase)), {
  excludeTestServices: true
})("the snapshot of real files", (it) => {
  it.effect("a first start loads every kind of file", () =>
    Effect.gen(function* () {
      const ingestions = yield* Ingestions
      const summaries = summariesOf(yield* Stream.runCollect(ingestions.runBundled))
      assert.deepStrictEqual(
        summaries.map(({ added, changed, kind, malformed, publicationDate, read, removed }) => ({
          kind,
          publicationDate,
          read,
          added,
          changed,
          removed,
          malformed: malformed.total
        })),
        [
          ["NANPA", "2026-07-06", 192_982],
          ["CNAC", "2025-09-12", 44_000],
          ["CARRIER_TYPES", null, 3_093],
          ["NPA_REPORT", "2026-07-06", 800]
        ].map(([kind, publicationDate, read]) => ({
          kind,
          publicationDate,
          read,
          added: read,
          changed: 0,
          removed: 0,
          malformed: 0
        }))
      )
      yield* Effect.flatMap(Directory, (service) => service.refresh)
    })
  )

  it.effect("counts by country, status and coverage", () =>
    Effect.gen(function* () {
      const service = yield* Directory
      const { last_updated, ...counts } = yield* service.statistics
      assert.deepStrictEqual(counts, statistics)
      assert.isNotNull(last_updated.NANPA)
      assert.isNotNull(last_updated.CNAC)
    })
  )

  it.effect("counts by state, as an operator asks the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ readonly state: string; readonly count: number }>`
        select coalesce(state, 'none') as state, count(*) from directory_codes group by 1`
      assert.deepStrictEqual(Object.fromEntries(rows.map((row) => [row.state, Number(row.count)])), recordsByState)
      const byStatus = yield* sql`
        select country, status, count(*)::int as count from directory_codes group by 1, 2 order by 1, 2`
      assert.deepStrictEqual(byStatus, [
        { country: "CA", status: "ASSIGNED", count: 28_327 },
        { country: "CA", status: "RESERVED", count: 1_351 },
        { country: "CA", status: "UNASSIGNED", count: 14_322 },
        { country: "US", status: "ASSIGNED", count: 186_786 },
        { country: "US", status: "RESERVED", count: 6_196 }
      ])
    })
  )

  for (const expected of carriers) {
    it.effect(`carrier ${expected.ocn}: ${expected.company_name}`, () =>
      Effect.gen(function* () {
        const service = yield* Directory
        assert.deepStrictEqual(yield* service.carrier(expected.ocn), expected)
      })
    )
  }

  for (const { last, name, nxx, ...expected } of areaCodes) {
    it.effect(`area code ${expected.npa}: ${name}`, () =>
      Effect.gen(function* () {
        const service = yield* Directory
        const limit = expected.exchanges.length
        const area = yield* service.areaCode(expected.npa, nxx === undefined ? { limit } : { nxx })
        assert.deepStrictEqual(area, {
          ...expected,
          pagination:
            nxx === undefined
              ? { limit, offset: 0, total: expected.total_exchanges }
              : { limit: 50, offset: 0, total: 1 }
        })
        if (last === undefined) return
        const end = yield* service.areaCode(expected.npa, { offset: expected.total_exchanges - 1 })
        assert.deepStrictEqual(end.exchanges, [last])
      })
    )
  }

  it.effect("a US code exists where the file has it; of Canada those that are available exist too", () =>
    Effect.gen(function* () {
      const service = yield* Directory
      const vacant = yield* Effect.flip(service.areaCode("670", { nxx: "200" }))
      assert.deepInclude(vacant, { _tag: "EntryNotFound", resource: "exchange" })
      const unused = yield* Effect.flip(service.areaCode("600"))
      assert.deepInclude(unused, { _tag: "EntryNotFound", resource: "areaCode" })
      const available = yield* service.areaCode("867", { nxx: "233" })
      assert.deepStrictEqual(available.exchanges, [
        { nxx: "233", ocn: null, company_name: null, rate_center: null, status: "UNASSIGNED" }
      ])
    })
  )

  it.effect("lists carriers by their filters", () =>
    Effect.gen(function* () {
      const service = yield* Directory
      for (const { first, query, total } of carrierFilters) {
        const filter: rules.CarrierQuery = { ...Object.fromEntries(new URLSearchParams(query)), limit: 3 }
        const { carriers: found, pagination } = yield* service.carriers(filter)
        assert.deepStrictEqual([pagination.total, found.map(({ ocn }) => ocn)], [total, [...first]], query)
      }
      const page = yield* service.carriers({ state: "PR" })
      assert.deepStrictEqual(
        page.carriers.map((carrier) => carrier.ocn),
        carriersInPuertoRico
      )
    })
  )

  it.effect("a second start has nothing to load, and repeating every file changes nothing", () =>
    Effect.gen(function* () {
      const ingestions = yield* Ingestions
      assert.deepStrictEqual(yield* Stream.runCollect(ingestions.runBundled), [])
      const before = yield* storedDigest
      const events = yield* Stream.runCollect(ingestions.run(bundledSources.map((source) => source.path)))
      for (const { added, changed, removed } of summariesOf(events)) {
        assert.deepStrictEqual({ added, changed, removed }, { added: 0, changed: 0, removed: 0 })
      }
      assert.strictEqual(summariesOf(events).length, 4)
      assert.strictEqual(yield* storedDigest, before)
    })
  )

  it.effect("the index fits into 30 MB, and so do the answers it keeps", () =>
    Effect.gen(function* () {
      const { answers, index } = yield* Effect.flatMap(Directory, (service) => service.snapshot)
      for (const npa of index.areaCodes.npa) answers.areaCode(`${npa}`)
      for (const ocn of index.carriers.ocn) answers.carrier(index.strings[ocn]!)
      assert.isBelow(indexBytes(index) + answers.heldBytes(), 30_000_000)
    })
  )

  it.effect("the same files without a server give the same answers, every one of them", () =>
    Effect.gen(function* () {
      const stored = (yield* Effect.flatMap(Directory, (service) => service.snapshot)).index
      const { index } = yield* Effect.flatMap(Directory, (service) => service.snapshot).pipe(
        Effect.provide(Layer.fresh(Directory.layerFiles()))
      )
      const times = { NANPA: null, CNAC: null }
      assert.deepStrictEqual(rules.statistics(index, times), rules.statistics(stored, times))
      for (const npa of stored.areaCodes.npa) {
        for (let offset = 0; offset < 800; offset += 100) {
          const page = { limit: 100, offset }
          assert.deepStrictEqual(
            rules.areaCodeByNpa(index, `${npa}`, page),
            rules.areaCodeByNpa(stored, `${npa}`, page)
          )
        }
      }
      for (const number of stored.carriers.ocn) {
        const ocn = stored.strings[number]!
        assert.deepStrictEqual(rules.carrierByOcn(index, ocn), rules.carrierByOcn(stored, ocn))
      }
    })
  )
})
