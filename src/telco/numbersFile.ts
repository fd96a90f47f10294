/**
 * Reads files of numbers (docs/platform.md, 4.4): lines of comma-separated cells with the number in the first one. A
 * first line without a digit in its first cell is a heading, and empty lines are skipped. The reader works a chunk at a
 * time, in bounded memory. Pure.
 */
import { listedMalformedLimit, makeLineSplitter, malformedShareLimit, splitCsv } from "../directory/index.ts"
import { normalizeNumber } from "./numbers.ts"

/** The content of a file. */
export interface NumbersCount {
  /** Lines with a number. */
  readonly numbers: number
  readonly malformed: {
    readonly total: number
    readonly listed: ReadonlyArray<{ readonly line: number; readonly reason: string }>
  }
}

/** Whether the share of malformed lines shows that the file is most likely something else. */
export const isRefused = ({ malformed, numbers }: NumbersCount): boolean =>
  numbers === 0 || malformed.total > malformedShareLimit * (malformed.total + numbers)

export interface NumbersReader {
  readonly push: (chunk: Uint8Array) => void
  /** Reads what is left, and tells what was found. */
  readonly end: () => NumbersCount
}

/** Calls back with every number, 10 digits, in the file's order. */
export const makeNumbersReader = (onNumber: (tn: string) => void): NumbersReader => {
  let numbers = 0
  let total = 0
  const listed: Array<{ readonly line: number; readonly reason: string }> = []
  const malformed = (reason: string, line: number) => {
    total++
    if (listed.length < listedMalformedLimit) listed.push({ line, reason })
  }
  const splitter = makeLineSplitter({
    line: (text, line) => {
      if (text.trim() === "") return
      const cells = splitCsv(text)
      if (typeof cells === "string") return malformed(cells, line)
      const first = cells[0] ?? ""
      const tn = normalizeNumber(first)
      if (tn !== undefined) {
        numbers++
        onNumber(tn)
      } else if (line > 1 || /\d/.test(first)) {
        malformed("does not begin with a number of 10 digits, with or without +1 or 1", line)
      }
    },
    malformed
  })
  return {
    push: splitter.push,
    end: () => {
      splitter.end()
      return { numbers, malformed: { total, listed } }
    }
  }
}
