import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bundledSources } from "../../../src/directory/files/bundledSources.ts"
import type { DatasetKind } from "../../../src/directory/model.ts"
import { timeZoneNames } from "../../../src/directory/timeZones.ts"
import { readSource, tally } from "./support.ts"

// All numbers here were counted once from the published files with awk and Python, not with these readers.

const source = (kind: DatasetKind): string => bundledSources.find((bundled) => bundled.kind === kind)!.path

const codesByState = {
  ...{ AK: 671, AL: 3_124, AR: 2_085, AS: 41, AZ: 3_237, CA: 20_068, CO: 3_134, CT: 2_069, DC: 884, DE: 671 },
  ...{ FL: 11_462, GA: 5_639, GU: 128, HI: 709, IA: 2_841, ID: 998, IL: 8_385, IN: 4_103, KS: 2_390, KY: 2_861 },
  ...{ LA: 2_985, MA: 4_994, MD: 3_799, ME: 763, MI: 6_326, MN: 3_896, MO: 4_280, MP: 51, MS: 2_144, MT: 768 },
  ...{ NC: 4_832, ND: 762, NE: 1_567, NH: 768, NJ: 5_754, NM: 1_235, NV: 1_644, NY: 12_426, OH: 6_749, OK: 2_489 },
  ...{ OR: 2_285, PA: 8_115, PR: 374, RI: 629, SC: 2_844, SD: 758, TN: 3_128, TX: 16_584, UT: 1_824, VA: 5_037 },
  ...{ VI: 81, VT: 588, WA: 2_981, WI: 2_193, WV: 1_306, WY: 523 }
}

const codesByProvince = {
  ...{ AB: 3_164, BC: 3_384, MB: 1_365, NB: 687, NL: 620, NS: 1_059, NT: 110, NU: 86, ON: 9_816, PE: 167 },
  ...{ QC: 6_164, SK: 1_639, YT: 62, null: 15_677 }
}

