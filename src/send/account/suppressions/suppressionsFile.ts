/**
 * Reads files of addresses for a suppression list (docs/platform.md, 9.15): lines of comma-separated cells. If the first
 * line is a heading with a column for addresses, that column has them, else the first one. The reader works a chunk at
 * a time, in bounded memory. Pure.
 */
import { makeLineSplitter, splitCsv } from "../../../directory/index.ts"
import { normalizedAddress } from "../../senders/addresses/model.ts"
import { simulatorDomain } from "./suppression.ts"

/** Most addresses of a file. */
export const maximumFileAddresses = 100_000

/** Malformed lines that are listed; all are counted. */
export const listedMalformed = 100

export interface SuppressionsCount {
  /** Different addresses. */
  readonly addresses: number
  /** Lines that repeat an address. */
  readonly repeated: number
  /** Whether the file has more addresses than are read. */
  readonly isTooLong: boolean
  readonly malformed: {
    readonly total: number
    readonly listed: ReadonlyArray<{ readonly line: number; readonly reason: string }>
  }
}

/** Whether the file is most likely something else, or too long: then nothing of it is to be used. */
export const isRefused = ({ addresses, isTooLong, malformed }: SuppressionsCount): boolean =>
  isTooLong || addresses === 0 || malformed.total > addresses

export interface SuppressionsReader {
  readonly push: (chunk: Uint8Array) => void
  /** Reads what is left; answers the addresses in the file's order, each once, and what was found. */
  readonly end: () => { readonly addresses: ReadonlyArray<string>; readonly count: SuppressionsCount }
}

const headings = new Set(["email", "e-mail", "email address", "address", "recipient"])

export const makeSuppressionsReader = (): SuppressionsReader => {
  const addresses = new Set<string>()
  const listed: Array<{ readonly line: number; readonly reason: string }> = []
  let [total, repeated, column, isTooLong] = [0, 0, 0, false]
  const malformed = (reason: string, line: number) => {
    total++
    if (listed.length < listedMalformed) listed.push({ line, reason })
  }
  const take = (cell: string, line: number): void => {
    const address = normalizedAddress(cell)
    if (address === undefined || address.endsWith(`@${simulatorDomain}`))
      malformed(`has no address in column ${column + 1}`, line)
    else if (addresses.has(address)) repeated++
    else if (addresses.size < maximumFileAddresses) addresses.add(address)
    else isTooLong = true
  }
  const splitter = makeLineSplitter({
    line: (text, line) => {
      if (text.trim() === "") return
      const cells = splitCsv(text)
      if (typeof cells === "string") return malformed(cells, line)
      const heading = line === 1 ? cells.findIndex((cell) => headings.has(cell.trim().toLowerCase())) : -1
      if (heading >= 0) column = heading
      else take((cells[column] ?? "").trim(), line)
    },
    malformed
  })
  return {
    push: splitter.push,
    end: () => {
      splitter.end()
      const count = { addresses: addresses.size, repeated, isTooLong, malformed: { total, listed } }
      return { addresses: [...addresses], count }
    }
  }
}
