/** Lines of published files for the tests of ingestion: two area codes, and one of them changed. */
import { canadianLines, usLines } from "./support.ts"

export const manhattan = usLines("212")
export const toronto = canadianLines("416")

/** Lines of 212: 200 is gone, 201 has another company, 226 another status, 211 is as it was. */
export const changedManhattan = manhattan
  .filter((line) => !line.includes("212-200"))
  .map((line) => (line.includes("212-201") ? line.replace('"PAETEC ITEL, LLC"', '"PAETEC NEW YORK"') : line))
  .map((line) => (line.includes("212-226") ? line.replace("\tAS \t", "\tUA \t") : line))
