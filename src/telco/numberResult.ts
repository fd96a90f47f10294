/** Looks one number of many up in an index of the directory, whatever text stands for it (docs/platform.md, 4.5). Pure. */
import { type DirectoryIndex, findNumber, type NumberingCode, timeZonesOf } from "../directory/index.ts"
import { codeOf, expectedNumber, normalizeNumber } from "./numbers.ts"

/** Most numbers in one request. */
export const maximumLookups = 1_000

/** The directory's record of a number. */
export interface FoundNumber extends NumberingCode {
  readonly tn: string
  /** IANA names of the zones that the area code spans; empty where the directory does not know. */
  readonly timeZones: ReadonlyArray<string>
}

/** Why a text has no result, in the words of the look-up of one number. */
export interface NumberFault {
  readonly error: "invalid_request" | "not_found"
  readonly message: string
}

/** The sentence about a number whose code has no record. */
export const noRecordOf = (tn: string): string => {
  const { npa, nxx } = codeOf(tn)
  return `No record of the code ${npa}-${nxx} of the number ${tn}`
}

/** The result of one text, or its fault. */
export const numberResult = (index: DirectoryIndex, text: string): FoundNumber | NumberFault => {
  const tn = normalizeNumber(text)
  if (tn === undefined) return { error: "invalid_request", message: expectedNumber }
  const code = findNumber(index, tn)
  if (code === undefined) return { error: "not_found", message: noRecordOf(tn) }
  return { tn, ...code, timeZones: timeZonesOf(index, code.npa) }
}

export const isFound = (result: FoundNumber | NumberFault): result is FoundNumber => !("error" in result)
