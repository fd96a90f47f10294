/**
 * Makes the classes of endpoints' errors from the table of codes (`errorTable`), one function per shape of their bodies
 * (docs/platform.md, 1.5). The code gives the status and the description; a class that says more than the table has a
 * description of its own. A client of the typed API catches errors by `_tag`, which is not on the wire.
 */
import { Schema } from "effect"
import { type ErrorCode, errorTable } from "./errorTable.ts"

const annotationsOf = (code: ErrorCode, description: string | undefined) => ({
  httpApiStatus: errorTable[code].status,
  description: description ?? errorTable[code].description
})

/** Makes an error of its message alone. */
export interface ErrorOf<Self> {
  /** May be called without its class. */
  readonly of: (message: string) => Self
}

const withOf = <Class, Self>(base: Class, fieldsOf: (message: string) => object): Class & ErrorOf<Self> => {
  const of = {
    get(this: new (fields: object) => Self) {
      return (message: string) => new this(fieldsOf(message))
    }
  }
  return Object.defineProperty(base as object, "of", of) as Class & ErrorOf<Self>
}

/** `{error: code, message}`: the directory, telco and webhooks. */
export const codedError =
  <Self>() =>
  <const Tag extends string, const Code extends ErrorCode>(tag: Tag, code: Code, description?: string) =>
    Schema.Error<Self>(`sluice/${tag}`)(
      { _tag: Schema.tagDefaultOmit(tag), error: Schema.tag(code), message: Schema.String },
      annotationsOf(code, description)
    )

/** `{error: sentence}`: talk. */
export const sentenceError =
  <Self>() =>
  <const Tag extends string>(tag: Tag, code: ErrorCode, description?: string) =>
    Schema.Error<Self>(`sluice/${tag}`)(
      { _tag: Schema.tagDefaultOmit(tag), error: Schema.String },
      annotationsOf(code, description)
    )

/** `{error: {code, message, …}}`: sending. */
export const nestedError =
  <Self>() =>
  <
    const Tag extends string,
    const Code extends ErrorCode,
    const Fields extends Schema.Struct.Fields = Record<never, never>
  >(
    tag: Tag,
    code: Code,
    description?: string,
    fields?: Fields
  ) => {
    const error = Schema.Struct({ code: Schema.Literal(code), message: Schema.String, ...(fields as Fields) })
    const base = Schema.Error<Self>(`sluice/${tag}`)(
      { _tag: Schema.tagDefaultOmit(tag), error },
      annotationsOf(code, description)
    )
    return withOf<typeof base, Self>(base, (message) => ({ error: { code, message } }))
  }

/** `{success: false, error: {code, message}}`: everything else. */
export const envelopeError =
  <Self>() =>
  <const Tag extends string, const Code extends ErrorCode>(tag: Tag, code: Code, description?: string) => {
    const error = Schema.Struct({ code: Schema.Literal(code), message: Schema.String })
    const base = Schema.Error<Self>(`sluice/${tag}`)(
      { _tag: Schema.tagDefaultOmit(tag), success: Schema.tag(false), error },
      annotationsOf(code, description)
    )
    return withOf<typeof base, Self>(base, (message) => ({ error: { code, message } }))
  }
