/** Splits HTML into tags and text, in one pass and as far as looking for words and links needs it. Pure. */

/** The inside of a tag, without its angle brackets, or text between tags, decoded. */
export type HtmlPiece = { readonly tag: string } | { readonly text: string }

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

/** Text with the references to characters that mails have most. */
export const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? whole
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })

/** Elements whose text nobody reads. */
const unread = ["style", "script", "title"] as const

/** Where the content of such an element ends; where it begins for any other one. */
const behindUnread = (html: string, tag: string, from: number): number => {
  const name = unread.find((one) => new RegExp(`^${one}(?![a-z-])`, "i").test(tag))
  if (name === undefined) return from
  const end = new RegExp(`</${name}`, "gi")
  end.lastIndex = from
  return end.exec(html)?.index ?? html.length
}

/** The pieces of a document, in order. */
export function* htmlPieces(html: string): Generator<HtmlPiece> {
  let at = 0
  while (at < html.length) {
    const open = html.indexOf("<", at)
    if (open !== at) yield { text: decodeEntities(html.slice(at, open === -1 ? html.length : open)) }
    if (open === -1) return
    const isComment = html.startsWith("<!--", open)
    const close = isComment ? html.indexOf("-->", open + 4) : html.indexOf(">", open)
    if (close === -1) return
    at = close + (isComment ? 3 : 1)
    if (isComment) continue
    const tag = html.slice(open + 1, close)
    yield { tag }
    at = behindUnread(html, tag, at)
  }
}

/** Elements inside of words. All others end one. */
const insideWords = /^\/?(?:a|b|i|u|s|em|strong|span|font|small|big|sub|sup|mark|code|wbr)(?![a-z\d-])/i

/** The words of a document, as a reader sees them. */
export const wordsOfHtml = (html: string): string => {
  const words: Array<string> = []
  for (const piece of htmlPieces(html))
    words.push("text" in piece ? piece.text : insideWords.test(piece.tag) ? "" : " ")
  return words.join("")
}
