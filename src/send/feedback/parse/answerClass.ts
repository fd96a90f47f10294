/**
 * Classifies an answer to a mail (docs/handoff.md, 2.2) into one of five classes. Only `permanent` says that the
 * address does not exist; unknown words and codes never do. Pure.
 */
import {
  blockLists,
  fullWords,
  nobodyWords,
  ownAccountWords,
  passingWords,
  relayingWords,
  reputationWords,
  sizeWords,
  unknownMailboxWords,
  vagueNobodyWords
} from "./answerWords.ts"

/**
 * `delivered`; `temporary`: it passes; `permanent`: the address does not exist; `reputation`: the recipient's server
 * refuses the sender, the content or for policy; `account`: the relay refuses the account with which it is used. See
 * {@link parseFeedback}.
 */
export const answerClasses = ["delivered", "temporary", "permanent", "reputation", "account"] as const
/** The meaning of an answer. See {@link parseFeedback}. */
export type AnswerClass = (typeof answerClasses)[number]

/** `relay`: the configured relay itself, `recipient`: a server of the recipient, or one on the way to it. */
export type Speaker = "relay" | "recipient"

/** `sender`: before a recipient is known, as at MAIL; `recipient`: at RCPT or later. */
export type Stage = "sender" | "recipient"

export interface SaidAnswer {
  readonly speaker: Speaker
  readonly stage: Stage
  /** Enhanced codes: that of the report and that of its diagnostic; none where neither has one. */
  readonly statuses: ReadonlyArray<string>
  /** The reply of an SMTP server, such as 550. */
  readonly replyCode: number | null
  /** Bounded by the caller, so that looking for words stays cheap. */
  readonly words: string | null
}

/**
 * A class, and whether it is the sender, the content or a policy that is spoken of: a server may do so for now only, in
 * an answer that is temporary.
 */
export interface Judged {
  readonly answer: AnswerClass
  readonly isReputation: boolean
}

/** Subject and detail of enhanced codes (RFC 3463, RFC 7293, and the registry of IANA). */
const codesOf: ReadonlyArray<readonly [codes: RegExp, answer: AnswerClass]> = [
  // The mailbox, its domain or its name: unknown, moved, disabled, with a new owner.
  [/\.(?:1\.(?:1|2|3|6|10)|2\.1|7\.(?:13|17|18))$/, "permanent"],
  // A full mailbox or system, a system that takes nothing now, and everything about the way to it.
  [/\.(?:2\.2|3\.[12]|4\.\d+)$/, "temporary"],
  // The sender's address, the content, its size, a policy.
  [/\.(?:1\.[78]|2\.3|3\.4|6\.\d+|7\.\d+)$/, "reputation"]
]

/**
 * Details of Exchange Online about the account of the sender ("NDR error codes"): over its limits, blocked, not allowed
 * to send as.
 */
const ownAccountCodes = /^[45]\.(?:1\.90|7\.(?:50[1-3]|60|68|70[58]|750))$/

/** Detail 0 names no cause (RFC 3463, 3.1 to 3.7), but for subject 7, which is one. */
const isSpecific = (status: string): boolean => !/\.[0-6]\.0$/.test(status)

/** Subject 7 with one of these details is what many servers say at every refusal of a recipient. */
const isVague = (status: string): boolean => /\.7\.[01]$/.test(status)

const link = /https?:\/\/\S+/g
const address = /<[^<>\s]*>|[^\s<>]+@[^\s<>]+/g
const host = /\b(?=[\d.-]*[a-z])[\w-]+(?:\.[\w-]+){2,}/g

/** Addresses, links and names of hosts contain words that are no part of the answer. */
const spoken = (words: string | null): string =>
  (words ?? "")
    .toLowerCase()
    .replaceAll(link, " ")
    .replaceAll(address, " ")
    .replaceAll(host, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

const byCode = (statuses: ReadonlyArray<string>): AnswerClass | undefined => {
  const found = statuses.map((status) => codesOf.find(([codes]) => codes.test(status))?.[1])
  // A code of the mailbox says more than one of a policy, which many servers have for everything.
  return (["permanent", "temporary", "reputation"] as const).find((one) => found.includes(one))
}

/**
 * The meaning of a refusal for good by its code and its words. A contradiction, or an unknown answer, is never
 * `permanent`.
 */
const refused = (statuses: ReadonlyArray<string>, text: string, isOfSender: boolean): AnswerClass => {
  const code = byCode(statuses)
  if (code === "temporary" || fullWords.test(text)) return "temporary"
  const isOpen = code !== "reputation" || statuses.every(isVague)
  const isNobody = nobodyWords.test(text)
  if (code === "reputation" && !unknownMailboxWords.test(text))
    return passingWords.test(text) && isOpen && !isOfSender ? "temporary" : "reputation"
  if (isOfSender || !isOpen) return code === "permanent" && isNobody ? "permanent" : "reputation"
  if (passingWords.test(text)) return "temporary"
  return isNobody || code === "permanent" || vagueNobodyWords.test(text) ? "permanent" : "reputation"
}

/** Whether an answer speaks of the account with which mail is sent. */
const isOfAccount = (
  { speaker, stage }: SaidAnswer,
  statuses: ReadonlyArray<string>,
  text: string,
  isLasting: boolean
) => {
  if (statuses.some((status) => ownAccountCodes.test(status)) || ownAccountWords.test(text)) return true
  if (speaker === "recipient") return false
  return relayingWords.test(text) || (stage === "sender" && isLasting && !isOfSize(statuses, text))
}

const isOfSize = (statuses: ReadonlyArray<string>, text: string): boolean =>
  statuses.some((status) => /\.(?:2\.3|3\.4)$/.test(status)) || sizeWords.test(text)

/** The meaning of an answer without success. */
export const judgeAnswer = (said: SaidAnswer): Judged => {
  const text = spoken(said.words)
  const statuses = said.statuses.filter(isSpecific)
  const digit = said.statuses[0]?.[0] ?? String(said.replyCode ?? 5)[0]
  const isOfSender = reputationWords.test(text) || blockLists.test((said.words ?? "").toLowerCase())
  const isReputation = byCode(statuses) === "reputation" || (statuses.length === 0 && isOfSender)
  if (isOfAccount(said, statuses, text, digit === "5")) return { answer: "account", isReputation: true }
  if (digit === "4") return { answer: "temporary", isReputation }
  // At MAIL only the size of the mail is left.
  if (said.stage === "sender" && said.speaker === "relay") return { answer: "reputation", isReputation: true }
  const answer = refused(statuses, text, isOfSender)
  return { answer, isReputation: answer === "reputation" || (answer === "temporary" && isReputation) }
}
