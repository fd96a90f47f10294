/**
 * Reads addresses as reports write them: with a type, in angle brackets, with comments, in the encodings of RFC 3461
 * and RFC 6533. Its work is linear in the length.
 */
import { maximumAddressees, maximumAddressLength, maximumFieldLength } from "./limits.ts"

/**
 * Characters that RFC 3461 writes as `+2B`. Only where the address has no `@` of its own: `a+2B@b` is an address as it
 * stands.
 */
const fromXtext = (text: string): string =>
  text.includes("@") || !/\+40/.test(text)
    ? text
    : text.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Characters that RFC 6533 writes as `\x{E9}`. */
const fromUtf8Xtext = (text: string): string =>
  text.replace(/\\x\{([0-9A-Fa-f]{1,6})\}/g, (whole, hex: string) => {
    const point = Number.parseInt(hex, 16)
    return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff) ? String.fromCodePoint(point) : whole
  })

/** The text in the last angle brackets, or the whole text. */
const unbracketed = (text: string): string => {
  const close = text.lastIndexOf(">")
  const open = close < 0 ? -1 : text.lastIndexOf("<", close)
  return open < 0 ? text : text.slice(open + 1, close)
}

/** The address in a field such as `rfc822; <a@b> (comment)`, or null. Case is kept. */
export const addressOf = (field: string | null): string | null => {
  if (field === null) return null
  const typed = /^[ \t]*([A-Za-z0-9_/-]{1,32})[ \t]*;/.exec(field)
  const value = field.slice(typed?.[0].length ?? 0, maximumFieldLength)
  const bare = unbracketed(value)
    .trim()
    .replace(/^mailto:/i, "")
  const comment = bare.indexOf(" (")
  const decoded = fromXtext((comment < 0 ? bare : bare.slice(0, comment)).trim())
  const routed = typed?.[1]?.toLowerCase() === "utf-8" ? fromUtf8Xtext(decoded) : decoded
  // A route, `@relay.example:a@b`, is ignored (RFC 5321, appendix C).
  const address = routed.startsWith("@") ? routed.slice(routed.indexOf(":") + 1) : routed
  const at = address.lastIndexOf("@")
  const isAddress =
    at > 0 &&
    at < address.length - 1 &&
    address.length <= maximumAddressLength &&
    // A quoted local part may have spaces; nothing else of an address may.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no address has any.
    !/[\u0000-\u001f\u007f]/.test(address) &&
    !/[\s<>(),;]/.test(address.startsWith('"') ? address.slice(at) : address)
  return isAddress ? address.toWellFormed() : null
}

/**
 * The addresses in fields such as `To`, each once, in order. A comma in a quoted name only makes a piece that is no
 * address.
 */
export const addressesOf = (fields: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const field of fields) {
    for (const piece of field.slice(0, maximumFieldLength).split(/[,;]/)) {
      const address = addressOf(piece)
      if (address !== null && found.size < maximumAddressees) found.add(address)
    }
  }
  return [...found]
}
