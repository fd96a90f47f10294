/**
 * Tells that the relay refuses the account that mail is sent with (docs/handoff.md, 2.2): operators in the log, an organization by one mail a day to its contact. Whatever goes wrong with
 * that holds up no mail.
 */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { BoundedMap } from "../../common/BoundedMap.ts"
import type { Mode } from "../account/actors/index.ts"
import type { HandoffAnswer } from "./MailTransport.ts"
import type { Notices } from "./Notices.ts"

/** Takes in every answer, and tells of those that are about the account. */
export type AccountAlert = (organization: string, mode: Mode, answer: HandoffAnswer) => Effect.Effect<void>

export interface AccountAlertOptions {
  readonly order: Notices["Service"]["order"]
  readonly contactOf: (
    organization: string
  ) => Effect.Effect<{ readonly email: string; readonly name: string } | null, SqlError.SqlError>
}

/** How often the log has it at most. */
const loggedMillis = 60_000

/** Organizations of which is remembered that they were told today; the table of notices knows the others. */
const rememberedOrganizations = 10_000

/** The relay's words about the account, if any. */
const refusalIn = (answer: HandoffAnswer): { readonly code: string; readonly reason: string } | undefined => {
  const parts = answer._tag === "Parted" ? answer.parts.map((part) => part.answer) : [answer]
  return parts.find((part) => part._tag === "Account")
}

const textOf = (name: string, said: string): string =>
  `The mail relay refuses to send email of ${name}. It says:\n\n  ${said}\n\nNo recipient is to blame, and nothing is lost: the mail waits, and is tried again at least once an hour until the relay takes it. Usual causes are a sender that the relay has not verified, a quota that is used up, or an account that the relay has paused. Please check the sender, or ask whoever operates this platform.\n`

export const makeAccountAlerts = ({ contactOf, order }: AccountAlertOptions): AccountAlert => {
  let loggedAt = Number.NEGATIVE_INFINITY
  const toldOn = new BoundedMap<string, string>(rememberedOrganizations)

  const tell = Effect.fnUntraced(function* (organization: string, day: string, said: string) {
    if (toldOn.get(organization) === day) return
    const contact = yield* contactOf(organization)
    if (contact !== null) {
      const name = contact.name.replace(/\s+/g, " ").trim()
      yield* order({
        id: `${organization}/relay/${day}`,
        organization,
        mode: "live",
        to: contact.email,
        subject: `The mail relay refuses email of ${name}`,
        text: textOf(name, said)
      })
    }
    toldOn.set(organization, day)
  })

  return Effect.fnUntraced(function* (organization, mode, answer) {
    const refusal = refusalIn(answer)
    if (refusal === undefined || mode === "test") return
    // The reply has its code already.
    const said = refusal.reason.includes(refusal.code) ? refusal.reason : `${refusal.code} ${refusal.reason}`
    const now = yield* Clock.currentTimeMillis
    if (now >= loggedAt + loggedMillis) {
      loggedAt = now
      yield* Effect.logError(
        `the relay refuses the account that mail of ${organization} is sent with; the mail waits: ${said}`
      )
    }
    yield* Effect.catch(tell(organization, new Date(now).toISOString().slice(0, 10), said), (error) =>
      Effect.logWarning(`${organization} was not told that the relay refuses its mail`, error)
    )
  })
}
