/** Amounts by ISO 4217, in documents and in the console (docs/platform.md, 11.3). */
import { describe, expect, it } from "vitest"
import { minorUnitDigits, moneyText } from "../../src/billing/money.ts"
import { minorUnitAmount } from "../../src/billing/stripeShapes.ts"
import { money } from "../../src/console/money.ts"

/** Of list one of ISO 4217, with digits that locale data has otherwise among them. */
const listed = {
  usd: 2,
  eur: 2,
  all: 2,
  amd: 2,
  cop: 2,
  crc: 2,
  huf: 2,
  idr: 2,
  irr: 2,
  lak: 2,
  lbp: 2,
  mga: 2,
  mmk: 2,
  pkr: 2,
  rsd: 2,
  twd: 2,
  uzs: 2,
  yer: 2,
  isk: 0,
  jpy: 0,
  krw: 0,
  ugx: 0,
  vnd: 0,
  xaf: 0,
  bhd: 3,
  iqd: 3,
  kwd: 3,
  clf: 4
} as const

describe("[platform 11.3] amounts are shown with the digits of ISO 4217", () => {
  it.each(Object.entries(listed))("%s", (currency, digits) => {
    expect(minorUnitDigits(currency)).toBe(digits)
    const [whole, fraction = ""] = moneyText(1_234_567, currency).split(" ")[0]!.split(".")
    expect(fraction).toHaveLength(digits)
    expect(`${whole}${fraction}`).toBe("1234567")
  })

  it("with the digits that an amount is too short for, and with its sign", () => {
    expect(moneyText(799_000, "huf")).toBe("7990.00 HUF")
    expect(moneyText(5, "usd")).toBe("0.05 USD")
    expect(moneyText(-5, "usd")).toBe("-0.05 USD")
    expect(moneyText(0, "jpy")).toBe("0 JPY")
    expect(moneyText(1, "kwd")).toBe("0.001 KWD")
    expect(moneyText(500, "JPY")).toBe("500 JPY")
    expect(moneyText(100, "zzz")).toBe("1.00 ZZZ")
  })

  it("in the console too, for every three letters", () => {
    const letters = [..."abcdefghijklmnopqrstuvwxyz"]
    for (const currency of letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)))) {
      const fraction = /\.(\d+)$/.exec(money(1_234_567, currency))?.[1] ?? ""
      expect([currency, fraction.length]).toEqual([currency, minorUnitDigits(currency)])
    }
    expect(money(799_000, "huf")).toBe("HUF\u00a07,990.00")
  })

  it("[platform 11.10] also where Stripe has another unit of its own", () => {
    expect(minorUnitAmount(500, "isk")).toBe(5)
    expect(minorUnitAmount(500, "ugx")).toBe(5)
    expect(minorUnitAmount(500, "mga")).toBe(50_000)
    for (const currency of ["usd", "jpy", "huf", "kwd"]) expect(minorUnitAmount(500, currency)).toBe(500)
  })
})
