import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { columnsOf } from "../../src/directory/DirectoryIndex.ts"
import { carrierTypes, countries } from "../../src/directory/model.ts"
import * as rules from "../../src/directory/rules.ts"
import { AreaCode, CarrierDetail, CarrierPage } from "../../src/directory/schema.ts"
import { often } from "../support/often.ts"
import * as Naive from "./naive.ts"
import { arbitraryRecords, indexOf, ocns, states } from "./records.ts"

/** The index against a naive model that filters, sorts and counts lists of records for every question. */

const runs = { arbitrary: { runs: often(100), size: 12 } }
const limit = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
const offset = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))
const maybe = <const A extends ReadonlyArray<string>>(values: A) =>
  Arbitrary.schema(Schema.UndefinedOr(Schema.Literals(values)))

describe("the index equals a naive scan", () => {
  it.prop(
    "every carrier, with its state, type and exchanges",
    { records: arbitraryRecords },
    ({ records }) => {
      const index = indexOf(records)
      const naive = Naive.make(records)
      for (const expected of naive.carriers) {
        const carrier = Result.getOrThrow(rules.carrierByOcn(index, expected.ocn))
        assert.deepStrictEqual(Schema.encodeSync(CarrierDetail)(carrier), expected)
        const stated = Object.values(carrier.exchanges.by_state).reduce((sum, count) => sum + count, 0)
        assert.isAtMost(stated, carrier.exchanges.total)
        assert.deepStrictEqual(Object.keys(carrier.exchanges.by_state), Object.keys(carrier.exchanges.by_state).sort())
      }
      for (const ocn of [...ocns, "ZZZZ", "MULT"]) {
        const known = naive.carriers.some((carrier) => carrier.ocn === ocn)
        assert.strictEqual(Result.isSuccess(rules.carrierByOcn(index, ocn)), known)
      }
    },
    runs
  )

  it.prop(
    "any combination of filters, in any case",
    {
      records: arbitraryRecords,
      state: maybe([...states, "ZZ", "ny", "on"]),
      country: maybe([...countries, "ca"]),
      type: maybe([...carrierTypes, "ilec"]),
      limit,
      offset
    },
    ({ country, limit, offset, records, state, type }) => {
      const page = rules.listCarriers(indexOf(records), { country, state, type, limit, offset })
      const matching = Naive.make(records).carriers.filter(
        (carrier) =>
          (country === undefined || carrier.country === country.toUpperCase()) &&
          (state === undefined || carrier.state === state.toUpperCase()) &&
          (type === undefined || carrier.carrier_type === type.toUpperCase())
      )
      assert.deepStrictEqual(Schema.encodeSync(CarrierPage)(page), {
        carriers: matching.slice(offset, offset + limit).map(({ exchanges: _, ...item }) => item),
        pagination: { limit, offset, total: matching.length }
      })
    },
    runs
  )

  it.prop(
    "every area code and exchange",
    { records: arbitraryRecords, limit, offset },
    ({ limit, offset, records }) => {
      const index = indexOf(records)
      const naive = Naive.make(records)
      for (const npa of ["201", "212", "213", "902", "999", "867"]) {
        const expected = naive.areaCodes.find((area) => area.npa === npa)
        const found = rules.areaCodeByNpa(index, npa, { limit, offset })
        if (expected === undefined) {
          assert.isTrue(Result.isFailure(found))
          continue
        }
        assert.deepStrictEqual(Schema.encodeSync(AreaCode)(Result.getOrThrow(found)), {
          ...expected,
          country: expected.country as "US" | "CA",
          total_exchanges: expected.exchanges.length,
          exchanges: expected.exchanges.slice(offset, offset + limit),
          pagination: { limit, offset, total: expected.exchanges.length }
        })
        for (const nxx of ["000", "007", "200", "201", "555", "999"]) {
          const one = rules.areaCodeByNpa(index, npa, { nxx })
          const wanted = expected.exchanges.filter((exchange) => exchange.nxx === nxx)
          assert.deepStrictEqual(
            Result.match(one, { onFailure: () => [], onSuccess: (area) => [...area.exchanges] }),
            wanted
          )
        }
      }
    },
    runs
  )

  it.prop(
    "the details of every area code, which change nothing else of the answer",
    { records: arbitraryRecords },
    ({ records }) => {
      const index = indexOf(records)
      const naive = Naive.make(records)
      for (const { npa } of naive.areaCodes) {
        const plain = Result.getOrThrow(rules.areaCodeByNpa(index, npa))
        const detailed = Result.getOrThrow(rules.areaCodeByNpa(index, npa, { include: "details" }))
        assert.deepStrictEqual(Schema.encodeSync(AreaCode)(detailed), { ...plain, details: naive.detailsOf(npa) })
        assert.deepStrictEqual(rules.timeZonesOf(index, npa), naive.detailsOf(npa)?.time_zones ?? [])
      }
      assert.deepStrictEqual(rules.timeZonesOf(index, "200"), [])
      assert.deepStrictEqual(rules.timeZonesOf(index, "1e2"), [])
    },
    runs
  )

  it.prop(
    "the blocks of every exchange, which change nothing else of the answer",
    { records: arbitraryRecords },
    ({ records }) => {
      const index = indexOf(records)
      for (const { npa } of Naive.make(records).areaCodes) {
        const plain = Result.getOrThrow(rules.areaCodeByNpa(index, npa))
        const whole = Result.getOrThrow(rules.areaCodeByNpa(index, npa, { blocks: true }))
        assert.deepStrictEqual(Schema.encodeSync(AreaCode)(whole), {
          ...plain,
          exchanges: plain.exchanges.map((exchange) => ({
            ...exchange,
            blocks: ["0", "1", "9"].flatMap((digit) => {
              const found = records.blocks.findLast(
                ({ block, npa: area, nxx }) => area === npa && nxx === exchange.nxx && block === digit
              )
              if (found === undefined) return []
              const { company, ocn, status } = found
              return [{ block: digit, ocn, company_name: company, status }]
            })
          }))
        })
      }
    },
    { arbitrary: { runs: often(30) } }
  )

  it.prop(
    "statistics",
    { records: arbitraryRecords },
    ({ records }) => {
      const { codes, areaCodes } = Naive.make(records)
      const counted = rules.statistics(indexOf(records), { NANPA: null, CNAC: null })
      assert.strictEqual(counted.total_records, codes.length)
      assert.strictEqual(counted.by_country.US, codes.filter((code) => code.country === "US").length)
      assert.strictEqual(counted.by_country.CA, codes.filter((code) => code.country === "CA").length)
      for (const status of ["ASSIGNED", "UNASSIGNED", "RESERVED"] as const) {
        assert.strictEqual(counted.by_status[status], codes.filter((code) => code.status === status).length)
      }
      assert.strictEqual(counted.coverage.area_codes, areaCodes.length)
      const covered = new Set(codes.map((code) => code.state).filter((state) => state !== null))
      assert.strictEqual(counted.coverage.states_provinces, covered.size)
    },
    runs
  )
})

