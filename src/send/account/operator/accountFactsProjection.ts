/**
 * Keeps the facts of accounts that operators see, as part of the SQL reactor's batch. Needs `SqlClient` and
 * `DayPartitions`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Reactor from "../../../engine/Reactor.ts"
import { DayPartitions } from "../../../postgres/dayPartitions.ts"
import { deferred } from "../../../postgres/deferredStatements.ts"
import { unnest } from "../../../postgres/unnest.ts"
import { SendAccount } from "../actors/index.ts"
import { accountFactsTable, shownFact } from "./accountFacts.ts"

/** The part of the SQL reactor that keeps them. */
export const accountFactsProjection = Reactor.facts(
  SendAccount,
  Effect.fnUntraced(function* (records) {
    const rows = records.flatMap(({ fact, index, key, now, organization, sequence }) => {
      const shown = shownFact(fact)
      if (shown === undefined) return []
      const signals = shown._tag === "Accepted" ? shown.signals : 0
      const decided = { decided_at: now, sequence, idx: index }
      return [
        { organization_id: organization, mode: key, ...decided, tag: shown._tag, signals, fact: JSON.stringify(shown) }
      ]
    })
    if (rows.length === 0) return
    const sql = yield* SqlClient.SqlClient
    const days = yield* DayPartitions
    yield* days.ensureDays(
      accountFactsTable,
      rows.map(({ decided_at }) => decided_at)
    )
    // A log that was restored from an older copy than this database may bring a fact a second time.
    yield* deferred(
      sql,
      sql`
        insert into send_account_facts (organization_id, mode, decided_at, sequence, idx, tag, signals, fact)
        select * from ${unnest(rows, {
          organization_id: "text",
          mode: "text",
          decided_at: "int8",
          sequence: "int8",
          idx: "int4",
          tag: "text",
          signals: "int4",
          fact: "text"
        })}
        on conflict do nothing`
    )
  })
)
