/**
 * Reads fields as headers and reports write them: `Name: value` lines, folded, in groups between empty lines. Mail
 * systems break the format in many small ways, so a line that begins no field belongs to the field before it. Its work
 * is linear in the length of the text.
 */
import { maximumFieldLength, maximumIdentifierLength } from "./limits.ts"

/**
 * A group of fields: values in order by name in lower case, without line breaks, each of at most twice
 * `maximumFieldLength`.
 */
export type Fields = ReadonlyMap<string, ReadonlyArray<string>>

const name = /^([!-9;-~]{1,64})[ \t]*:/

/**
 * Lines with their ends unfolded, by field. `startsAnew` tells by the name, and the group so far, that a new group
 * begins without an empty line.
 */
export const fieldGroups = (
  text: string,
  startsAnew: (name: string, group: Fields) => boolean = () => false
): ReadonlyArray<Fields> => {
  const groups: Array<Fields> = []
  let group = new Map<string, Array<string>>()
  let current: Array<string> | null = null
  const close = () => {
    if (group.size > 0) groups.push(group)
    group = new Map()
    current = null
  }
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.trim() === "") {
      close()
      continue
    }
    const found = line.startsWith(" ") || line.startsWith("\t") ? null : name.exec(line)
    if (found === null) {
      const last: string | undefined = current?.at(-1)
      if (current !== null && last !== undefined && last.length < maximumFieldLength) {
        current[current.length - 1] = `${last} ${line.slice(0, maximumFieldLength).trim()}`
      }
      continue
    }
    const key = found[1]!.toLowerCase()
    if (startsAnew(key, group)) close()
    const values: Array<string> = group.get(key) ?? []
    values.push(line.slice(found[0].length).trim().slice(0, maximumFieldLength))
    group.set(key, values)
    current = values
  }
  close()
  return groups
}

/** The first value that is not empty. */
export const first = (fields: Fields, ...names: ReadonlyArray<string>): string | null => {
  for (const one of names) {
    for (const value of fields.get(one) ?? []) if (value !== "") return value
  }
  return null
}

/**
 * A text on one line, without control characters, of at most `maximumLength` characters; null where nothing is left.
 */
export const oneLine = (text: string | null, maximumLength: number): string | null => {
  if (text === null) return null
  const clean = text
    .slice(0, maximumFieldLength)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
    .replace(/[\u0000-\u0020\u007f-\u00a0\u2028\u2029]+/g, " ")
    .trim()
    .slice(0, maximumLength)
    .toWellFormed()
  return clean === "" ? null : clean
}

/** The value behind a type, as in `dns; mx.example.com` and `smtp; 550 No`. */
export const untyped = (value: string): string => value.replace(/^[A-Za-z0-9_-]{1,32}[ \t]*;[ \t]*/, "")

/** A Message-ID without its angle brackets. Two different ones identify nothing. */
export const messageIdOf = (fields: Fields): string | null => {
  const ids = new Set(
    (fields.get("message-id") ?? []).flatMap((value) => {
      const open = value.indexOf("<")
      const close = value.indexOf(">", open)
      const id = open >= 0 && close > open ? value.slice(open + 1, close) : (value.split(/[ \t]/, 1)[0] ?? "")
      return id === "" || id.length > maximumIdentifierLength ? [] : [oneLine(id, maximumIdentifierLength)]
    })
  )
  return ids.size === 1 ? [...ids][0]! : null
}
