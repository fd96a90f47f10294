import { assert, describe, it } from "@effect/vitest"
import { allTimeZoneNames, timeZoneNames, zonesOfCell } from "../../src/directory/timeZones.ts"
import { localTime } from "../../src/telco/Telco.ts"

/** The zones of area codes as the report writes them, and the names that stand for them. */

describe("[directory 3.4] time zones", () => {
  it.each([
    ["E", ["E"]],
    ["EC", ["E", "C"]],
    ["CMP", ["C", "M", "P"]],
    ["AK", ["AK"]],
    ["(UTC-10)", ["UTC-10"]],
    ["UTC-11", ["UTC-11"]],
    ["(UTC+10)", ["UTC+10"]],
    ["PT/MT only for W Wendover", ["P", "M"]],
    [" M ", ["M"]],
    ["EE", ["E"]],
    ["", []],
    ["NA", ["N", "A"]],
    ["Z", []],
    ["unknown", []]
  ])("of the cell %j", (cell, zones) => {
    assert.deepStrictEqual(zonesOfCell(cell), zones)
  })

  it.each([
    ["New York", ["E"], "US", ["NY"], ["America/New_York"]],
    ["the Florida panhandle", ["E", "C"], "US", ["FL"], ["America/New_York", "America/Chicago"]],
    ["Nevada", ["P", "M"], "US", ["NV"], ["America/Los_Angeles", "America/Denver"]],
    ["Arizona, which keeps standard time", ["M"], "US", ["AZ"], ["America/Phoenix"]],
    ["Alaska", ["AK"], "US", ["AK"], ["America/Anchorage"]],
    ["Hawaii", ["UTC-10"], "US", ["HI"], ["Pacific/Honolulu"]],
    ["Puerto Rico", ["A"], "US", ["PR"], ["America/Puerto_Rico"]],
    ["Guam", ["UTC+10"], "US", ["GU"], ["Pacific/Guam"]],
    ["American Samoa", ["UTC-11"], "US", ["AS"], ["Pacific/Pago_Pago"]],
    ["Saskatchewan, which keeps standard time", ["C"], "CA", ["SK"], ["America/Regina"]],
    ["Newfoundland", ["N"], "CA", ["NL"], ["America/St_Johns"]],
    ["Nova Scotia", ["A"], "CA", ["NS", "PE"], ["America/Halifax"]],
    ["British Columbia", ["P"], "CA", ["BC"], ["America/Vancouver"]],
    [
      "the territories of the north",
      ["C", "M", "P"],
      "CA",
      ["NT", "YT", "NU"],
      ["America/Rankin_Inlet", "America/Edmonton", "America/Whitehorse"]
    ],
    ["a zone that the country does not have", ["N", "E"], "US", ["NY"], ["America/New_York"]],
    ["no country", ["E"], null, [], []]
  ] as const)("of %s", (_, zones, country, locations, names) => {
    assert.deepStrictEqual(timeZoneNames(zones, country, locations), names)
  })

  it("have names that this machine knows", () => {
    for (const name of allTimeZoneNames)
      assert.match(localTime(0, name), /^19(69|70)-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
  })
})

describe("[platform 4.2] local time", () => {
  it.each([
    ["America/New_York", "2026-01-15T12:34:56.789Z", "2026-01-15T07:34:56-05:00"],
    ["America/New_York", "2026-07-15T12:34:56.000Z", "2026-07-15T08:34:56-04:00"],
    // The second in which the clocks go forward, and the one before.
    ["America/New_York", "2026-03-08T06:59:59.999Z", "2026-03-08T01:59:59-05:00"],
    ["America/New_York", "2026-03-08T07:00:00.000Z", "2026-03-08T03:00:00-04:00"],
    ["America/Phoenix", "2026-07-15T12:00:00Z", "2026-07-15T05:00:00-07:00"],
    ["America/Regina", "2026-07-15T12:00:00Z", "2026-07-15T06:00:00-06:00"],
    ["America/St_Johns", "2026-01-01T01:00:00Z", "2025-12-31T21:30:00-03:30"],
    ["Pacific/Guam", "2026-12-31T23:00:00Z", "2027-01-01T09:00:00+10:00"]
  ])("in %s at %s", (zone, at, local) => {
    assert.strictEqual(localTime(Date.parse(at), zone), local)
  })
})
