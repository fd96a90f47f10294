/**
 * Interprets an error of the mail library (docs/handoff.md, 2.2): an answer about the mail, trouble with the relay
 * itself, or an unknown outcome. Pure.
 */
import { judgeAnswer, type Speaker } from "../../feedback/parse/answerClass.ts"
import { diagnosisIn } from "../../feedback/parse/statusCodes.ts"
import type { PartAnswer } from "../MailTransport.ts"

/** The kinds of trouble with a relay, for metrics. */
export const relayTroubles = ["name", "connect", "tls", "login", "greeting", "timeout"] as const
export type RelayTrouble = (typeof relayTroubles)[number]

/** Fields of the library's errors, and of Node's beneath them. */
export interface SmtpError {
  readonly code?: string | undefined
  readonly originalCode?: string | undefined
  readonly command?: string | undefined
  readonly response?: string | undefined
  readonly responseCode?: number | false | undefined
  readonly message?: string | undefined
}

/** How far a mail had come. */
export interface Progress {
  /** Whether a connection has taken it on. */
  readonly hasBegun: boolean
  /** Whether all of it was passed on, so that the relay may have taken it. */
  readonly hasPassed: boolean
}

export type RelayOutcome =
  | { readonly _tag: "Answer"; readonly answer: PartAnswer }
  /** It says nothing of the mail; `kind` and `reason` say what of the relay. */
  | { readonly _tag: "Relay"; readonly kind: RelayTrouble; readonly reason: string }

/** Characters of what a server said that are kept. */
const maximumReasonLength = 500

/** The words of a server, on one line, without characters that no text may have. */
export const oneLine = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, maximumReasonLength)
    .toWellFormed()

/** Codes of Node about certificates. */
const certificateCodes = /^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|ERR_SSL|HOSTNAME_MISMATCH)/

const certificateWords: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "is signed by an authority that this machine does not know",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "is signed by an authority that this machine does not know",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "is signed by an authority that this machine does not know",
  ERR_TLS_CERT_ALTNAME_INVALID: "is of another host"
}

/** The fault of a relay that took no mail, in a sentence without user, password or network inside. */
export const troubleOf = (error: SmtpError): Extract<RelayOutcome, { readonly _tag: "Relay" }> => {
  const trouble = (kind: RelayTrouble, reason: string) => ({ _tag: "Relay", kind, reason }) as const
  const { code = "", command = "", originalCode = "", response = "" } = error
  const codes = [originalCode, code]
  const certificate = codes.find((one) => certificateCodes.test(one))
  if (certificate !== undefined && certificateWords[certificate] !== undefined)
    return trouble("tls", `the relay's certificate ${certificateWords[certificate]}`)
  if (code === "EAUTH" || code === "ENOAUTH" || (error.responseCode === 530 && command !== "RCPT TO"))
    return trouble("login", "the relay refuses the user and password of SLUICE_SMTP_URL")
  if (
    code === "ETLS" ||
    code === "EREQUIRETLS" ||
    certificate !== undefined ||
    /STARTTLS/.test(`${command} ${error.message ?? ""}`)
  )
    return trouble("tls", "the relay offers no TLS connection that can be verified")
  if (code === "EDNS" || codes.includes("ENOTFOUND")) return trouble("name", "the relay's name is not known")
  if (codes.includes("ECONNREFUSED")) return trouble("connect", "the relay refuses the connection")
  if (code === "ETIMEDOUT" || codes.includes("ETIMEDOUT"))
    return trouble("timeout", "the relay does not answer in time")
  if (response !== "") return trouble("greeting", `the relay says ${oneLine(response).slice(0, 200)}`)
  return trouble("connect", "the connection to the relay was closed")
}

/** Commands whose refusal is about everybody or about the sender, not about one recipient's address. */
const isOfOneAddress = (error: SmtpError, recipients: number): boolean =>
  error.command === "RCPT TO" || (error.command !== "MAIL FROM" && recipients === 1)

const enhancedCode = (reply: number, response: string): string => diagnosisIn(response).status ?? `${reply}`

/** The outcome of a mail to a number of recipients by a reply of the relay, or of a recipient server where the mail was handed to that. */
export const answerOfReply = (
  error: SmtpError,
  reply: number,
  recipients: number,
  speaker: Speaker = "relay"
): PartAnswer => {
  const reason = oneLine(error.response ?? "")
  const code = enhancedCode(reply, reason)
  const statuses = code.includes(".") ? [code] : []
  const stage = error.command === "MAIL FROM" ? "sender" : "recipient"
  const { answer } = judgeAnswer({ speaker, stage, statuses, replyCode: reply, words: reason })
  if (answer === "account") return { _tag: "Account", code, reason }
  if (answer === "temporary") return { _tag: "Temporary", code, reason }
  const isReputation = answer === "reputation" || !isOfOneAddress(error, recipients)
  return { _tag: "Permanent", code, reason, isReputation }
}

/** The outcome of an error for a mail to a number of recipients. */
export const outcomeOf = (error: SmtpError, progress: Progress, recipients: number): RelayOutcome => {
  const { command = "", responseCode } = error
  if (typeof responseCode === "number" && error.code !== "EAUTH" && error.code !== "ENOAUTH" && error.code !== "ETLS") {
    const isOfMail = command === "MAIL FROM" || command === "RCPT TO" || command === "DATA"
    if (isOfMail && !(responseCode === 530 && command === "MAIL FROM"))
      return { _tag: "Answer", answer: answerOfReply(error, responseCode, recipients) }
    // With a reply the relay has said that it ends the connection, not that it has the mail.
    if (progress.hasBegun && responseCode >= 400)
      return { _tag: "Answer", answer: answerOfReply({ ...error, command: "DATA" }, 421, recipients) }
    return troubleOf(error)
  }
  if (error.code === "EMESSAGE" && !progress.hasPassed)
    return {
      _tag: "Answer",
      answer: {
        _tag: "Permanent",
        code: "5.3.4",
        reason: "The message is larger than the relay takes",
        isReputation: true
      }
    }
  if (progress.hasPassed)
    return {
      _tag: "Answer",
      answer: {
        _tag: "Unknown",
        reason: "The connection was lost before the relay had answered, so it may have the mail or not"
      }
    }
  return troubleOf(error)
}
