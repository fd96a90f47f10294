/** Defines the errors of the services of domains. */
import { Data, Effect } from "effect"
import type { OrganizationNotFound } from "../../../platform/Organizations.ts"
import type { SenderRejection } from "../../account/actors/index.ts"
import { maximumSenders } from "../../limits.ts"
import type { CheckError } from "./DomainChecks.ts"

/** The given text is no domain. */
export class DomainInvalid extends Data.TaggedError("DomainInvalid")<{ readonly given: string }> {}

/** The account has no domain of this id. */
export class DomainNotFound extends Data.TaggedError("DomainNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No domain has the id ${JSON.stringify(this.id)}.`
  }
}

/** The request does not fit the present state; the message says why. */
export class DomainConflict extends Data.TaggedError("DomainConflict")<{ readonly message: string }> {}

/** The systems that may be unreachable. */
export type DomainError = Exclude<CheckError, SenderRejection> | OrganizationNotFound

export const tooMany = new DomainConflict({ message: `An account has at most ${maximumSenders} domains and senders.` })

const rejections: ReadonlySet<string> = new Set(["NotVerified", "HasWaitingMail", "TooManySenders", "CapInvalid"])

export const isSenderRejection = (error: { readonly _tag: string }): error is SenderRejection =>
  rejections.has(error._tag)

/** A verification that was rejected. */
export const verificationRefused = (rejection: SenderRejection): Effect.Effect<never, DomainConflict> =>
  rejection._tag === "TooManySenders" ? Effect.fail(tooMany) : Effect.die(rejection)
