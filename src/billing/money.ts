/** Amounts of money as people read them. Pure. */

/** An amount in the currency's minor unit, such as `119.00 USD`: the same on every machine, whatever its languages. */
export const moneyText = (amount: number, currency: string): string => {
  const digits = fractionDigits(currency)
  const text = String(amount).padStart(digits + 1, "0")
  const whole = text.slice(0, text.length - digits)
  return `${whole}${digits === 0 ? "" : `.${text.slice(-digits)}`} ${currency.toUpperCase()}`
}

/** Digits of the currency's minor unit (ISO 4217), as Node's tables have them; 2 where they do not know it. */
const fractionDigits = (currency: string): number => {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2
  } catch {
    return 2
  }
}
