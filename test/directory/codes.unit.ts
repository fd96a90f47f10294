import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { codesMatching, findCode, findNumber, searchCodes } from "../../src/directory/codes.ts"
import * as IndexBuilder from "../../src/directory/IndexBuilder.ts"
import { often } from "../support/often.ts"
import * as Naive from "./naive.ts"
import { arbitraryRecords, code, indexOf, listed, ocns, states } from "./records.ts"

/** The directory by single codes, against a naive scan of lists of records. */

const maybe = <const A extends ReadonlyArray<string>>(values: A) =>
  Arbitrary.schema(Schema.UndefinedOr(Schema.Literals(values)))
const between = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

const naiveCodes = (records: Parameters<typeof Naive.make>[0]) => {
  const { carriers, codes } = Naive.make(records)
  return codes.map(({ country, npa, nxx, ocn, pooled, rateCenter, state, status }) => {
    const found = carriers.find((carrier) => carrier.ocn === ocn)
    return {
      npa,
      nxx,
      country,
      state,
      rateCenter,
      status,
      carrier:
        found === undefined
          ? null
          : {
              ocn: found.ocn,
              companyName: found.company_name,
              commonName: found.common_name,
              carrierType: found.carrier_type
            },
      pooled: pooled ?? null,
      carrierBasis: "code" as const
    }
  })
}

const same = (value: string | null, wanted: string | undefined) =>
  wanted === undefined || value?.toUpperCase() === wanted.toUpperCase()

describe("codes equal a naive scan", () => {
  it.prop(
    "every one, and those that are not there",
    { records: arbitraryRecords },
    ({ records }) => {
      const index = indexOf(records)
      const expected = naiveCodes(records)
      for (const one of expected) assert.deepStrictEqual(findCode(index, one.npa, one.nxx), one)
      for (const [npa, nxx] of [
        ["000", "000"],
        [expected[0]?.npa ?? "212", "000"],
        ["2", "555"],
        ["212", "5555"],
        ["", ""],
        ["NaN", "NaN"]
      ] as const) {
        assert.deepStrictEqual(
          findCode(index, npa, nxx),
          expected.find((one) => one.npa === npa && one.nxx === nxx)
        )
      }
    },
    { arbitrary: { runs: often(200) } }
  )

  it.prop(
    "any combination of filters, in any case, by pages",
    {
      records: arbitraryRecords,
      state: maybe([...states, "ZZ", "ny"]),
      npa: maybe(["212", "204", "999", "x"]),
      rateCenter: maybe(["NWYRCYZN01", "nwyrcyzn01", "Toronto", "TORONTO", ""]),
      ocn: maybe([...ocns, "MULT", "mult", "zzzz"]),
      limit: between(1, 100),
      offset: between(0, 40)
    },
    ({ limit, npa, ocn, offset, rateCenter, records, state }) => {
      const index = indexOf(records)
      const filters = { npa, ocn, rateCenter, state }
      const given = Naive.make(records).codes
      const matching = naiveCodes(records).filter(
        (one, at) =>
          (npa === undefined || one.npa === npa) &&
          same(one.state, state) &&
          same(one.rateCenter, rateCenter) &&
          same(given[at]!.ocn, ocn)
      )
      assert.deepStrictEqual(searchCodes(index, filters, { limit, offset }), {
        data: matching.slice(offset, offset + limit),
        total: matching.length
      })
      assert.deepStrictEqual(
        codesMatching(index, filters),
        matching.map(({ npa, nxx }) => npa + nxx)
      )
    },
    { arbitrary: { runs: often(300) } }
  )

  it("a name is found in any case, also where several spellings of it occur", () => {
    const index = indexOf({
      codes: [
        code("416-200", { rateCenter: "Toronto" }),
        code("416-201", { rateCenter: "TORONTO" }),
        code("416-202", { rateCenter: "toronto" }),
        code("416-203", { rateCenter: "Torontos" })
      ]
    })
    for (const rateCenter of ["Toronto", "TORONTO", "tOrOnTo"]) {
      assert.deepStrictEqual(codesMatching(index, { rateCenter }), ["416200", "416201", "416202"])
    }
  })

  it("a code of a program that knows of no pooled codes has null", () => {
    const { pooled: _, ...record } = code("212-200")
    assert.isNull(findCode(indexOf({ codes: [record] }), "212", "200")!.pooled)
  })

  it.prop(
    "pooled or not, also where they were added by columns, as the database gives them",
    { records: arbitraryRecords },
    ({ records }) => {
      const { codes } = Naive.make(records)
      const builder = IndexBuilder.make()
      for (const { country, npa, nxx, pooled, status } of codes.toReversed()) {
        builder.addCodes(country, status, pooled ?? null, npa + nxx)
      }
      const index = builder.build()
      for (const { npa, nxx, pooled } of codes) assert.strictEqual(findCode(index, npa, nxx)!.pooled, pooled)
      assert.strictEqual(index.codes.pooled.byteLength, Math.ceil(codes.length / 4))
    },
    { arbitrary: { runs: often(100) } }
  )

  it.prop(
    "a number has the carrier of its block, where one is assigned, added one by one or by columns",
    { records: arbitraryRecords },
    ({ records }) => {
      const builder = IndexBuilder.make()
      for (const record of records.codes) builder.addCode(record)
      for (const record of records.carrierTypes) builder.addCarrierType(record)
      for (const { block, company, npa, nxx, ocn, status } of records.blocks) {
        builder.addBlocks(status, ocn, company, npa + nxx + block)
      }
      const { carriers } = Naive.make(records)
      for (const index of [indexOf(records), builder.build()]) {
        for (const one of naiveCodes(records)) {
          for (const digit of ["0", "1", "5", "9"]) {
            const block = records.blocks.findLast(
              ({ block, npa, nxx }) => npa === one.npa && nxx === one.nxx && block === digit
            )
            const holder = block?.status === "ASSIGNED" ? block.ocn : null
            const carrier = carriers.find(({ ocn }) => ocn === holder)
            assert.deepStrictEqual(
              findNumber(index, `${one.npa}${one.nxx}${digit}123`),
              holder === null
                ? one
                : {
                    ...one,
                    carrier: {
                      ocn: holder,
                      companyName: carrier?.company_name ?? block!.company,
                      commonName: carrier?.common_name ?? null,
                      carrierType: carrier?.carrier_type ?? null
                    },
                    carrierBasis: "block"
                  }
            )
          }
        }
      }
      assert.isUndefined(findNumber(indexOf(records), "212"))
    },
    { arbitrary: { runs: often(40) } }
  )

  it("a code that several carriers share has none", () => {
    const index = indexOf({ codes: [code("212-200", { ocn: "MULT" })], carrierTypes: [listed("MULT")] })
    assert.isNull(findCode(index, "212", "200")!.carrier)
    assert.deepStrictEqual(codesMatching(index, { ocn: "MULT" }), ["212200"])
  })
})
