/** A time as a request writes it: ISO 8601 with a zone. Pure. */

const pattern =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Unix milliseconds of a time; undefined for what is none, such as a day that its month lacks. */
export const timeOf = (text: string): number | undefined => {
  const [, year, month, day] = pattern.exec(text) ?? []
  if (year === undefined) return undefined
  // A day that the month lacks would be taken for one of the next month.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  const millis = Date.parse(text)
  return Number.isNaN(millis) ? undefined : millis
}
