/**
 * Formats amounts of money for the console. Pure. A program for browsers imports nothing of the platform, so it has a
 * copy of the table of `src/billing/money.ts`; a test compares both.
 */

/** Digits of the minor unit by ISO 4217, where they are not 2; those of locale data are other ones. */
const digitsOf: Readonly<Record<string, number>> = Object.fromEntries(
  (
    [
      [0, "bif clp djf gnf isk jpy kmf krw pyg rwf ugx uyi vnd vuv xaf xof xpf"],
      [0, "xag xau xba xbb xbc xbd xdr xpd xpt xsu xts xua xxx"],
      [3, "bhd iqd jod kwd lyd omr tnd"],
      [4, "clf uyw"]
    ] as const
  ).flatMap(([digits, codes]) => codes.split(" ").map((code) => [code, digits]))
)

/** An amount in the currency's minor unit, such as `$119.00`. */
export const money = (amount: number, currency: string): string => {
  const digits = digitsOf[currency.toLowerCase()] ?? 2
  return new Intl.NumberFormat("en", {
    style: "currency",
    currency: currency.toUpperCase(),
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  }).format(amount / 10 ** digits)
}
