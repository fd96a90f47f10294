/**
 * The bytes of a mail as they are passed on and as they are signed: lines that end in CRLF and nowhere else, none longer than a mail may have. Whatever a relay would mend otherwise ends a
 * signature. Pure.
 */

/** Octets of a line, without its end (RFC 5322, 2.1.1). */
export const maximumLineOctets = 998

/** A line of a head in lines that are short enough: folded at its last blank, or where there is none wherever it must be. */
const foldedLine = (line: string): string => {
  const lines: Array<string> = []
  let rest = line
  while (rest.length > maximumLineOctets) {
    const blank = rest.lastIndexOf(" ", maximumLineOctets)
    // A line of blanks alone would end nothing and is no fold.
    const isFold = blank > 0 && rest.slice(0, blank).trim() !== ""
    const at = isFold ? blank : maximumLineOctets
    lines.push(rest.slice(0, at))
    rest = isFold ? rest.slice(at) : ` ${rest.slice(at)}`
  }
  return [...lines, rest].join("\r\n")
}

/** A line of a body in pieces; the composer leaves none that is too long, and a relay would break it too. */
const brokenLine = (line: string): string =>
  (line.match(new RegExp(`.{1,${maximumLineOctets}}`, "gs")) ?? [line]).join("\r\n")

const mended = (text: string, mend: (line: string) => string): string =>
  text
    .split("\r\n")
    .map((line) => (line.length > maximumLineOctets ? mend(line) : line))
    .join("\r\n")

const hasLongLine = (text: string): boolean => {
  for (let from = 0; ; ) {
    const end = text.indexOf("\r\n", from)
    if ((end === -1 ? text.length : end) - from > maximumLineOctets) return true
    if (end === -1) return false
    from = end + 2
  }
}

/** Every end of a line as CRLF. */
export const withCrlf = (text: string): string => text.replaceAll(/\r\n|\r|\n/g, "\r\n")

/** A mail's final bytes. Latin-1 keeps every byte. */
export const wireBytes = (mail: Buffer): Buffer => {
  const lines = withCrlf(mail.toString("latin1"))
  const text = lines.endsWith("\r\n") ? lines : `${lines}\r\n`
  if (!hasLongLine(text)) return Buffer.from(text, "latin1")
  const end = text.indexOf("\r\n\r\n")
  const headEnd = end === -1 ? text.length : end
  return Buffer.from(mended(text.slice(0, headEnd), foldedLine) + mended(text.slice(headEnd), brokenLine), "latin1")
}
