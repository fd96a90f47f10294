/**
 * Finds the risky signals of an email's content (docs/platform.md, 9.4): a link to another domain than the sender's, a
 * link of a URL shortener, a subject in the manner of an account verification. Each counts once for an email, and none
 * of them stops it. The work grows only with the length of the email. Pure.
 */
import type { RiskySignal } from "../admission.ts"
import { belongingTo } from "./linkHosts.ts"
import { noLinks, scanHtml, scanText } from "./links.ts"
import { isShortener } from "./shorteners.ts"
import { shownText } from "./shownText.ts"
import { isVerificationSubject } from "./verificationSubject.ts"

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
