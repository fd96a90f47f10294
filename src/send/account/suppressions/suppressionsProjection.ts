/**
 * Keeps the suppressed addresses for their owners' lists, as part of the SQL reactor's batch. The actors keep hashes
 * only, but their facts name the address, and a bounce or complaint is decided with its report. So the facts are the
 * one source that has everything on the list; rows written beside a decision could be missing after a crash. The facts
 * leave the log with its purge; from then on only the row has the address, and its removal erases it. Needs
 * `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Reactor from "../../../engine/Reactor.ts"
import { deferred, deferredPlanned } from "../../../postgres/deferredStatements.ts"
import { unnest } from "../../../postgres/unnest.ts"
import { bareAddress, type Mode, modes, SendSuppressions } from "../actors/index.ts"
import { originOf, suppressionId } from "./suppression.ts"

/** The mode at the beginning of a bucket's key. */
const modeOf = (key: string): Mode => (key.startsWith(`${modes[1]}/`) ? modes[1] : modes[0])

/** The part of the SQL reactor that keeps them. */
export const suppressionsProjection = Reactor.facts(
  SendSuppressions,
  Effect.fnUntraced(function* (records) {
    const sql = yield* SqlClient.SqlClient
    // The last fact of an address says whether it is on the list; facts of one address are of one bucket, so they are
    // in order.
    const latest = new Map(
      records.map(({ fact, key, organization }) => {
        const account = { organizationId: organization, mode: modeOf(key) }
        const id = suppressionId(account, fact.address)
        return [`${organization} ${key} ${id}`, { account, id, fact }] as const
      })
    )
    const rows = [...latest.values()].map(({ account, fact, id }) => ({
      organization_id: account.organizationId,
      mode: account.mode,
      id,
      email: bareAddress(fact.address),
      origin: fact._tag === "Suppressed" ? originOf[fact.reason] : null,
      created_at: fact.at
    }))
    const listed = rows.flatMap(({ origin, ...row }) => (origin === null ? [] : [{ ...row, origin }]))
    const gone = rows.flatMap(({ id, mode, organization_id, origin }) =>
      origin === null ? [{ organization_id, mode, id }] : []
    )
    if (listed.length > 0)
      yield* deferred(
        sql,
        sql`
          insert into send_suppressions (organization_id, mode, id, email, origin, created_at)
          select organization_id, mode, id, email, origin, created_at from ${unnest(listed, {
            organization_id: "text",
            mode: "text",
            id: "text",
            email: "text",
            origin: "text",
            created_at: "int8"
          })}
          on conflict (organization_id, mode, id) do update set origin = excluded.origin, created_at = excluded.created_at`
      )
    if (gone.length > 0)
      yield* deferredPlanned(
        sql,
        sql`
          delete from send_suppressions s using ${unnest(gone, { organization_id: "text", mode: "text", id: "text" })}
          where s.organization_id = batch.organization_id and s.mode = batch.mode and s.id = batch.id`
      )
  })
)
