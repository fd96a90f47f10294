/**
 * Mails links to people (docs/platform.md, 2.13), by the platform's own sender, so that a pause of an organization's
 * sending does not stop them. Without an implementation nothing can be mailed, as for a command that runs without a
 * platform.
 */
import { Context, Data, Effect } from "effect"

/** A mail to one person. */
export interface PersonalMail {
  /** A second mail of the same id is the same mail. */
  readonly id: string
  /** Because of which it is written. */
  readonly organization: string
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
}

/** The mail was not taken, or it is not known whether it was. */
export class MemberMailFailed extends Data.TaggedError("MemberMailFailed")<{ readonly message: string }> {}

export interface MemberMailShape {
  /** Whether mail goes out now: there is a relay, or a local mailbox in its place. */
  readonly isPossible: boolean
  /** Succeeds when the mail is stored; it is handed over a moment later. */
  readonly send: (mail: PersonalMail) => Effect.Effect<void, MemberMailFailed>
}

export const MemberMail = Context.Reference<MemberMailShape>("sluice/platform/MemberMail", {
  defaultValue: () => ({
    isPossible: false,
    send: () => Effect.fail(new MemberMailFailed({ message: "nothing mails here" }))
  })
})

/** The address at which browsers reach the console, without a slash at its end; empty if unknown. */
export const ConsoleAddress = Context.Reference<() => string>("sluice/platform/ConsoleAddress", {
  defaultValue: () => () => ""
})
