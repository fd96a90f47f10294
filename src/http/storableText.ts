/**
 * Checks that text can be stored: Unicode without U+0000 and without halves of surrogate pairs, because PostgreSQL can
 * hold neither in a `text` nor in a `jsonb` column. This one check covers path, query and body of a request
 * (docs/platform.md, 1.2). Pure.
 */
import { quote } from "./parameters.ts"

/** The expectation in the error about a refused text. */
export const storableExpected = "Expected text without U+0000 and without half a surrogate pair"

/** Whether PostgreSQL can hold a text. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** A place in a value, as a chain to its beginning. */
interface Place {
  readonly key: string
  readonly parent: Place | undefined
}

const nameOf = (place: Place | undefined): string => {
  const keys: Array<string> = []
  for (let at = place; at !== undefined; at = at.parent) keys.push(at.key)
  return keys.toReversed().join(".")
}

/**
 * The place of the first text in parsed JSON that cannot be stored, names of fields included: its keys joined by dots,
 * empty for the value itself. Undefined if all can be stored. Values may be nested as deeply as JSON may be.
 */
export const unstorablePlace = (value: unknown): string | undefined => {
  const waiting: Array<{ readonly value: unknown; readonly place: Place | undefined }> = [{ value, place: undefined }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { place, value: one } = next
    if (typeof one === "string") {
      if (!isStorable(one)) return nameOf(place)
    } else if (typeof one === "object" && one !== null) {
      for (const [key, inner] of Object.entries(one)) {
        const at = { key, parent: place }
        if (!isStorable(key)) return nameOf(at)
        waiting.push({ value: inner, place: at })
      }
    }
  }
  return undefined
}

/** The JSON escapes of text that cannot be stored, and of whole surrogate pairs. Bytes of UTF-8 cannot hold either. */
const suspicious = /\\u(?:0000|d[89a-f])/i

/**
 * Whether the text of a JSON body must be checked, once it is parsed. Raw U+0000 is not JSON, so the parser refuses it.
 */
export const mayBeUnstorable = (json: string): boolean => suspicious.test(json)

/** A name as its sender wrote it, bounded and visible. */
const shown = (name: string): string => quote(name).slice(1, -1)

/** The sentence for a place in a body. */
export const unstorableField = (place: string): string =>
  place === "" ? `Invalid request body. ${storableExpected}.` : `Invalid field '${shown(place)}'. ${storableExpected}.`

const escapes = /(?:%[\da-f]{2})+/gi
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Whether the percent escapes of a text are UTF-8 that can be stored. A `%` that begins no escape means itself. */
const isEscapedText = (text: string): boolean => {
  for (const [run] of text.matchAll(escapes)) {
    try {
      if (strict.decode(Buffer.from(run.replaceAll("%", ""), "hex")).includes("\0")) return false
    } catch {
      return false
    }
  }
  return !text.includes("\0")
}

/** The fault in the text of a request target, as a sentence; undefined without one. */
export const targetProblem = (target: string): string | undefined => {
  if (!target.includes("%")) return undefined
  const start = target.indexOf("?")
  const path = start === -1 ? target : target.slice(0, start)
  if (!isEscapedText(path)) return `The path is not well-formed: ${quote(path)}. ${storableExpected}, in UTF-8.`
  if (start === -1) return undefined
  const bad = target
    .slice(start + 1)
    .split("&")
    .find((pair) => !isEscapedText(pair))
  return bad === undefined
    ? undefined
    : `Invalid parameter '${shown(bad.split("=", 1)[0]!)}': ${quote(bad.slice(bad.indexOf("=") + 1))}. ${storableExpected}, in UTF-8.`
}
