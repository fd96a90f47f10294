/**
 * Decodes character references of HTML, such as `&amp;` and `&#x2f;`: those by number, and those by name for a blank or
 * for a character that has a meaning in an address. Any other name stays as it is. Pure.
 */

/** By name; the ones that HTML knows without a semicolon too are in `bareNames`. */
const named: Readonly<Record<string, string>> = {
  Tab: "\t",
  NewLine: "\n",
  nbsp: "\u00a0",
  shy: "\u00ad",
  amp: "&",
  AMP: "&",
  lt: "<",
  LT: "<",
  gt: ">",
  GT: ">",
  quot: '"',
  QUOT: '"',
  apos: "'",
  excl: "!",
  num: "#",
  dollar: "$",
  percnt: "%",
  lpar: "(",
  rpar: ")",
  ast: "*",
  plus: "+",
  comma: ",",
  period: ".",
  sol: "/",
  colon: ":",
  semi: ";",
  equals: "=",
  quest: "?",
  commat: "@",
  lsqb: "[",
  lbrack: "[",
  bsol: "\\",
  rsqb: "]",
  rbrack: "]",
  lowbar: "_",
  lcub: "{",
  lbrace: "{",
  vert: "|",
  verbar: "|",
  rcub: "}",
  rbrace: "}",
  hyphen: "\u2010",
  dash: "\u2010"
}

const bareNames: ReadonlySet<string> = new Set(["nbsp", "shy", "amp", "AMP", "lt", "LT", "gt", "GT", "quot", "QUOT"])

/** The highest code point. */
const lastCodePoint = 0x10ffff

const ofNumber = (digits: string, radix: 10 | 16): string => {
  const point = Number.parseInt(digits, radix)
  return point <= lastCodePoint ? String.fromCodePoint(point) : "\ufffd"
}

// A digit or a letter belongs to one reference alone, and no reference holds an ampersand, so each character is looked
// at a fixed number of times.
const reference = /&(?:#[xX]([0-9a-fA-F]+);?|#([0-9]+);?|([A-Za-z]{2,8})(;?))/g

/** The text with its references read, once: what comes out is not read again. */
export const withoutReferences = (text: string): string =>
  text.includes("&")
    ? text.replace(reference, (whole, hexadecimal?: string, decimal?: string, name?: string, end?: string) => {
        if (hexadecimal !== undefined) return ofNumber(hexadecimal, 16)
        if (decimal !== undefined) return ofNumber(decimal, 10)
        if (name === undefined || !Object.hasOwn(named, name)) return whole
        return end === ";" || bareNames.has(name) ? named[name]! : whole
      })
    : text
