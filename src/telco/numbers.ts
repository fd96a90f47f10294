/**
 * Parses telephone numbers as people write them, with or without the country's 1 and with any punctuation
 * (docs/platform.md, 4.1). Pure.
 */

/** The longest text that is examined, in characters. */
const maximumLength = 64

/**
 * Punctuation and blanks between digits are ignored, and so are marks that nobody sees: directions, joiners and the
 * like, which come along when a number is copied from a page or an address book, and would make a good number be
 * refused with a message that shows just that. A plus is accepted only at the beginning.
 */
const punctuation = /[\p{P}\s\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

const form = /^(?:\+?1)?([0-9]{10})$/

/** The error's sentence about a text that is no number. */
export const expectedNumber = "Expected 10 digits, optionally with +1 or 1 before them; punctuation is ignored"

/** The number's 10 digits; undefined when the text is no number of the North American numbering plan. */
export const normalizeNumber = (text: string): string | undefined =>
  text.length > maximumLength ? undefined : form.exec(text.replace(punctuation, ""))?.[1]

/** The NPA and NXX of 10 digits. */
export const codeOf = (tn: string): { readonly npa: string; readonly nxx: string } => ({
  npa: tn.slice(0, 3),
  nxx: tn.slice(3, 6)
})
