/**
 * Finds the hosts of an email's links in one pass. Nothing that is open at the end is looked for twice, so hostile
 * input costs no more than its length. HTML is read as mail programs do: attributes in any form, comments for one of
 * them, no scripts. Pure.
 */
import { withoutReferences } from "./characterReferences.ts"
import { hostOfBareLink, hostOfLink } from "./linkHosts.ts"

/** The findings, and the number of characters looked at, each as often as it was. */
export interface FoundLinks {
  readonly hosts: Set<string>
  steps: number
}

export const noLinks = (): FoundLinks => ({ hosts: new Set(), steps: 0 })

/** Attributes whose value a reader can follow. */
const followed: ReadonlySet<string> = new Set(["href", "xlink:href", "action", "formaction"])

/** Elements whose content is no markup and shows no link. */
const unread: ReadonlySet<string> = new Set(["script", "style", "title", "textarea"])

const add = (found: FoundLinks, host: string | undefined): void => {
  if (host !== undefined) found.hosts.add(host)
}

const isOneOf = (characters: string, character: string | undefined): boolean =>
  character !== undefined && characters.includes(character)

/** A word without the punctuation around it, which belongs to the sentence. */
const withoutPunctuation = (word: string): string => {
  let from = 0
  let to = word.length
  while (from < to && isOneOf("*_~.:;-=", word[from])) from++
  while (to > from && isOneOf("*_~.:;!?", word[to - 1])) to--
  return word.slice(from, to)
}

const scheme = /https?:\/\//i

const scanWord = (found: FoundLinks, written: string): void => {
  const word = withoutPunctuation(written)
  found.steps += 2 * word.length
  const bare = hostOfBareLink(word)
  if (bare !== undefined) {
    found.hosts.add(bare)
    return
  }
  const at = word.search(scheme)
  if (at !== -1) add(found, hostOfLink(word.slice(at)))
}

/**
 * Every link holds one of these: behind its scheme or its host, or at its beginning. Most texts hold none, and need no
 * look at their words.
 */
