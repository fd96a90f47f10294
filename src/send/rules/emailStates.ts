/**
 * Lists the states of an email, one row each (docs/platform.md, 9.11). The actor's states, the API's, the names that
 * Resend's API has for them, and the events that tell of them are all derived from this table. Pure.
 */
import type { CataloguedType } from "../../events/index.ts"

/** A state of an email. */
interface EmailStateRow {
  /** Whether an email may have it right after its acceptance. */
  readonly isFirst: boolean
  /** Whether the email ends with it: its content is kept for some days more. Reports of recipients may come later. */
  readonly ends: boolean
  /** The name that Resend's API has for it, as the last thing that happened to the email. */
  readonly lastEvent: string
  /** The type of the event that tells of it; null for a state that callers learn from the API alone. */
  readonly event: CataloguedType | null
  readonly description: string
}

/** The states that callers see. The last four come from the last report about the email. See {@link Holds}. */
export const emailStateTable = {
  queued: { isFirst: true, ends: false, lastEvent: "queued", event: null, description: "it goes out next" },
  held: {
    isFirst: true,
    ends: false,
    lastEvent: "queued",
    event: null,
    description: "it waits for its sender's daily cap, or for the end of a pause"
  },
  scheduled: { isFirst: true, ends: false, lastEvent: "scheduled", event: null, description: "it waits for its time" },
  suppressed: {
    isFirst: true,
    ends: true,
    lastEvent: "suppressed",
    event: null,
    description: "the account sends to none of its recipients"
  },
  canceled: { isFirst: false, ends: true, lastEvent: "canceled", event: null, description: "it was cancelled" },
  sending: { isFirst: false, ends: false, lastEvent: "queued", event: null, description: "the hand-off has it" },
  sent: {
    isFirst: false,
    ends: true,
    lastEvent: "sent",
    event: "send.email.sent",
    description: "the relay has accepted it"
  },
  failed: {
    isFirst: false,
    ends: true,
    lastEvent: "failed",
    event: "send.email.failed",
    description: "it was given up, and is not sent"
  },
  delivered: {
    isFirst: false,
    ends: false,
    lastEvent: "delivered",
    event: "send.email.delivered",
    description: "a recipient's server has taken it"
  },
  bounced: {
    isFirst: false,
    ends: true,
    lastEvent: "bounced",
    event: "send.email.bounced",
    description: "it did not reach a recipient"
  },
  complained: {
    isFirst: false,
    ends: false,
    lastEvent: "complained",
    event: "send.email.complained",
    description: "a recipient reported it as spam"
  }
} as const satisfies Record<string, EmailStateRow>
type Table = typeof emailStateTable

/** A state that callers see. See {@link Holds}. */
export type ShownState = keyof typeof emailStateTable
/** A state that an email may have right after its acceptance. */
export type FirstState = { [State in ShownState]: Table[State]["isFirst"] extends true ? State : never }[ShownState]
/** A name of Resend's API for the last thing that happened to an email. */
export type LastEvent = Table[ShownState]["lastEvent"]

export const shownStates = Object.keys(emailStateTable) as ReadonlyArray<ShownState>

export const firstStates = shownStates.filter((state): state is FirstState => emailStateTable[state].isFirst)

/** A state of an email; `none`: there is no such email. See {@link Admission}. */
export type EmailStage = "none" | ShownState

export const emailStates: ReadonlyArray<EmailStage> = ["none", ...shownStates]

/** The name that Resend's API has for a state: an email that waits is queued there until it is sent. */
export const lastEventOf = (state: ShownState): LastEvent => emailStateTable[state].lastEvent

export const lastEvents: ReadonlyArray<LastEvent> = [...new Set(shownStates.map(lastEventOf))]

/** The states that end an email. */
export const lastStates: ReadonlySet<ShownState> = new Set(shownStates.filter((state) => emailStateTable[state].ends))

/** The event that tells of a state, if there is one. */
export const eventOfState: ReadonlyMap<string, CataloguedType> = new Map(
  shownStates.flatMap((state) => {
    const { event } = emailStateTable[state]
    return event === null ? [] : [[state, event] as const]
  })
)
