/**
 * Refusals of the sender, the message or its content, which say nothing about the recipient's address and keep nobody on a suppression list. Each rule names its
 * source. A code that speaks of the mailbox wins over words; a code that speaks of neither leaves it to the words.
 */

interface Rule {
  readonly source: string
  /** Subject and detail of an enhanced status code: `7.*` is every detail. */
  readonly codes: ReadonlyArray<string>
}

/** Codes of refusals for reasons of policy. */
const reputationRules: ReadonlyArray<Rule> = [
  { source: "RFC 3463, Enhanced Mail System Status Codes, 3.8: Security or Policy Status", codes: ["7.*"] },
  {
    source: "RFC 3463, Enhanced Mail System Status Codes, 3.2: the sender's mailbox address, syntax and system",
    codes: ["1.7", "1.8"]
  },
  { source: "RFC 3463, Enhanced Mail System Status Codes, 3.7: Message Content or Media Status", codes: ["6.*"] },
  {
    source:
      "RFC 3463, Enhanced Mail System Status Codes, 3.3 and 3.4: the message is longer than the mailbox or the system takes",
    codes: ["2.3", "3.4"]
  }
]

/** Codes among these that are about the mailbox all the same. */
const mailboxRules: ReadonlyArray<Rule> = [
  {
    source: "RFC 7293, The Require-Recipient-Valid-Since Header Field: the mailbox or its domain has a new owner",
    codes: ["7.17", "7.18"]
  },
  { source: "IANA, SMTP Enhanced Status Codes Registry: user account disabled", codes: ["7.13"] }
]

/** Codes that name no cause, so that the words decide: detail 0 of every subject (RFC 3463, 3.1 to 3.7). */
const isUnspecific = (status: string): boolean => status.endsWith(".0") && !status.slice(1).startsWith(".7.")

const covers = (rules: ReadonlyArray<Rule>, status: string): boolean => {
  const [, subject, detail] = status.split(".")
  return rules.some(({ codes }) => codes.includes(`${subject}.${detail}`) || codes.includes(`${subject}.*`))
}

/**
 * Words of refusals for reasons of policy, by whose answers they are: "SMTP error reference" of Gmail, "SMTP Error Codes" of Yahoo Sender Hub, "NDR error codes" of
 * Exchange Online, "Postmaster information" of iCloud Mail, the answers of DNS block lists (RFC 5782), and the corpus of the tests.
 */
const reputationWords: ReadonlyArray<string> = [
  "spam",
  "unsolicited",
  "blacklist",
  "black list",
  "blocklist",
  "block list",
  "denylist",
  "banned",
  "reputation",
  "blocked using",
  "blocked by",
  "blocked for",
  "blocked ip",
  "blocked - ",
  "been blocked",
  "was blocked",
  "sender rejected",
  "sender address rejected",
  "local policy",
  "policy reason",
  "policy violation",
  "security policy",
  "policy restriction",
  "organization policy",
  "content rejected",
  "content denied",
  "message content",
  "authentication checks",
  "unauthenticated",
  "not authenticated",
  "reverse dns",
  "reverse hostname",
  "virus",
  "too many messages",
  "suspicious"
]

const abbreviations = /\b(?:spf|dkim|dmarc|rbl|dnsbl|ptr|drbl)\b/

/** Words by which an answer with 7.0 or 7.1 says that there is no such mailbox: many servers have one code for every refusal of a recipient. */
const unknownMailboxWords: ReadonlyArray<string> = [
  "user unknown",
  "unknown user",
  "no such user",
  "no such recipient",
  "no such mailbox",
  "recipient unknown",
  "unknown recipient",
  "mailbox not found",
  "user not found",
  "recipient not found"
]

const says = (text: string, words: ReadonlyArray<string>): boolean => words.some((word) => text.includes(word))

/**
 * Whether a failure is a refusal of the sender or the content. `statuses` are those of the report and of its diagnostic; `reason` is bounded by the caller, so that
 * looking for words stays cheap.
 */
export const isReputationRefusal = (statuses: ReadonlyArray<string>, reason: string | null): boolean => {
  const text = (reason ?? "").toLowerCase()
  const specific = statuses.filter((status) => !isUnspecific(status))
  if (specific.some((status) => covers(mailboxRules, status))) return false
  if (specific.some((status) => covers(reputationRules, status))) {
    return !(specific.every((status) => /\.7\.[01]$/.test(status)) && says(text, unknownMailboxWords))
  }
  return specific.length === 0 && (says(text, reputationWords) || abbreviations.test(text))
}