const linkSign = /[/\\?#]|www\./i

/** Adds the links of a plain text: addresses with a scheme, and those without one that mail programs make links of. */
export const scanText = (found: FoundLinks, text: string): void => {
  found.steps += text.length
  if (!linkSign.test(text)) return
  for (const [word] of text.matchAll(/[^\s<>"'`()[\]{}|,]+/g)) if (linkSign.test(word)) scanWord(found, word)
}

const blanks = " \t\n\f\r"

/** A position in a markup that only goes forward. */
class Markup {
  readonly text: string
  at = 0
  /** The number of characters looked at. */
  steps = 0

  constructor(text: string) {
    this.text = text
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length
  }

  get next(): string | undefined {
    return this.text[this.at]
  }

  /** Reads up to a character, or to the end. */
  untilOne(character: string): string {
    const from = this.at
    const found = this.text.indexOf(character, from)
    this.at = found === -1 ? this.text.length : found
    this.steps += this.at - from
    return this.text.slice(from, this.at)
  }

  /** Reads up to one of these characters, or to the end. */
  until(characters: string): string {
    const from = this.at
    while (this.at < this.text.length && !characters.includes(this.text[this.at]!)) this.at++
    this.steps += this.at - from
    return this.text.slice(from, this.at)
  }

  /** Reads while it is one of these characters. */
  skip(characters: string): void {
    const from = this.at
    while (isOneOf(characters, this.next)) this.at++
    this.steps += this.at - from
  }

  /** Reads up to a text and past it; undefined, and at the end, where there is none. */
  past(text: string): string | undefined {
    const from = this.at
    const found = this.text.indexOf(text, from)
    this.steps += (found === -1 ? this.text.length : found) - from
    this.at = found === -1 ? this.text.length : found + text.length
    return found === -1 ? undefined : this.text.slice(from, found)
  }

  startsWith(text: string): boolean {
    return this.text.startsWith(text, this.at)
  }
}

/** The value behind `=`; undefined where the tag does not end, so that no reader sees it. */
const readValue = (markup: Markup): string | undefined => {
  const quote = markup.next
  if (quote !== '"' && quote !== "'") return markup.until(`${blanks}>`)
  markup.at++
  return markup.past(quote)
}

/** The followed attributes of a tag by their names, the first of each; undefined where the tag does not end. */
const readAttributes = (markup: Markup): ReadonlyMap<string, string> | undefined => {
  const attributes = new Map<string, string>()
  for (;;) {
    markup.skip(`${blanks}/`)
    if (markup.isAtEnd) return undefined
    if (markup.next === ">") {
      markup.at++
      return attributes
    }
    const from = markup.at
    // An equals sign at the beginning belongs to the name.
    markup.at++
    markup.until(`${blanks}/>=`)
    const name = markup.text.slice(from, markup.at).toLowerCase()
    markup.skip(blanks)
    if (markup.next !== "=") continue
    markup.at++
    markup.skip(blanks)
    const value = readValue(markup)
    if (value === undefined) return undefined
    if (followed.has(name) && !attributes.has(name)) attributes.set(name, value)
  }
}

/** Passes a comment. What one for Outlook alone holds is markup there. */
const skipComment = (markup: Markup): void => {
  if (["[if", ">", "->"].some((beginning) => markup.startsWith(beginning))) {
    markup.past(">")
    return
  }
  for (;;) {
    if (markup.past("--") === undefined) return
    // The last two of three dashes may be the end.
    markup.skip("-")
    if (markup.startsWith("!>")) markup.at++
    if (markup.next === ">") {
      markup.at++
      return
    }
  }
}

/** Passes the content of an element that holds no markup, up to its end tag. */
const skipContent = (markup: Markup, name: string): void => {
  for (;;) {
    if (markup.past("</") === undefined) return
    const end = markup.text.slice(markup.at, markup.at + name.length + 1).toLowerCase()
    if (end.startsWith(name) && (end.length === name.length || isOneOf(`${blanks}/>`, end.at(-1)))) return
  }
}

interface Reading {
  /** Whether what comes is the text of a link, which leads where its attribute says. */
  isInLink: boolean
}

/** Reads what begins with `<`, which is passed already. */
const scanTag = (found: FoundLinks, markup: Markup, reading: Reading): void => {
  const isEnd = markup.next === "/"
  if (isEnd) markup.at++
  if (!isEnd && markup.startsWith("!--")) {
    markup.at += 3
    skipComment(markup)
    return
  }
  if (!/[a-z]/i.test(markup.next ?? "")) {
    // Declarations, and end tags of nothing; any other `<` is one of the text.
    if (isEnd || isOneOf("!?", markup.next)) markup.past(">")
    return
  }
  const name = markup.until(`${blanks}/>`).toLowerCase()
  const attributes = readAttributes(markup)
  if (attributes === undefined) return
  if (name === "a") reading.isInLink = !isEnd && attributes.has("href")
  // A style sheet or a font is loaded and not followed.
  if (isEnd || name === "link") return
  for (const value of attributes.values()) {
    found.steps += 2 * value.length
    add(found, hostOfLink(withoutReferences(value)))
  }
  if (unread.has(name)) skipContent(markup, name)
}

/** Adds the links of a markup, including those in its text. */
export const scanHtml = (found: FoundLinks, html: string): void => {
  const markup = new Markup(html)
  const reading: Reading = { isInLink: false }
  while (!markup.isAtEnd) {
    const text = markup.untilOne("<")
    if (!reading.isInLink && text !== "") {
      found.steps += text.length
      scanText(found, withoutReferences(text))
    }
    markup.at++
    if (!markup.isAtEnd) scanTag(found, markup, reading)
  }
  found.steps += markup.steps
}
