/** Counts the characters of texts, and splits texts for the engine. Characters are code points. Pure. */

/** How many characters a text has. */
export const charactersOf = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

/** The end of a sentence with the blanks behind it, or the full stop of a script that has no blanks. */
const sentenceEnd = /[.!?…]["'”’)\]]*\s+|[。！？]["”’」』）]*\s*|\n\s*/gu
const blank = /\s+/gu

/** The end of the last match, in UTF-16 units; 0 without one. */
const lastEnd = (text: string, pattern: RegExp): number => {
  let end = 0
  for (const match of text.matchAll(pattern)) end = match.index + match[0].length
  return end
}

/**
 * Cuts a text into parts of at most a number of characters. A part ends with a sentence where that leaves it at least
 * half of its length, else with a word, else where it is full. Together the parts are the text.
 */
export const splitText = (text: string, maximumCharacters: number): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let rest = Array.from(text)
  while (rest.length > maximumCharacters) {
    const full = rest.slice(0, maximumCharacters).join("")
    const atSentence = lastEnd(full, sentenceEnd)
    const atWord = lastEnd(full, blank)
    const part = full.slice(0, atSentence >= full.length / 2 ? atSentence : atWord > 0 ? atWord : full.length)
    parts.push(part)
    rest = rest.slice(charactersOf(part))
  }
  parts.push(rest.join(""))
  return parts.filter((part) => part.trim() !== "")
}
