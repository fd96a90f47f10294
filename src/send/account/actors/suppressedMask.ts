/**
 * Encodes the suppressed recipients of an email as one number: bit n is recipient n. A mask rather than addresses,
 * because the answer to a request is remembered. Needs no service.
 */
import type { EmailAnswer } from "./model.ts"

/**
 * The mask of the recipients that are taken out; a number, because 50 lists of addresses are too much for an answer
 * that is remembered.
 */
export const suppressedMask = (recipients: ReadonlyArray<string>, isOut: (recipient: string) => boolean): number =>
  recipients.reduce((mask, recipient, index) => (isOut(recipient) ? mask + 2 ** index : mask), 0)

/** The recipients that an answer says were taken out, as they were given. */
export const suppressedOf = (
  recipients: ReadonlyArray<string>,
  { suppressed }: Pick<EmailAnswer, "suppressed">
): ReadonlyArray<string> => recipients.filter((_, index) => Math.floor(suppressed / 2 ** index) % 2 === 1)