describe("the bundled snapshot", () => {
  it.live("[directory 1.1] has 192,982 US codes", () =>
    Effect.gen(function* () {
      const { batches, codes, opened, summaries } = yield* readSource(source("NANPA"))
      assert.deepInclude(opened.files[0], { kind: "NANPA", publicationDate: "2026-07-06", columns: 11 })
      const [{ coverage, ...summary }] = summaries as [(typeof summaries)[number]]
      assert.deepStrictEqual(summary, {
        source: source("NANPA"),
        kind: "NANPA",
        publicationDate: "2026-07-06",
        columns: 11,
        lines: 192_982,
        records: 192_982,
        malformed: { total: 0, listed: [] },
        unread: { keys: [], unknown: 0 },
        sha256: "3e5f4a20a347ec8a3457918477054a5e9373e28d57c95331f5a26375ac1d6857",
        unpackedBytes: 38_982_593
      })
      assert.isTrue(coverage.whole)
      assert.strictEqual(coverage.areaCodes.length, 358)
      assert.isAtMost(Math.max(...batches), 4_096)

      assert.deepStrictEqual(
        tally(codes, (record) => record.state),
        codesByState
      )
      assert.deepStrictEqual(
        tally(codes, (record) => record.status),
        { ASSIGNED: 186_786, RESERVED: 6_196 }
      )
      assert.deepStrictEqual(
        tally(codes, (record) => String(record.pooled)),
        { false: 53_008, null: 6_196, true: 133_778 }
      )
      assert.deepStrictEqual(
        tally(codes, (record) => record.country),
        { US: 192_982 }
      )
      const byOcn = tally(codes, (record) => record.ocn)
      assert.strictEqual(Object.keys(byOcn).length, 2_854)
      assert.deepInclude(byOcn, { MULT: 3_421, null: 2_387 })
      assert.strictEqual(codes.filter((record) => record.company === null).length, 2_387)
      assert.strictEqual(codes.filter((record) => record.rateCenter === null).length, 5_826)
      assert.deepInclude(
        tally(codes, (record) => record.npa),
        { 212: 800, 307: 523, 907: 671 }
      )
    })
  )

  it.live("[directory 1.1] has 44,000 Canadian codes", () =>
    Effect.gen(function* () {
      const { codes, summaries } = yield* readSource(source("CNAC"))
      assert.deepInclude(summaries[0], {
        kind: "CNAC",
        publicationDate: "2025-09-12",
        columns: 9,
        lines: 44_000,
        records: 44_000,
        malformed: { total: 0, listed: [] },
        sha256: "feecf48a3bc3a4779b06b69a8ca761f0430921c0c0ed5546d0c3254ea837ecc4"
      })
      assert.isTrue(summaries[0]!.coverage.whole)
      const byAreaCode = Object.entries(tally(codes, (record) => record.npa))
      assert.strictEqual(byAreaCode.length, 55)
      assert.deepStrictEqual(
        byAreaCode.filter(([, count]) => count !== 800),
        []
      )
      assert.deepStrictEqual(
        tally(codes, (record) => record.state),
        codesByProvince
      )
      assert.deepStrictEqual(
        tally(codes, (record) => record.status),
        {
          ASSIGNED: 28_327,
          RESERVED: 1_351,
          UNASSIGNED: 14_322
        }
      )
      assert.deepStrictEqual(
        tally(codes, (record) => String(record.pooled)),
        { false: 43_982, true: 18 }
      )
      const byOcn = tally(codes, (record) => record.ocn)
      assert.strictEqual(Object.keys(byOcn).length, 129)
      assert.deepInclude(byOcn, { null: 15_658 })
      assert.strictEqual(codes.filter((record) => record.company === null).length, 15_658)
      assert.strictEqual(codes.filter((record) => record.rateCenter === null).length, 15_654)

      const byCode = new Map(codes.map((record) => [`${record.npa}-${record.nxx}`, record]))
      const expected = {
        "581-431": { state: "QC", ocn: "709G", company: "Bell Aliant, a division of Bell Canada", rateCenter: "Alma" },
        "416-387": { state: null, ocn: null, company: null, rateCenter: null, status: "RESERVED" },
        "867-201": { state: "NU", ocn: "940G", company: "SSi Micro Ltd.", rateCenter: "Igloolik" },
        "431-309": { state: "MB", ocn: null, rateCenter: "Steinbach", status: "ASSIGNED" },
        "204-310": { state: null, ocn: "8088", rateCenter: "7 Digit Service", status: "ASSIGNED" },
        "514-200": { state: null, ocn: "8050", rateCenter: "-", status: "ASSIGNED" }
      }
      for (const [code, fields] of Object.entries(expected)) assert.deepInclude(byCode.get(code) ?? {}, fields, code)
    })
  )

  it.live("has the types of 3,093 carriers", () =>
    Effect.gen(function* () {
      const { carriers, summaries } = yield* readSource(source("CARRIER_TYPES"))
      assert.deepInclude(summaries[0], { kind: "CARRIER_TYPES", publicationDate: null, columns: 9, records: 3_093 })
      assert.deepStrictEqual(
        tally(carriers, (record) => record.type),
        {
          CLEC: 1_387,
          ILEC: 1_415,
          WIRELESS: 271,
          null: 20
        }
      )
      assert.deepStrictEqual(
        tally(carriers, (record) => record.country),
        { CA: 127, US: 2_966 }
      )
      assert.strictEqual(carriers.filter((record) => record.commonName !== null).length, 24)
      assert.strictEqual(carriers.filter((record) => record.companyName === null).length, 0)
    })
  )

  it.live("has all 800 area code numbers", () =>
    Effect.gen(function* () {
      const { areaCodes, summaries } = yield* readSource(source("NPA_REPORT"))
      assert.deepInclude(summaries[0], {
        kind: "NPA_REPORT",
        publicationDate: "2026-07-06",
        columns: 32,
        lines: 800,
        records: 800,
        malformed: { total: 0, listed: [] }
      })
      assert.deepStrictEqual(
        tally(areaCodes, (record) => record.country),
        { CA: 67, US: 402, null: 331 }
      )
      assert.deepStrictEqual(
        tally(areaCodes, (record) => record.use),
        { G: 593, N: 98, null: 109 }
      )
      const geographic = areaCodes.filter((record) => record.inService && record.use === "G")
      assert.strictEqual(areaCodes.filter((record) => record.inService).length, 485)
      assert.strictEqual(geographic.filter((record) => record.country === "US").length, 378)
      assert.strictEqual(geographic.filter((record) => record.country === "CA").length, 55)

      const locations = new Map(areaCodes.map((record) => [record.npa, record.locations]))
      const zones = areaCodes.filter((record) => record.inService && record.use === "G" && record.country !== null)
      const names = zones.map(({ country, details, locations }) =>
        timeZoneNames(details?.zones ?? [], country, locations)
      )
      assert.strictEqual(names.filter((one) => one.length === 0).length, 0)
      assert.strictEqual(names.filter((one) => one.length > 1).length, 24)
      assert.strictEqual(zones.filter((record) => record.details?.inServiceDate === null).length, 0)
      assert.deepStrictEqual(
        tally(zones, (record) => record.details?.relief.status ?? null),
        { Active: 5, Suspended: 1, Trigger: 8, null: 419 }
      )

      assert.deepStrictEqual(locations.get("902"), ["NS", "PE"])
      assert.deepStrictEqual(locations.get("867"), ["NT", "YT", "NU"])
      assert.deepStrictEqual(locations.get("670"), ["MP"])
      assert.deepStrictEqual(locations.get("709"), ["NL"])
      assert.deepStrictEqual(locations.get("500"), [])
      assert.deepStrictEqual(locations.get("600"), [])
      assert.deepStrictEqual(locations.get("242"), [])
      assert.strictEqual(areaCodes.filter((record) => record.locations.includes("CA")).length, 41)
      assert.strictEqual(areaCodes.filter((record) => record.locations.includes("QC")).length, 13)
    })
  )
})
