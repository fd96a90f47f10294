/** Why emails are held and until when (docs/platform.md, 9.11). What a sender holds is its actor's to say. Needs `Engine` and `SqlClient`. */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Engine } from "../../engine/Engine.ts"
import { partsOfSender, senderKey } from "../account/actors/actorKeys.ts"
import { SendEmail, SendSender } from "../account/actors/index.ts"
import { capOf } from "../account/actors/senderRules.ts"
import { heldUntil } from "../rules/hold.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import type { holdReasons, ShownState } from "./forms.ts"

export interface EmailHold {
  readonly reason: (typeof holdReasons)[number]
  /** The domain or address whose queue it stands in. */
  readonly sender: string
  /** Unix milliseconds, an upper bound; null where nobody knows. */
  readonly until: number | null
}

/** Emails whose actors are asked together. */
const asksAtOnce = 16

interface Means {
  readonly engine: Engine["Service"]
  readonly sql: SqlClient.SqlClient
}

interface Waiting {
  readonly id: string
  /** The key of the sender's actor. */
  readonly sender: string
  readonly place: number
}

/** Where held emails stand, by their rows, and by their actors where a row is not there yet: it follows a moment later, and a read after one's own write must see it. */
const waitingOf = Effect.fnUntraced(function* (
  { engine, sql }: Means,
  organization: string,
  ids: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<Waiting>, SqlError.SqlError> {
  const rows = yield* sql<Waiting>`
    select email_id as id, sender, place from send_waiting
    where organization_id = ${organization} and email_id = any(${ids}::text[]) and place is not null`
  const found = new Set(rows.map(({ id }) => id))
  const others = yield* Effect.forEach(
    ids.filter((id) => !found.has(id)),
    (id) =>
      Effect.map(Effect.option(engine.state(SendEmail, { organization, key: id })), (email): ReadonlyArray<Waiting> => {
        if (email._tag === "None" || email.value.state !== "held" || email.value.place === null) return []
        const { mode, place, sender } = email.value
        return [{ id, place, sender: senderKey(mode, sender) }]
      }),
    { concurrency: asksAtOnce }
  )
  return [...rows, ...others.flat()]
})

/** Of the emails that are held, those whose sender can say. */
export const holdsOf = Effect.fnUntraced(function* (
  means: Means,
  { organizationId }: EmailOwner,
  emails: ReadonlyArray<{ readonly id: string; readonly state: ShownState }>
): Effect.fn.Return<ReadonlyMap<string, EmailHold>, SqlError.SqlError> {
  const ids = emails.filter(({ state }) => state === "held").map(({ id }) => id)
  if (ids.length === 0) return new Map()
  const rows = yield* waitingOf(means, organizationId, ids)
  const now = yield* Clock.currentTimeMillis
  const holds = new Map<string, EmailHold>()
  for (const key of new Set(rows.map(({ sender }) => sender))) {
    // Another process may have the sender: then the list goes without.
    const state = yield* Effect.option(means.engine.state(SendSender, { organization: organizationId, key }))
    if (state._tag === "None") continue
    const cap = capOf(state.value)
    for (const { id, place, sender } of rows) {
      if (sender !== key) continue
      const until = heldUntil(state.value.holds, Math.max(0, Number(place) - state.value.holds.head), cap, now)
      holds.set(id, {
        reason: state.value.holds.paused ? "sending_paused" : "daily_cap",
        sender: partsOfSender(sender)[1],
        until
      })
    }
  }
  return holds
})
