/**
 * Defines the history of an account that can be decided again (docs/what-if.md): its requests, what became of each
 * email after it was free to go, and the acts of operators and plans. Plain data.
 */
import type { AccountFact } from "../rules/account.ts"
import type { SendRejection } from "../rules/rejections.ts"

/** A report of an email, by the time after it was free to go, milliseconds. Each kind comes at most once. */
export interface EmailOutcome {
  readonly what: "handedOver" | "bounced" | "complained"
  readonly afterMillis: number
}

/** An email of a request. */
export interface PastEmail {
  readonly id: string
  /** The name of its sender, or a digest of it. */
  readonly sender: string
  /** When it was to go, Unix milliseconds; null for at once. */
  readonly scheduledAt: number | null
  /** In order. Undefined where it was refused, so that nobody knows what would have become of it. */
  readonly outcomes: ReadonlyArray<EmailOutcome> | undefined
}

/** A request to send. */
export interface PastRequest {
  readonly _tag: "Request"
  readonly at: number
  readonly emails: ReadonlyArray<PastEmail>
  /** Risky signals of all its emails. Zero for a refused one, of which they are not known. */
  readonly signals: number
  /** The answer that it got. */
  readonly answer: "accepted" | SendRejection["code"]
}

/** An act upon the account, as its fact says it. */
export interface PastAct {
  readonly _tag: "Act"
  readonly at: number
  readonly fact:
    | Extract<AccountFact, { readonly _tag: "Began" | "Lifted" | "RiskSet" | "PlanSet" | "LimitsSet" }>
    | { readonly _tag: "Reset"; readonly at: number }
}

/** An entry of a history, in the order of time. */
export type PastEntry = PastRequest | PastAct
