/** Recipients of test mail that act out their name (docs/handoff.md, 2): what is reported of them right after the hand-off. Pure. */
import { bareAddress } from "../account/actors/index.ts"

const simulated = /^(delivered|bounced|complained)(?:\+[^@]*)?@simulator\.invalid$/

export interface SimulatedReport {
  readonly what: "delivered" | "bounced" | "complained"
  readonly recipient: string
  readonly code?: string
  readonly kind?: string
  readonly reason: string
}

const words = {
  delivered: { code: "2.0.0", reason: "The simulator has taken the mail" },
  bounced: { code: "5.1.1", kind: "permanent", reason: "The simulator knows no such mailbox" },
  complained: { kind: "abuse", reason: "The simulator does not like this mail" }
} as const

/** Reports of a mail's simulated recipients, in the order of the recipients. */
export const simulatedReports = (recipients: ReadonlyArray<string>): ReadonlyArray<SimulatedReport> =>
  recipients.flatMap((recipient) => {
    const [, named] = simulated.exec(bareAddress(recipient)) ?? []
    // The pattern lets no other word through.
    const what = named as SimulatedReport["what"] | undefined
    return what === undefined ? [] : [{ what, recipient, ...words[what] }]
  })
