/** Writes lines of CSV (RFC 4180). Pure. */

/** Characters with which a text begins that a spreadsheet would take for a formula. */
const formula = /^[=+\-@\t\r]/

const cell = (text: string): string => {
  // A spreadsheet shows what follows an apostrophe as it is.
  const safe = formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A line with its end. Null is an empty cell; a text that looks like a formula gets an apostrophe before it. */
export const csvLine = (values: ReadonlyArray<string | null>): string =>
  `${values.map((value) => (value === null ? "" : cell(value))).join(",")}\r\n`
