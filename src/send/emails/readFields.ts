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
