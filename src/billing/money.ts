/** Formats amounts of money for people. Pure. */

/**
 * Digits of a currency's minor unit by ISO 4217 (list one), for those that do not have 2. Not those of locale data,
 * which leave out digits that are seldom written (CLDR has none for the forint), and change with Node. The table is
 * written by digits, codes in alphabetical order; the last ones of the first line have no minor unit.
 */
const codesByDigits: ReadonlyArray<readonly [digits: number, codes: string]> = [
  [0, "bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf"],
  [0, "xag xau xba xbb xbc xbd xdr xpd xpt xsu xts xua xxx"],
  [3, "bhd iqd jod kwd lyd omr tnd"],
  [4, "clf uyw"]
]

const digitsByCode: ReadonlyMap<string, number> = new Map(
  codesByDigits.flatMap(([digits, codes]) => codes.split(" ").map((code) => [code, digits] as const))
)

/** Digits of the currency's minor unit (ISO 4217). */
export const minorUnitDigits = (currency: string): number => digitsByCode.get(currency.toLowerCase()) ?? 2

/** An amount in the currency's minor unit, such as `119.00 USD`: the same on every machine, whatever its languages. */
export const moneyText = (amount: number, currency: string): string => {
  const digits = minorUnitDigits(currency)
  const text = String(Math.abs(amount)).padStart(digits + 1, "0")
  const whole = `${amount < 0 ? "-" : ""}${text.slice(0, text.length - digits)}`
  return `${whole}${digits === 0 ? "" : `.${text.slice(-digits)}`} ${currency.toUpperCase()}`
}
