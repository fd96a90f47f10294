/** Defines a domain that is to become a sender, as in its row (docs/platform.md, 9.13). */
import type { Mode } from "../../account/actors/index.ts"
import type { Authentication } from "../authentication/authenticationVerdict.ts"
import type { DomainIdentity, NeededRecords, RecordStatus } from "./dnsRecords.ts"

/** `failed`: its records were looked for long enough. */
export type DomainStage = "pending" | "verified" | "failed"

/**
 * The reason why it counts as verified: its records, an operator's word, or that a test domain proves nothing anyway.
 */
export const proofs = ["dns", "unchecked", "test"] as const
export type Proof = (typeof proofs)[number]

/** The owner of a domain or sender. */
export interface Account {
  readonly organizationId: string
  readonly mode: Mode
}

/** Times are Unix milliseconds. */
export interface Domain extends Account, DomainIdentity {
  readonly id: string
  /** As it was given; it changes nothing. */
  readonly region: string | null
  readonly stage: DomainStage
  readonly proof: Proof | null
  readonly records: NeededRecords<RecordStatus>
  /** The last verdicts about SPF and DMARC; null before the first check of them. */
  readonly authentication: Authentication | null
  readonly createdAt: number
  readonly verifiedAt: number | null
  /** When name servers were asked last. */
  readonly checkedAt: number | null
  /** When they are asked next. */
  readonly checkAt: number | null
  /** Checks since `checksSince`, the time from which a verification is given up after a while. */
  readonly checks: number
  readonly checksSince: number
}

export const domainStatuses = ["pending", "verified", "failed", "partially_failed"] as const
export type DomainStatus = (typeof domainStatuses)[number]

/**
 * The status in the words of Resend's API: a verified domain that has lost a record is `partially_failed`, and goes on
 * sending.
 */
export const statusOf = ({ records, stage }: Pick<Domain, "records" | "stage">): DomainStatus => {
  if (stage !== "verified") return stage
  const isLost = records.ownership === "temporary_failure" || records.dkim === "temporary_failure"
  return isLost ? "partially_failed" : "verified"
}
