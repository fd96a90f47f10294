/**
 * Finds the risky signals of an email's content (docs/platform.md, 9.4): a link to another domain than the sender's, a
 * link of a URL shortener, a subject in the manner of an account verification. Each counts once for an email, and none
 * of them stops it. The work grows only with the length of the email. Pure.
 */
import type { RiskySignal } from "../admission.ts"
import { belongingTo } from "./linkHosts.ts"
import { noLinks, scanHtml, scanText } from "./links.ts"
import { isShortener } from "./shorteners.ts"
import { isVerificationSubject } from "./verificationSubject.ts"

// Decodes a line of a header as mail programs show it: encoded words (RFC 2047, RFC 2231), also where they break the
// rules in ways that programs forgive, and text written from right to left. So text is judged as its reader sees it.
// The work grows only with the length. Pure.

const encodedWord = /=\?([^?\s*]{1,40})(?:\*[^?\s]{0,40})?\?([bq])\?([^?]{0,2000})\?=/gi

const bytesOf = (encoding: string, text: string): Buffer =>
  /b/i.test(encoding)
    ? Buffer.from(text, "base64")
    : Buffer.from(
        text
          .replaceAll("_", " ")
          .replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        "latin1"
      )

const decoded = (charset: string, bytes: Buffer): string => {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    // A program that does not know the charset either shows the letters that all have in common.
    return bytes.toString("latin1")
  }
}

/**
 * The text with its encoded words decoded. Blanks between two of them are not shown, and a character may begin in one
 * and end in the next.
 */
const withoutEncodedWords = (text: string): string => {
  let shown = ""
  let at = 0
  let open: { readonly charset: string; bytes: Buffer } | undefined
  const close = () => {
    if (open !== undefined) shown += decoded(open.charset, open.bytes)
    open = undefined
  }
  for (const found of text.matchAll(encodedWord)) {
    const [whole, charset = "", encoding = "", written = ""] = found
    const between = text.slice(at, found.index)
    const bytes = bytesOf(encoding, written)
    if (open !== undefined && between.trim() === "" && open.charset === charset.toLowerCase()) {
      open.bytes = Buffer.concat([open.bytes, bytes])
    } else {
      const isNext = open !== undefined && between.trim() === ""
      close()
      shown += isNext ? "" : between
      open = { charset: charset.toLowerCase(), bytes }
    }
    at = found.index + whole.length
  }
  close()
  return shown + text.slice(at)
}

/** The text behind a mark that turns the direction of writing, up to the one that ends it. */
const turned = /\u202e([^\u202c\u202e]{0,2000})\u202c?/g

export const shownText = (text: string): string =>
  withoutEncodedWords(text).replaceAll(turned, (_, inside: string) => [...inside].reverse().join(""))

/** The parts of an email that are looked at. See {@link riskySignalsOf}. */
export interface EmailContent {
  /** The domain that it is sent from, also where the sender is a single address. */
  readonly senderDomain: string
  readonly subject: string
  readonly html?: string | null | undefined
  readonly text?: string | null | undefined
}

/** The signals, and how many characters were looked at for the links, each as often as it was. */
export const examineContent = ({
  html,
  senderDomain,
  subject,
  text
}: EmailContent): { readonly signals: ReadonlyArray<RiskySignal>; readonly steps: number } => {
  const found = noLinks()
  const shown = shownText(subject)
  scanText(found, shown)
  if (typeof html === "string") scanHtml(found, html)
  if (typeof text === "string") scanText(found, text)
  const isOwn = belongingTo(senderDomain)
  const hosts = [...found.hosts]
  const signals: Array<RiskySignal> = []
  if (hosts.some((host) => !isOwn(host))) signals.push("foreign_link")
  if (hosts.some((host) => isShortener(host) && !isOwn(host))) signals.push("shortened_link")
  if (isVerificationSubject(shown)) signals.push("verification_subject")
  return { signals, steps: found.steps }
}

/**
 * The risky signals of an email, at most one of each kind, in the order of `riskySignals`. A shortened link is a
 * foreign one, too.
 *
 * @example
 * ```ts
 * import { riskySignalsOf } from "sluice/send"
 *
 * const html = '<a href="https://bit.ly/3x">Go on</a>'
 * console.log(riskySignalsOf({ senderDomain: "one.com", subject: "News", html })) // [ 'foreign_link', 'shortened_link' ]
 * ```
 */
export const riskySignalsOf = (content: EmailContent): ReadonlyArray<RiskySignal> => examineContent(content).signals
