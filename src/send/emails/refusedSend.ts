/**
 * Describes a request to send that the rules refused by the figures that they decided by (docs/platform.md, 2.12), so
 * that it can be decided again: counts, and digests in place of domains. Pure.
 */
import type { Mode } from "../account/actors/index.ts"
import { domainOf } from "../rules/domainKey.ts"
import type { SendRejection } from "../rules/rejections.ts"
import type { ReadEmail } from "./readMessage.ts"

/** The most domains of recipients that are told apart. */
const maximumDomains = 100

/** A refused request to send. */
export interface RefusedSend {
  readonly kind: "send.refused"
  /** The account, of the organization. */
  readonly account: Mode
  readonly code: SendRejection["code"]
  /** The number of recipients of each email. */
  readonly recipients: ReadonlyArray<number>
  /** The number of emails by the digest of their sender's domain. */
  readonly senders: Readonly<Record<string, number>>
  /** The number of recipients by the digest of their domain, of the first domains. */
  readonly domains: Readonly<Record<string, number>>
  /** Recipients of further domains. */
  readonly furtherRecipients: number
  /** The number of emails with a time of their own. */
  readonly scheduled: number
}

/** Counts texts by their digests. Those of more than `most` different ones are only counted together. */
const countBy = (texts: Iterable<string>, digest: (text: string) => string, most: number) => {
  const counts = new Map<string, number>()
  let further = 0
  for (const text of texts) {
    const before = counts.get(text)
    if (before === undefined && counts.size >= most) further++
    else counts.set(text, (before ?? 0) + 1)
  }
  return { counts: Object.fromEntries([...counts].map(([text, count]) => [digest(text), count])), further }
}

/** Makes the description of a refused request. */
export const refusedSend =
  (account: Mode, code: SendRejection["code"], emails: ReadonlyArray<ReadEmail>) =>
  (digest: (text: string) => string): RefusedSend => {
    const senders = emails.map(({ message }) => domainOf(message.from))
    const domains = emails.flatMap(({ recipients }) => recipients.map(domainOf))
    const { counts, further } = countBy(domains, digest, maximumDomains)
    return {
      kind: "send.refused",
      account,
      code,
      recipients: emails.map(({ recipients }) => recipients.length),
      senders: countBy(senders, digest, emails.length).counts,
      domains: counts,
      furtherRecipients: further,
      scheduled: emails.filter(({ scheduledAt }) => scheduledAt !== undefined).length
    }
  }
