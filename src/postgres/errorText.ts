/** Makes any text acceptable to PostgreSQL. Pure. */

/** How many characters of an error are kept with a record or a job. */
export const keptErrorCharacters = 2_000

/** The beginning of a text, without what a `text` column cannot hold: zero characters and halves of surrogate pairs. */
export const storableText = (text: string): string =>
  text.slice(0, keptErrorCharacters).toWellFormed().replaceAll("\0", "\ufffd")
