/**
 * A source as its tokens: words and single marks, without comments and layout. What a literal holds is split in the same way, so that
 * a statement of SQL in a template is compared like code, and so that a part of a literal can be found.
 */

export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
}

const word = /[\p{L}\p{N}_]+/uy
const skipped = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const string = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y
const expression = /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//y

/** Behind one of these a slash begins a regular expression, and no division. */
const beforeExpression = new Set([..."(,=:[!&|?{};+-*%<>~^", "return", "typeof", "case", "of", "in", "yield", ""])

const matchAt = (pattern: RegExp, source: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}

/** The tokens of a source, or of a part of one. */
export const tokensOf = (source: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const add = (text: string, start: number) => tokens.push({ text, start, end: start + text.length })
  /** Words and marks of a literal, where nothing is a comment. */
  const addLiteral = (text: string, start: number) => {
    for (const { 0: part, index } of text.matchAll(/[\p{L}\p{N}_]+|\S/gu)) add(part, start + index)
  }
  /** The braces and templates that are open, the innermost last. */
  const open: Array<"{" | "`"> = []
  let at = 0
  while (at < source.length) {
    const isTemplate = open.at(-1) === "`"
    const space = isTemplate ? matchAt(/\s+/y, source, at) : matchAt(skipped, source, at)
    if (space !== undefined) {
      at += space.length
      continue
    }
    const isExpression = source[at] === "/" && beforeExpression.has(tokens.at(-1)?.text ?? "")
    const literal = isTemplate
      ? matchAt(/\\[\s\S]/y, source, at)
      : (matchAt(string, source, at) ?? (isExpression ? matchAt(expression, source, at) : undefined))
    if (literal !== undefined) {
      addLiteral(literal, at)
      at += literal.length
      continue
    }
    const text = matchAt(word, source, at) ?? String.fromCodePoint(source.codePointAt(at)!)
    if (text === "`") isTemplate ? open.pop() : open.push("`")
    else if (text === "{" && (!isTemplate || source[at - 1] === "$")) open.push("{")
    else if (text === "}" && open.at(-1) === "{") open.pop()
    add(text, at)
    at += text.length
  }
  return tokens
}

/** A part of a source: from its first token to the end of its last. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Where the same tokens follow each other. */
export const spansOf = (tokens: ReadonlyArray<Token>, sought: ReadonlyArray<Token>): ReadonlyArray<Span> => {
  if (sought.length === 0) return []
  const spans: Array<Span> = []
  for (let first = 0; first + sought.length <= tokens.length; first++)
    if (sought.every(({ text }, index) => tokens[first + index]!.text === text))
      spans.push({ start: tokens[first]!.start, end: tokens[first + sought.length - 1]!.end })
  return spans
}
