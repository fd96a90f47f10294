/**
 * An XmlScanner reads a small, hostile XML document: elements and their texts, within bounds. It knows the five
 * entities of XML and numbered characters; a document type, and with it every other entity, is a fault. Attributes are
 * passed over. Its work is linear in the text. Pure.
 */
import { maximumXmlDepth, maximumXmlElements, maximumXmlName, maximumXmlText } from "./limits.ts"

/** `Close` has the element's own text, without that of the elements in it. Names are local: without a prefix. */
export type XmlToken =
  | { readonly _tag: "Open"; readonly name: string }
  | { readonly _tag: "Close"; readonly name: string; readonly text: string }
  | { readonly _tag: "End" }
  | { readonly _tag: "Fault"; readonly reason: string }

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

const fault = (reason: string): XmlToken => ({ _tag: "Fault", reason })

/** A character by its number; undefined if XML has none. */
const numbered = (digits: string): string | undefined => {
  const code = digits.startsWith("x") ? Number.parseInt(digits.slice(1), 16) : Number.parseInt(digits, 10)
  const isAllowed = code === 9 || code === 10 || code === 13 || (code >= 32 && code <= 0x10ffff)
  return isAllowed && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : undefined
}

/** A text with its references resolved; undefined where one is none of XML's own. */
const resolved = (text: string): string | undefined => {
  if (!text.includes("&")) return text
  let isKnown = true
  const plain = text.replace(/&([^;&]{0,10});?/g, (whole, name: string) => {
    const value = /^#(\d{1,7}|x[0-9a-fA-F]{1,6})$/.test(name)
      ? numbered(name.slice(1))
      : Object.hasOwn(entities, name)
        ? entities[name]
        : undefined
    if (value === undefined || !whole.endsWith(";")) isKnown = false
    return value ?? ""
  })
  return isKnown ? plain : undefined
}

/** The name of a tag's inside: `prefix:name attribute="…"`. Undefined if it is none. */
const nameIn = (tag: string): { readonly whole: string; readonly local: string } | undefined => {
  const whole = /^[^\s/>=<&"']+/.exec(tag.slice(0, maximumXmlName + 1))?.[0]
  if (whole === undefined || whole.length > maximumXmlName) return undefined
  const local = whole.slice(whole.indexOf(":") + 1)
  return local === "" || local.includes(":") ? undefined : { whole, local }
}

interface OpenElement {
  /** With its prefix, as the end tag must have it. */
  readonly whole: string
  readonly local: string
  text: string
}

export class XmlScanner {
  private readonly source: string
  private place = 0
  private hasRoot = false
  private elements = 0
  private readonly open: Array<OpenElement> = []
  /** The end of an element without content, which follows its beginning. */
  private emptied = false

  constructor(source: string) {
    this.source = source.startsWith("\ufeff") ? source.slice(1) : source
  }

  /** The next token. Behind `End` and `Fault` there is none. */
  next(): XmlToken {
    if (this.emptied) {
      this.emptied = false
      return this.close()
    }
    for (;;) {
      const tag = this.source.indexOf("<", this.place)
      const problem = this.take(this.source.slice(this.place, tag === -1 ? undefined : tag), false)
      if (problem !== undefined) return fault(problem)
      if (tag === -1) return this.end()
      this.place = tag
      const token = this.markup()
      if (token !== undefined) return token
    }
  }

  private end(): XmlToken {
    if (this.open.length > 0) return fault("an element has no end")
    return this.hasRoot ? { _tag: "End" } : fault("it has no element")
  }

  /** Adds a text to the element that it is in; what is wrong with it, if anything is. */
  private take(raw: string, isLiteral: boolean): string | undefined {
    // Blanks stand between elements, and a report has many of them.
    if (/^\s*$/.test(raw)) return undefined
    const element = this.open.at(-1)
    if (element === undefined) return "a text stands outside of the elements"
    if (raw.length + element.text.length > maximumXmlText) return "a text is too long"
    const plain = isLiteral ? raw : resolved(raw)
    if (plain === undefined) return "it refers to an unknown entity"
    element.text += plain
    return undefined
  }

  /** Reads what begins with `<`; undefined where it is no token. */
  private markup(): XmlToken | undefined {
    if (this.source.startsWith("<!--", this.place)) return this.skip("-->", 4, "a comment has no end")
    if (this.source.startsWith("<?", this.place)) return this.skip("?>", 2, "an instruction has no end")
    if (this.source.startsWith("<![CDATA[", this.place)) {
      const from = this.place + "<![CDATA[".length
      const skipped = this.skip("]]>", from - this.place, "a text has no end")
      const problem = skipped === undefined ? this.take(this.source.slice(from, this.place - 3), true) : undefined
      return problem === undefined ? skipped : fault(problem)
    }
    if (this.source.startsWith("<!", this.place)) return fault("it has a document type")
    return this.tag()
  }

  private skip(end: string, from: number, problem: string): XmlToken | undefined {
    const at = this.source.indexOf(end, this.place + from)
    if (at === -1) return fault(problem)
    this.place = at + end.length
    return undefined
  }

  private tag(): XmlToken {
    const end = tagEnd(this.source, this.place + 1)
    if (end === -1) return fault("a tag has no end")
    const inside = this.source.slice(this.place + 1, end)
    this.place = end + 1
    return inside.startsWith("/") ? this.endTag(inside.slice(1)) : this.startTag(inside)
  }

  private startTag(inside: string): XmlToken {
    const name = nameIn(inside)
    if (name === undefined) return fault("a tag has no name")
    if (this.open.length === 0 && this.hasRoot) return fault("it has several outermost elements")
    if (++this.elements > maximumXmlElements) return fault(`it has more than ${maximumXmlElements} elements`)
    if (this.open.length >= maximumXmlDepth) return fault("its elements are nested too deeply")
    this.hasRoot = true
    this.open.push({ ...name, text: "" })
    this.emptied = inside.endsWith("/")
    return { _tag: "Open", name: name.local }
  }

  private endTag(inside: string): XmlToken {
    const name = nameIn(inside)
    return name === undefined || this.open.at(-1)?.whole !== name.whole
      ? fault("an end tag does not fit its element")
      : this.close()
  }

  private close(): XmlToken {
    const { local, text } = this.open.pop()!
    return { _tag: "Close", name: local, text }
  }
}

/** Characters of a tag. */
const maximumTag = 4_096

/** The place of a tag's `>`, which may also stand in the value of an attribute; -1 where there is none near. */
const tagEnd = (source: string, from: number): number => {
  const near = source.indexOf(">", from)
  if (near === -1 || near - from > maximumTag) return -1
  const inside = source.slice(from, near)
  if (!/[<"']/.test(inside)) return near
  let quote = ""
  const last = Math.min(source.length, from + maximumTag)
  for (let at = from; at < last; at++) {
    const one = source[at]!
    if (quote !== "") {
      if (one === quote) quote = ""
    } else if (one === ">") return at
    else if (one === '"' || one === "'") quote = one
    else if (one === "<") return -1
  }
  return -1
}
