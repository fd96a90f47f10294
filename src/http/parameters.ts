/**
 * Defines schemas of query and path parameters with readable errors: the message of a failing check names the
 * expectation, and the edge puts the parameter's name and the given text before it. Integers are plain decimal digits;
 * nothing is clamped (docs/platform.md, 3.3).
 */
import { Schema, SchemaGetter } from "effect"

/** Default page size of lists with offsets (docs/platform.md, 3.3). */
export const defaultPageSize = 50
/** Largest page of any list (docs/platform.md, 3.3 and 3.4). */
export const maximumPageSize = 100
/** Longest quotation of a caller's text in a message, in characters. */
const quotedLength = 64

/**
 * Invisible characters, such as directions and joiners. A fault that consists of one must be visible in the message.
 */
const invisible = /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escaped = (mark: string): string => `\\u{${mark.codePointAt(0)!.toString(16)}}`

/** The caller's text in quotes for an error's message, cut if it is long, with invisible characters as `\u{200b}`. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > quotedLength ? `${text.slice(0, quotedLength)}…` : text).replaceAll(invisible, escaped)

/**
 * A whole number in decimal digits between the two bounds. The API describes it as an integer, although it travels as
 * text.
 */
export const integerParameter = (minimum: number, maximum: number = Number.MAX_SAFE_INTEGER) => {
  const expected =
    maximum === Number.MAX_SAFE_INTEGER
      ? `Expected an integer of at least ${minimum}`
      : `Expected an integer from ${minimum} to ${maximum}`
  const atMost = maximum === Number.MAX_SAFE_INTEGER ? `Expected an integer of at most ${maximum}` : expected
  return Schema.String.check(
    // Each number has one spelling: no sign and no leading zero.
    Schema.makeFilter((text: string) => (/^(0|[1-9]\d*)$/.test(text) && Number(text) >= minimum) || expected, {
      message: expected
    }),
    Schema.makeFilter((text: string) => Number(text) <= maximum || atMost, { message: atMost })
  ).pipe(
    Schema.decodeTo(Schema.Number, {
      decode: SchemaGetter.transform((text: string) => Number(text)),
      encode: SchemaGetter.transform((number: number) => String(number))
    })
  )
}

/**
 * Capitalizes ASCII letters and nothing else, because other alphabets have letters whose capital is an ASCII letter.
 */
export const asciiUpperCase = (text: string): string => text.replace(/[a-z]/g, (letter) => letter.toUpperCase())

/** Page size: 1 to 100, default 50. */
export const limitParameter = integerParameter(1, maximumPageSize)

/** Results to skip: 0 or more. */
export const offsetParameter = integerParameter(0)
