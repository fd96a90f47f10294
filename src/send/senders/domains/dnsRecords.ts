/**
 * Makes the DNS records that a domain's owner must set, compares them with the answers of name servers, and shows them
 * (docs/platform.md, 9.13). Pure.
 */
import { advisedDmarc } from "../authentication/dmarcVerdict.ts"
import { recordTtlSeconds } from "./limits.ts"

/** The values that a domain's records are made of. */
export interface DomainIdentity {
  readonly name: string
  /** Proves that the owner of the domain is who added it. */
  readonly token: string
  /** The selector of its DKIM key. */
  readonly selector: string
  /** SubjectPublicKeyInfo in base64, as a DKIM record has it. */
  readonly publicKey: string
}

/** The answer of name servers about a record. `unknown`: none answered. */
export type Seen = "found" | "missing" | "unknown"

/**
 * A record's state. `temporary_failure`: it was there when the domain was verified. `not_started`: the domain is
 * verified without it.
 */
export const recordStatuses = ["not_started", "pending", "verified", "temporary_failure", "failed"] as const
export type RecordStatus = (typeof recordStatuses)[number]

/** The two that a verification needs. */
export interface NeededRecords<A> {
  readonly ownership: A
  readonly dkim: A
}

export const ownershipName = ({ name }: Pick<DomainIdentity, "name">): string => `_sluice.${name}`

const ownershipValue = ({ token }: Pick<DomainIdentity, "token">): string => `sluice-verification=${token}`

export const dkimName = ({ name, selector }: Pick<DomainIdentity, "name" | "selector">): string =>
  `${selector}._domainkey.${name}`

const dkimValue = ({ publicKey }: Pick<DomainIdentity, "publicKey">): string => `v=DKIM1; k=rsa; p=${publicKey}`

/** A TXT record's text: its strings are one text (RFC 7208, 3.3; RFC 6376, 3.6.2.2). */
export type TextRecord = ReadonlyArray<string>

export const hasOwnership = (identity: DomainIdentity, records: ReadonlyArray<TextRecord>): boolean =>
  records.some((strings) => strings.join("").trim() === ownershipValue(identity))

/** Tags of a DKIM record. Blanks mean nothing there, and panels put some in. */
const tagsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split(";").flatMap((tag) => {
      const equals = tag.indexOf("=")
      return equals === -1 ? [] : [[tag.slice(0, equals).trim(), tag.slice(equals + 1).replaceAll(/\s/g, "")] as const]
    })
  )

/**
 * Whether one of the records holds the domain's key. The other tags may be the owner's own choice, but not another kind
 * of key.
 */
export const hasDkim = (
  { publicKey }: Pick<DomainIdentity, "publicKey">,
  records: ReadonlyArray<TextRecord>
): boolean =>
  records.some((strings) => {
    const tags = tagsOf(strings.join(""))
    return tags.get("p") === publicKey && (tags.get("k") ?? "rsa") === "rsa" && (tags.get("v") ?? "DKIM1") === "DKIM1"
  })

/** A record as its owner is shown it. */
export interface ShownRecord {
  readonly record: "Ownership" | "DKIM" | "SPF" | "DMARC"
  readonly name: string
  readonly type: "TXT"
  readonly ttl: string
  readonly status: RecordStatus
  readonly value: string
  /** Whether the domain is verified without it. */
  readonly required: boolean
}

/** The record of the key that is to be signed with next. */
export const nextKeyRecord = (name: string, next: Pick<DomainIdentity, "selector" | "publicKey">): ShownRecord => ({
  record: "DKIM",
  name: dkimName({ name, selector: next.selector }),
  type: "TXT",
  ttl: String(recordTtlSeconds),
  required: false,
  status: "pending",
  value: dkimValue(next)
})

/** The records to set: the two that verify the domain, then two that other mail systems like to see. */
export const shownRecords = (
  identity: DomainIdentity,
  { dkim, ownership }: NeededRecords<RecordStatus>,
  advisedSpf: string
): ReadonlyArray<ShownRecord> => {
  const text = { type: "TXT", ttl: String(recordTtlSeconds) } as const
  const needed = { ...text, required: true } as const
  const hint = { ...text, required: false, status: "not_started" } as const
  return [
    {
      record: "Ownership",
      name: ownershipName(identity),
      ...needed,
      status: ownership,
      value: ownershipValue(identity)
    },
    { record: "DKIM", name: dkimName(identity), ...needed, status: dkim, value: dkimValue(identity) },
    { record: "SPF", name: identity.name, ...hint, value: advisedSpf },
    { record: "DMARC", name: `_dmarc.${identity.name}`, ...hint, value: advisedDmarc }
  ]
}
