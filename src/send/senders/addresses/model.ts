/** Defines a single address that is to become a sender, as in its row (docs/platform.md, 9.14). */
import type { Account } from "../domains/model.ts"
import { normalizedDomain } from "../domains/normalizedDomain.ts"

export const senderStatuses = ["pending", "verified"] as const
export type SenderStatus = (typeof senderStatuses)[number]

/** Times are Unix milliseconds. */
export interface SingleSender extends Account {
  readonly id: string
  readonly email: string
  readonly status: SenderStatus
  readonly createdAt: number
  readonly verifiedAt: number | null
}

/** Quoted local parts are not taken. */
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/

/** An address as senders and suppressions keep it, in lower case, its domain in punycode; undefined if it is none. */
export const normalizedAddress = (given: string): string | undefined => {
  const at = given.lastIndexOf("@")
  const local = given.slice(0, Math.max(0, at))
  const domain = normalizedDomain(given.slice(at + 1))
  return domain === undefined || local.length > 64 || !localPart.test(local)
    ? undefined
    : `${local.toLowerCase()}@${domain}`
}
