/**
 * Reads the NANPA area code report (`npa_report.csv`): `File Date` and its date on the first line, the column
 * names on the second, then one line for every number from 200 to 999, in service or not.
 */
import type { AreaCodeRecord, ReportedDetails } from "../model.ts"
import { zonesOfCell } from "../timeZones.ts"
import { splitCsv } from "./csv.ts"
import {
  type Columns,
  codeAt,
  codeText,
  type DatasetReader,
  dateOfCell,
  dateOfNamedMonth,
  makeColumns,
  makeInterner,
  placesOf,
  takeFirst,
  wrongFields
} from "./DatasetReader.ts"
import { quoted } from "./printable.ts"
import { regionsOfLocation } from "./regions.ts"

const required = ["NPA_ID", "USE", "LOCATION", "COUNTRY", "IN_SERVICE"] as const

/** Numbers that the report lists, 200 to 999. */
const numbersListed = 800

/** The date of the first line; undefined when the line is no first line of a report. */
export const npaReportDate = (line: string): string | null | undefined => {
  const cells = splitCsv(line)
  if (typeof cells === "string" || cells.length < 2 || cells[0]!.toLowerCase() !== "file date") return undefined
  return dateOfCell(cells[1]!)
}

/** The columns of the second line, or a text that says what is wrong with it. */
export const npaReportHeader = (line: string): Columns | string => {
  const cells = splitCsv(line)
  if (typeof cells === "string") return `an NPA report whose line of column names ${cells}`
  const columns = makeColumns(cells)
  const missing = columns.missing(required)
  if (missing.length > 0) return `an NPA report without the columns ${missing.join(", ")}`
  if (columns.repeated !== null) return `an NPA report that has the column ${quoted(columns.repeated)} twice`
  return columns
}

const yesOrNo = (cell: string): boolean | null => {
  const text = cell.toUpperCase()
  return text === "YES" ? true : text === "NO" ? false : null
}

const areaCodeOf = (cell: string): string | null =>
  cell.length === 3 && codeAt(cell, 0) >= 0 ? codeText(codeAt(cell, 0)) : null

/** `212/332/646/917, 347/465`: complexes, each with its area codes. Others than area codes are left out. */
const complexesOf = (cell: string): ReportedDetails["overlayComplexes"] =>
  cell
    .split(",")
    .map((complex) =>
      complex.split("/").flatMap((npa) => {
        const code = areaCodeOf(npa.trim())
        return code === null ? [] : [code]
      })
    )
    .filter((complex) => complex.length > 0)

/**
 * Reads the details from cells in columns that a report may lack. Unknown texts are null and make no line malformed,
 * since earlier versions did not look at them.
 */
const makeDetailsReader = (columns: Columns): ((cells: ReadonlyArray<string>) => ReportedDetails) => {
  const name = makeInterner()
  const cellOf = (column: string) => {
    const at = columns.at(column)
    return (cells: ReadonlyArray<string>) => (cells[at] ?? "").trim()
  }
  const textOf = (column: string) => {
    const cell = cellOf(column)
    return (cells: ReadonlyArray<string>) => {
      const text = cell(cells)
      return text === "" ? null : name(text)
    }
  }
  const [zone, complex, parent] = [cellOf("TIME_ZONE"), cellOf("OVERLAY_COMPLEX"), cellOf("PARENT_NPA_ID")]
  const [date, status] = [cellOf("IN_SERVICE_DT"), textOf("STATUS")]
  const [planning, jeopardy] = [cellOf("RELIEF_PLANNING_IN_PROGRESS"), cellOf("IN_JEOPARDY")]
  const [homeLocal, homeToll] = [textOf("HOME_NPA_LOCAL_CALLS"), textOf("HOME_NPA_TOLL_CALLS")]
  const [foreignLocal, foreignToll] = [textOf("FOREIGN_NPA_LOCAL_CALLS"), textOf("FOREIGN_NPA_TOLL_CALLS")]
  const [permissiveLocal, permissiveToll] = [textOf("PERM_HNPA_LOCAL_CALLS"), textOf("PERM_HNPA_TOLL_CALLS")]
  const [permissiveForeign, notes] = [textOf("PERM_HNPA_FOREIGN_LOCAL_CALLS"), textOf("DIALING_PLAN_NOTES")]
  return (cells) => ({
    zones: zonesOfCell(zone(cells)).map(name),
    overlayComplexes: complexesOf(complex(cells)),
    parent: areaCodeOf(parent(cells)),
    inServiceDate: dateOfNamedMonth(date(cells)),
    dialingPlan: {
      homeLocal: homeLocal(cells),
      homeToll: homeToll(cells),
      foreignLocal: foreignLocal(cells),
      foreignToll: foreignToll(cells),
      permissiveHomeLocal: permissiveLocal(cells),
      permissiveHomeToll: permissiveToll(cells),
      permissiveForeignLocal: permissiveForeign(cells),
      notes: notes(cells)
    },
    relief: { status: status(cells), planning: yesOrNo(planning(cells)), jeopardy: yesOrNo(jeopardy(cells)) }
  })
}

/** Makes the reader for a report with these columns. */
export const makeNpaReportReader = (columns: Columns, publicationDate: string | null): DatasetReader => {
  const [npaAt, useAt, locationAt, countryAt, inServiceAt] = placesOf(columns, required)
  const detailsOf = makeDetailsReader(columns)
  const waiting: Array<AreaCodeRecord> = []
  const seen = new Uint8Array(1_000)
  let records = 0

  const readLine = (line: string): string | null => {
    const cells = splitCsv(line)
    if (typeof cells === "string") return cells
    if (cells.length !== columns.count) return wrongFields(cells.length, columns.count)
    const npaCell = cells[npaAt]!
    const npa = npaCell.length === 3 ? codeAt(npaCell, 0) : -1
    if (npa < 0) return `has the NPA ${quoted(npaCell)}`
    const use = cells[useAt]!
    if (use !== "G" && use !== "N" && use !== "") return `has the unknown use ${quoted(use)}`
    const inService = cells[inServiceAt]!
    if (inService !== "Y" && inService !== "N") return `has ${quoted(inService)} for in service, neither Y nor N`
    const countryCell = cells[countryAt]!
    const country = countryCell === "US" ? "US" : countryCell === "CANADA" ? "CA" : null
    // Other countries of the numbering plan are not covered, so their locations are ignored.
    const locations = country === null && countryCell !== "" ? [] : regionsOfLocation(cells[locationAt]!)
    if (locations === null) return `has the unknown location ${quoted(cells[locationAt]!)}`
    if (seen[npa] === 1) return `repeats ${npaCell}`
    seen[npa] = 1
    records++
    waiting.push({
      npa: codeText(npa),
      inService: inService === "Y",
      use: use === "" ? null : use,
      country,
      locations,
      details: detailsOf(cells)
    })
    return null
  }

  return {
    kind: "NPA_REPORT",
    publicationDate,
    columns: columns.count,
    readLine,
    keyOf: (line) => {
      const cells = splitCsv(line)
      const npa = typeof cells === "string" ? "" : (cells[npaAt] ?? "")
      return npa.length === 3 && codeAt(npa, 0) >= 0 ? npa : null
    },
    waiting: () => waiting.length,
    take: (atMost) => ({ kind: "NPA_REPORT", records: takeFirst(waiting, atMost) }),
    shortfall: ({ malformed }) =>
      numbersListed - records > malformed
        ? `it lists ${records} of the ${numbersListed} numbers from 200 to 999`
        : null,
    coverage: () => ({ whole: true, areaCodes: [] })
  }
}