describe("any page walk returns every record once in order", () => {
  it.prop(
    "over the carriers",
    { records: arbitraryRecords, limit },
    ({ limit, records }) => {
      const index = indexOf(records)
      const walked: Array<string> = []
      for (let offset = 0; ; offset += limit) {
        const page = rules.listCarriers(index, { limit, offset })
        walked.push(...page.carriers.map((carrier) => carrier.ocn))
        if (offset + limit >= page.pagination.total) break
      }
      assert.deepStrictEqual(
        walked,
        Naive.make(records).carriers.map((carrier) => carrier.ocn)
      )
    },
    runs
  )

  it.prop(
    "over the exchanges of an area code",
    { records: arbitraryRecords, limit },
    ({ limit, records }) => {
      const index = indexOf(records)
      for (const expected of Naive.make(records).areaCodes) {
        const walked: Array<string> = []
        for (let offset = 0; ; offset += limit) {
          const page = Result.getOrThrow(rules.areaCodeByNpa(index, expected.npa, { limit, offset }))
          walked.push(...page.exchanges.map((exchange) => exchange.nxx))
          if (offset + limit >= page.pagination.total) break
        }
        assert.deepStrictEqual(
          walked,
          expected.exchanges.map((exchange) => exchange.nxx)
        )
      }
    },
    runs
  )
})

describe("the index as data", () => {
  it.prop(
    "does not depend on the order of distinct records",
    { records: arbitraryRecords },
    ({ records }) => {
      const distinct = Naive.make(records)
      const forth = indexOf({ ...records, codes: distinct.codes })
      const back = indexOf({ ...records, codes: [...distinct.codes].reverse() })
      const all = (index: typeof forth) => [
        rules.listCarriers(index, { limit: 100 }),
        distinct.carriers.map((carrier) => Result.getOrThrow(rules.carrierByOcn(index, carrier.ocn))),
        distinct.areaCodes.map((area) => Result.getOrThrow(rules.areaCodeByNpa(index, area.npa, { limit: 100 }))),
        rules.statistics(index, { NANPA: null, CNAC: null })
      ]
      assert.deepStrictEqual(all(back), all(forth))
    },
    runs
  )

  it.prop(
    "survives a move to another thread",
    { records: arbitraryRecords },
    ({ records }) => {
      const index = indexOf(records)
      const before = rules.listCarriers(index, { limit: 100 })
      const buffers = columnsOf(index).map((column) => column.buffer as ArrayBuffer)
      const moved = structuredClone(index, { transfer: buffers })
      assert.deepStrictEqual(rules.listCarriers(moved, { limit: 100 }), before)
    },
    runs
  )
})
