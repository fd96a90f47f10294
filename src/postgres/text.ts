/** Text that PostgreSQL takes, whatever it came from. Pure. */

/** Of an error that is kept with a record or a job, so many characters are. */
export const keptErrorCharacters = 2_000

/** The beginning of a text, without what a `text` column cannot hold: zero characters and halves of surrogate pairs. */
export const storableText = (text: string): string =>
  text.slice(0, keptErrorCharacters).toWellFormed().replaceAll("\0", "\ufffd")
