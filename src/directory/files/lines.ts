/**
 * Cuts a stream of bytes into lines of text, synchronously and a chunk at a time. UTF-8 with or without a byte order
 * mark, LF or CRLF. It reports a line that is too long, not UTF-8, or has control characters (PostgreSQL stores no NUL)
 * as malformed instead of handing it over, and never stops reading for it.
 */
import { isUtf8 } from "node:buffer"
import { lineLimitBytes } from "./limits.ts"

/** The callbacks for each line. See {@link makeLineSplitter}. */
export interface LineConsumer {
  /** One line without its line end; `number` counts from 1. */
  readonly line: (text: string, number: number) => void
  /** A line that cannot be handed over as text. */
  readonly malformed: (reason: string, number: number) => void
}

/** Takes bytes as they come, and hands on whole lines. See {@link makeLineSplitter}. */
export interface LineSplitter {
  readonly push: (chunk: Uint8Array) => void
  /** Hands over what is left. False when the last line had no line end. */
  readonly end: () => { readonly terminated: boolean }
}

const lineFeed = 10
const carriageReturn = 13
const byteOrderMark = 0xfeff

/** Only a tab and the carriage return of a line end are expected. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\r(?!\n)/

const tooLong = `is longer than ${lineLimitBytes} bytes`
const notUtf8 = "is not valid UTF-8"
const hasControlCharacters = "holds control characters"

const exceeds = (text: string): boolean =>
  text.length > lineLimitBytes || (text.length * 3 > lineLimitBytes && Buffer.byteLength(text) > lineLimitBytes)

/**
 * Makes a splitter that hands its lines to `consumer`.
 *
 * @example
 * ```ts
 * import { makeLineSplitter } from "sluice/directory"
 *
 * const lines: Array<string> = []
 * const splitter = makeLineSplitter({ line: (text) => lines.push(text), malformed: (reason) => lines.push(reason) })
 * splitter.push(Buffer.from("one\ntw"))
 * splitter.push(Buffer.from("o\n"))
 * console.log(splitter.end().terminated, lines) // true [ 'one', 'two' ]
 * ```
 */
export const makeLineSplitter = (consumer: LineConsumer): LineSplitter => {
  let number = 0
  let carry: Buffer | null = null
  let skipping = false

  const emit = (text: string, suspicious: boolean): void => {
    number++
    const line = number === 1 && text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text
    if (exceeds(line)) consumer.malformed(tooLong, number)
    else if (suspicious && controlCharacters.test(line)) consumer.malformed(hasControlCharacters, number)
    else consumer.line(line, number)
  }

  /** `text` ends with a line feed. */
  const emitText = (text: string): void => {
    const suspicious = controlCharacters.test(text)
    let start = 0
    while (start < text.length) {
      const at = text.indexOf("\n", start)
      emit(text.slice(start, text.charCodeAt(at - 1) === carriageReturn && at > start ? at - 1 : at), suspicious)
      start = at + 1
    }
  }

  /** `bytes` is one line without its line feed. */
  const emitLine = (bytes: Buffer): void => {
    const end = bytes.length > 0 && bytes[bytes.length - 1] === carriageReturn ? bytes.length - 1 : bytes.length
    const line = bytes.subarray(0, end)
    if (isUtf8(line)) {
      emit(line.toString("utf8"), true)
    } else {
      number++
      consumer.malformed(line.length > lineLimitBytes ? tooLong : notUtf8, number)
    }
  }

  /** `block` ends with a line feed. */
  const emitBlock = (block: Buffer): void => {
    if (isUtf8(block)) {
      emitText(block.toString("utf8"))
      return
    }
    let start = 0
    while (start < block.length) {
      const at = block.indexOf(lineFeed, start)
      emitLine(block.subarray(start, at))
      start = at + 1
    }
  }

  return {
    push: (chunk) => {
      let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      if (skipping) {
        const at = bytes.indexOf(lineFeed)
        if (at < 0) return
        skipping = false
        bytes = bytes.subarray(at + 1)
      }
      const last = bytes.lastIndexOf(lineFeed)
      if (last >= 0) {
        const complete = bytes.subarray(0, last + 1)
        emitBlock(carry === null ? complete : Buffer.concat([carry, complete]))
        carry = null
        bytes = bytes.subarray(last + 1)
      }
      if (bytes.length > 0) carry = carry === null ? Buffer.from(bytes) : Buffer.concat([carry, bytes])
      // One byte more than the limit for a carriage return at the end, and three for a byte order mark.
      if (carry !== null && carry.length > lineLimitBytes + 4) {
        number++
        consumer.malformed(tooLong, number)
        carry = null
        skipping = true
      }
    },
    end: () => {
      const rest = carry
      carry = null
      if (rest !== null) emitLine(rest)
      return { terminated: rest === null && !skipping }
    }
  }
}
