/** Makes strange input fit for a message: short, on one line, without control characters. */

const seenCharacters = 64
const quotedCharacters = 40

const clean = (text: string): string => text.replace(/[^\u0020-\u007e\u00a1-\u02af]/gu, ".")

/** The first bytes of a file as they can be shown to a person. */
export const printableBytes = (bytes: Uint8Array): string =>
  clean(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, seenCharacters)).toString("latin1"))

/** A cell's text in quotes, for the reason of a malformed line. */
export const quoted = (text: string): string =>
  text.length > quotedCharacters ? `"${clean(text.slice(0, quotedCharacters))}…"` : `"${clean(text)}"`
