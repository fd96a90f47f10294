/** Reads texts of a request that become parts of headers, and reports their faults. Pure. */
import { quote } from "../../http/parameters.ts"

/** A fault of a request. The message is for the caller. */
export class Fault extends Error {}

/** The fault of a field, with the given value. */
export const fault = (field: string, given: string, expected: string): Fault =>
  new Fault(`Invalid field '${field}': ${quote(given)}. ${expected}.`)

/** Controls, the ends of lines that some programs know, and halves of characters. */
const noLine = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** Whether a text is one line and can be written in a header, encoded or not. */
export const isLine = (text: string): boolean => !noLine.test(text)

const pattern =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Unix milliseconds of a time; undefined if it is none, such as a day that its month lacks. */
export const timeOf = (text: string): number | undefined => {
  const [, year, month, day] = pattern.exec(text) ?? []
  if (year === undefined) return undefined
  // A day that the month lacks would be taken for one of the next month.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  const millis = Date.parse(text)
  return Number.isNaN(millis) ? undefined : millis
}
