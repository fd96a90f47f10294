/**
 * Recognizes a file by its first lines, never by its name: servers answer a wrong address with an HTML page and the
 * status 200, and people rename files.
 */
import { blocksHeader, makeBlocksReader } from "./blocks.ts"
import { carrierTypesHeader, makeCarrierTypesReader } from "./carrierTypes.ts"
import { cnacDate, cnacHeader, makeCnacReader } from "./cnac.ts"
import type { DatasetReader } from "./DatasetReader.ts"
import { makeNanpaReader, nanpaHeader } from "./nanpa.ts"
import { makeNpaReportReader, npaReportDate, npaReportHeader } from "./npaReport.ts"

/** Lines at the beginning of a file that take part in recognising it. */
export const headerLines = 2

export type Recognition =
  /** A kind whose second line must be seen too. */
  | { readonly _tag: "NeedsMore" }
  /** `dataFrom` is the index of the first given line that is data. */
  | { readonly _tag: "Recognized"; readonly reader: DatasetReader; readonly dataFrom: number }
  /** `why` says what kind the file nearly is, or null. */
  | { readonly _tag: "Unknown"; readonly why: string | null }

const recognized = (reader: DatasetReader, dataFrom: number): Recognition => ({
  _tag: "Recognized",
  reader,
  dataFrom
})
const unknown = (why: string | null): Recognition => ({ _tag: "Unknown", why })

/** Recognises a file by its first line, and its second one where there is one. */
export const recognize = (first: string, second: string | undefined, ended: boolean): Recognition => {
  const nanpa = nanpaHeader(first)
  if (typeof nanpa === "string") return unknown(nanpa)
  if (nanpa !== null) return recognized(makeNanpaReader(nanpa), 1)

  const reportDate = npaReportDate(first)
  if (reportDate !== undefined) {
    if (second === undefined)
      return ended ? unknown("an NPA report that ends after its first line") : { _tag: "NeedsMore" }
    const columns = npaReportHeader(second)
    return typeof columns === "string" ? unknown(columns) : recognized(makeNpaReportReader(columns, reportDate), 2)
  }

  const cnac = cnacHeader(first)
  if (typeof cnac === "string") return unknown(cnac)
  if (cnac !== null) {
    if (second === undefined && !ended) return { _tag: "NeedsMore" }
    const date = second === undefined ? null : cnacDate(second)
    return recognized(makeCnacReader(cnac, date), date === null ? 1 : 2)
  }

  const blocks = blocksHeader(first)
  if (typeof blocks === "string") return unknown(blocks)
  if (blocks !== null) return recognized(makeBlocksReader(blocks), 1)

  const types = carrierTypesHeader(first)
  if (typeof types === "string") return unknown(types)
  return types === null ? unknown(null) : recognized(makeCarrierTypesReader(types), 1)
}
