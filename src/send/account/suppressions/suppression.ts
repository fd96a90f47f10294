/** Defines a suppressed address as owners see it (docs/platform.md, 9.15). Pure. */
import { hash } from "node:crypto"
import type { Account } from "../../senders/domains/model.ts"
import { bareAddress, type SuppressionReason } from "../actors/index.ts"

/** The reason in the words of Resend's API, and `unsubscribe` if the recipient asked for it. */
export const origins = ["bounce", "complaint", "manual", "unsubscribe"] as const
export type Origin = (typeof origins)[number]

export const originOf: Readonly<Record<SuppressionReason, Origin>> = {
  bounced: "bounce",
  complained: "complaint",
  manual: "manual",
  unsubscribed: "unsubscribe"
}

/** The domain whose addresses simulate outcomes for test keys, and are never suppressed. */
export const simulatorDomain = "simulator.invalid"

export interface Suppression {
  readonly id: string
  readonly email: string
  readonly origin: Origin
  /** Unix milliseconds. */
  readonly createdAt: number
}

/** Hexadecimal digits of an id. */
const idLength = 32

/**
 * The id of an address on an account's list: the same whenever it is on it, so that an answer need not wait for the
 * row.
 */
export const suppressionId = ({ mode, organizationId }: Account, address: string): string =>
  `sup_${hash("sha256", `suppression\n${organizationId}\n${mode}\n${bareAddress(address)}`, "hex").slice(0, idLength)}`
