/**
 * How values travel between JavaScript and PostgreSQL's text format. One rule per type, the same for pooled, streamed
 * and dedicated reads:
 *
 * - `int2`, `int4`, `oid`, `float4`, `float8` are numbers (effect/cluster compares lock ids as numbers);
 * - `int8` is a number while it is exact (up to 2^53 - 1 either way) and a `bigint` beyond: never rounded;
 * - `numeric`, `date`, `time` and `timestamp` without zone are strings: a number would round them, a Date invent a zone;
 * - `timestamptz` is a Date (milliseconds), `bytea` a Buffer, `json` and `jsonb` parsed; arrays follow their element.
 */
import { types as builtins, type CustomTypesConfig } from "pg"

type Parser = (text: string) => unknown

const oids = {
  int8: 20,
  date: 1082,
  timestamp: 1114,
  int8Array: 1016,
  timestampArray: 1115,
  dateArray: 1182,
  numericArray: 1231,
  textArray: 1009
} as const

/** Up to this many characters, sign included, an integer is exact as a number. */
const exactIntegerLength = 15

/** `int8` as a number while that is exact, otherwise as a bigint. */
export const parseInt8 = (text: string): number | bigint => {
  const value = Number(text)
  return text.length <= exactIntegerLength || Number.isSafeInteger(value) ? value : BigInt(text)
}

const asIs: Parser = (text) => text
// The driver's types know only the scalar oids.
const builtinParser = builtins.getTypeParser as (oid: number, format?: "text" | "binary") => Parser
const parseTextArray = builtinParser(oids.textArray) as (text: string) => ReadonlyArray<unknown>

const mapNested = (values: ReadonlyArray<unknown>, parse: Parser): ReadonlyArray<unknown> =>
  values.map((value) => (Array.isArray(value) ? mapNested(value, parse) : value === null ? null : parse(String(value))))

const overrides: Record<number, Parser> = {
  [oids.int8]: parseInt8,
  [oids.date]: asIs,
  [oids.timestamp]: asIs,
  [oids.int8Array]: (text) => mapNested(parseTextArray(text), parseInt8),
  [oids.timestampArray]: parseTextArray,
  [oids.dateArray]: parseTextArray,
  [oids.numericArray]: parseTextArray
}

/** The driver's hook for reading columns. */
export const typeParsers: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    (format === "binary" ? undefined : overrides[oid]) ??
    builtinParser(oid, format)) as CustomTypesConfig["getTypeParser"]
}

/** A text or value that cannot be sent. Names the position of a value, never the value. */
export class Unsendable extends TypeError {
  override readonly name = "Unsendable"
}

/** The protocol ends a statement's text at the first zero byte; what follows would be read as something else. */
export const checkText = (text: string): void => {
  if (text.includes("\0")) throw new Unsendable("The text of a statement cannot hold a zero byte")
}

/** The Bind message counts parameters in 16 bits; the driver would let the count wrap. */
export const maxParameters = 65_535

/**
 * The text (or bytes) that a value is sent as. Arrays become PostgreSQL arrays and other objects JSON; a JSON array or
 * a bare JSON string goes through `PgClient.json`. Throws {@link Unsendable}.
 */
export const encodeParameters = (values: ReadonlyArray<unknown>): Array<string | Buffer | null> => {
  if (values.length > maxParameters) {
    throw new Unsendable(`A statement takes at most ${maxParameters} parameters, this one has ${values.length}`)
  }
  const encoded = new Array<string | Buffer | null>(values.length)
  for (let index = 0; index < values.length; index++) {
    try {
      encoded[index] = encodeParameter(values[index])
    } catch (cause) {
      throw new Unsendable(`Parameter $${index + 1} cannot be sent to PostgreSQL`, { cause })
    }
  }
  return encoded
}

const encodeParameter = (value: unknown): string | Buffer | null => {
  switch (typeof value) {
    case "string":
      return value
    case "number":
    case "bigint":
    case "boolean":
      return String(value)
    case "undefined":
      return null
    case "object":
      if (value === null) return null
      if (value instanceof Date) return value.toISOString()
      if (ArrayBuffer.isView(value)) return bytes(value)
      return Array.isArray(value) ? encodeArray(value) : (JSON.stringify(value) ?? null)
    default:
      throw new TypeError(`a ${typeof value} has no form in SQL`)
  }
}

const bytes = (view: ArrayBufferView): Buffer => Buffer.from(view.buffer, view.byteOffset, view.byteLength)

const encodeArray = (values: ReadonlyArray<unknown>): string => {
  let text = "{"
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ","
    const value = values[index]
    if (Array.isArray(value)) {
      text += encodeArray(value)
    } else {
      const element = encodeParameter(value)
      text += element === null ? "NULL" : quote(typeof element === "string" ? element : `\\x${element.toString("hex")}`)
    }
  }
  return `${text}}`
}

const quote = (text: string): string => `"${/["\\]/.test(text) ? text.replace(/["\\]/g, "\\$&") : text}"`
