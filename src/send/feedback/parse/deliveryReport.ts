/**
 * Parses delivery status notifications (RFC 3464): the fields of the message, then a group of fields for each
 * recipient. Pure.
 */

import { addressesOf, addressOf } from "./addresses.ts"
import { judgeAnswer } from "./answerClass.ts"
import { type Fields, fieldGroups, first, messageIdOf, oneLine, untyped } from "./fields.ts"
import { instantOf } from "./instantOf.ts"
import { maximumAddressees, maximumIdentifierLength, maximumReasonLength, maximumRecipients } from "./limits.ts"
import { type MailParts, returnedHeaders } from "./mailParts.ts"
import type { DeliveryReport, OriginalEmail, RecipientStatus } from "./model.ts"
import {
  actionFor,
  actionOf,
  type Diagnosis,
  diagnosisIn,
  kindOf,
  statusFor,
  statusIn,
  statusOfAction
} from "./statusCodes.ts"

const recipientNames = ["final-recipient", "original-recipient", "x-actual-recipient"]

/** A repeated name begins another recipient: some mail systems put no empty line between two. */
const startsRecipient = (name: string, group: Fields): boolean => recipientNames.includes(name) && group.has(name)

/**
 * The recipient of a group; `null` where it names none, `""` where what it names is no address, such as the file of a
 * mailbox.
 */
const recipientOf = (group: Fields): string | null => {
  const named = recipientNames.filter((name) => first(group, name) !== null)
  if (named.length === 0) return null
  return named.map((name) => addressOf(first(group, name))).find((address) => address !== null) ?? ""
}

/** The text between the first and the last parenthesis, found without a pattern that tries every one. */
const commentIn = (field: string): string | null => {
  const open = field.indexOf("(")
  const close = field.lastIndexOf(")")
  return open < 0 || close < open ? null : field.slice(open + 1, close)
}

const noDiagnosis: Diagnosis = { status: null, replyCode: null }

/** Reads a recipient's group of fields; null if it has neither an action nor a status. */
export const statusOfRecipient = (recipient: string, group: Fields): RecipientStatus | null => {
  const statusField = first(group, "status")
  const actionField = first(group, "action")
  const diagnostic = first(group, "diagnostic-code")
  const text = oneLine(diagnostic === null ? null : untyped(diagnostic), maximumReasonLength)
  // Some mail systems explain the status in a comment, and some write the whole reply there.
  const comment = oneLine(commentIn(statusField ?? ""), maximumReasonLength)
  const said = statusIn(statusField) ?? statusOfAction(actionField)
  // The exit text of a program (`x-unix`) is no reply of an SMTP server.
  const inText = /^x-unix/i.test(diagnostic ?? "") ? noDiagnosis : diagnosisIn(text)
  const inComment = diagnosisIn(comment)
  const diagnosed = inText.status ?? inComment.status
  const replyCode = inText.replyCode ?? inComment.replyCode
  const action = actionOf(actionField) ?? actionFor(said ?? diagnosed, replyCode)
  if (action === null) return null
  const status = statusFor(action, said, diagnosed, replyCode)
  const reason = text ?? comment
  const statuses = diagnosed === null || diagnosed === status ? [status] : [status, diagnosed]
  const { answer, isReputation } =
    action === "failed" || action === "delayed"
      ? judgeAnswer({ speaker: "recipient", stage: "recipient", statuses, replyCode, words: reason })
      : { answer: "delivered" as const, isReputation: false }
  return {
    recipient,
    originalRecipient: addressOf(first(group, "original-recipient")),
    action,
    status,
    kind: kindOf(action, answer),
    answer: action === "delayed" ? "temporary" : answer,
    replyCode,
    reason,
    remoteMta: oneLine(untyped(first(group, "remote-mta") ?? ""), maximumIdentifierLength),
    isReputation
  }
}

/** The result of `verpOf`; the start of a longer token is none. */
const returnPath = /bounce\+[a-z2-7]{8,57}@[a-z0-9.-]{1,255}/gi

/** The return paths in any field, each once. */
const returnPathsIn = (groups: ReadonlyArray<Fields>): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const group of groups)
    for (const values of group.values())
      for (const value of values)
        for (const [address] of value.matchAll(returnPath)) if (found.size < maximumAddressees) found.add(address)
  return [...found]
}

/** The evidence of which email the report in these parts is about. */
export const originalOf = (
  mail: MailParts,
  envelopeId: string | null,
  groups: ReadonlyArray<Fields>
): OriginalEmail => ({
  messageId: messageIdOf(returnedHeaders(mail)),
  returnPaths: returnPathsIn([...groups, returnedHeaders(mail)]),
  envelopeId: oneLine(envelopeId, maximumIdentifierLength),
  reportedTo: addressesOf(
    ["to", "delivered-to", "x-original-to", "envelope-to"].flatMap((name) => mail.headers.get(name) ?? [])
  )
})

/** The report in the text of a delivery status; null where it tells of no recipient. */
export const deliveryReport = (mail: MailParts, text: string): DeliveryReport | null => {
  // No field begins with dashes: what follows is another part, behind a boundary that a mail system wrote wrongly.
  const groups = fieldGroups(text.split(/^--/m, 1)[0]!, startsRecipient)
  const named = groups.flatMap((group) => {
    const recipient = recipientOf(group)
    return recipient === null ? [] : [{ recipient, group }]
  })
  const returnedTo = addressesOf(returnedHeaders(mail).get("to") ?? [])
  const only = named.length === 1 && returnedTo.length === 1 ? returnedTo[0]! : ""
  const recipients = named.slice(0, maximumRecipients).flatMap(({ recipient, group }) => {
    const address = recipient === "" ? only : recipient
    const status = address === "" ? null : statusOfRecipient(address, group)
    return status === null ? [] : [status]
  })
  if (recipients.length === 0) return null
  const message = groups[0]!
  return {
    _tag: "DeliveryReport",
    original: originalOf(mail, first(message, "original-envelope-id"), groups),
    recipients,
    reportingMta: oneLine(untyped(first(message, "reporting-mta") ?? ""), maximumIdentifierLength),
    arrivedAt: instantOf(first(message, "arrival-date"))
  }
}
