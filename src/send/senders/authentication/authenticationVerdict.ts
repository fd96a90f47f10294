/** Defines the verdict of a check of SPF or DMARC, as it is stored with its domain (docs/platform.md, 9.13). */

/**
 * `advice`: it works, and should be better. `invalid`: receivers cannot use it, or it harms. `unknown`: no name server
 * answered.
 */
export const verdictStatuses = ["pass", "advice", "missing", "invalid", "unknown"] as const
export type VerdictStatus = (typeof verdictStatuses)[number]

export interface AuthenticationVerdict {
  readonly record: "SPF" | "DMARC"
  /** The name of the TXT record to repair. */
  readonly name: string
  readonly status: VerdictStatus
  /** One sentence: the fault, and the repair. */
  readonly message: string
  /** The text to set; null if nothing is to be set, or it is the owner's to write. */
  readonly advised: string | null
}

/** The verdicts of one check. Time in Unix milliseconds. */
export interface Authentication {
  readonly checkedAt: number
  readonly verdicts: ReadonlyArray<AuthenticationVerdict>
}
