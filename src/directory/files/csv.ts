/**
 * Splits one line of a comma-separated file into its cells, strictly (RFC 4180). The published files have no line ends
 * inside quotes, so a record never spans lines: an unclosed quote spoils its own line only, which a general CSV reader
 * cannot promise.
 */

const split = (line: string): ReadonlyArray<string> | string => {
  if (!line.includes('"')) return line.split(",").map((cell) => cell.trim())
  const cells: Array<string> = []
  let at = 0
  for (;;) {
    while (line[at] === " ") at++
    if (line[at] === '"') {
      let cell = ""
      at++
      for (;;) {
        const quote = line.indexOf('"', at)
        if (quote < 0) return "has a quote that is not closed"
        cell += line.slice(at, quote)
        at = quote + 1
        if (line[at] !== '"') break
        cell += '"'
        at++
      }
      while (line[at] === " ") at++
      if (at < line.length && line[at] !== ",") return "has text after a closing quote"
      cells.push(cell.trim())
    } else {
      const comma = line.indexOf(",", at)
      const end = comma < 0 ? line.length : comma
      const cell = line.slice(at, end)
      if (cell.includes('"')) return "has a quote inside a cell that does not begin with one"
      cells.push(cell.trim())
      at = end
    }
    if (at >= line.length) return cells
    at++
  }
}

/**
 * Answers the trimmed cells of a line, or why it cannot be split. A tab within a cell is no part of a text here.
 *
 * @example
 * ```ts
 * import { splitCsv } from "sluice/directory"
 *
 * console.log(splitCsv('9104,"VERIZON NEW YORK, INC.",NY')) // [ '9104', 'VERIZON NEW YORK, INC.', 'NY' ]
 * ```
 */
export const splitCsv = (line: string): ReadonlyArray<string> | string => {
  const cells = split(line)
  if (typeof cells === "string" || !line.includes("\t")) return cells
  return cells.some((cell) => cell.includes("\t")) ? "has a tab inside a cell" : cells
}
