/** Defines the reports about a domain that other mail systems send daily (RFC 7489, 7.2; RFC 8460). */

export const reportKinds = ["dmarc", "tls"] as const
export type ReportKind = (typeof reportKinds)[number]

/** The fate of messages; `none` where the policy was not applied. */
export const dispositions = ["none", "quarantine", "reject"] as const
export type Disposition = (typeof dispositions)[number]

/** Messages from one source with the same results. */
export interface DmarcRecord {
  /** The IP address that they came from. */
  readonly source: string
  readonly count: number
  readonly disposition: Disposition
  /** Whether a signature of the domain was valid, and whether SPF has passed for the domain. */
  readonly isDkimAligned: boolean
  readonly isSpfAligned: boolean
}

interface ReportHead {
  /** The domain whose record asked for it, in lower case. */
  readonly domain: string
  /** The name that the reporter gives itself. Nothing proves it. */
  readonly reporter: string
  /** As the reporter made it. */
  readonly reportId: string
  /** Unix milliseconds. */
  readonly beginsAt: number
  readonly endsAt: number
}

export interface DmarcReport extends ReportHead {
  readonly kind: "dmarc"
  readonly records: ReadonlyArray<DmarcRecord>
}

/** Policies that a sender applies to connections with the domain's mail hosts. */
export const tlsPolicies = ["sts", "tlsa", "no-policy-found", "other"] as const
export type TlsPolicy = (typeof tlsPolicies)[number]

/**
 * The types of failures (RFC 8460, 4.3). `other`: a type that is not registered; `unspecified`: the report does not say.
 */
export const tlsFailures = [
  "starttls-not-supported",
  "certificate-host-mismatch",
  "certificate-expired",
  "certificate-not-trusted",
  "validation-failure",
  "tlsa-invalid",
  "dnssec-invalid",
  "dane-required",
  "sts-policy-fetch-error",
  "sts-policy-invalid",
  "sts-webpki-invalid",
  "other",
  "unspecified"
] as const
export type TlsFailure = (typeof tlsFailures)[number]

/** Sessions under one policy. */
export interface TlsSessions {
  readonly policy: TlsPolicy
  readonly successful: number
  /** Each type once, in the order of `tlsFailures`. */
  readonly failures: ReadonlyArray<{ readonly type: TlsFailure; readonly sessions: number }>
}

export interface TlsReport extends ReportHead {
  readonly kind: "tls"
  readonly policies: ReadonlyArray<TlsSessions>
}

export type DomainReport = DmarcReport | TlsReport
