/**
 * Keeps the standing of each account in its row, as part of the SQL reactor's batch. Needs `SqlClient`. A batch without
 * a fact that changes a standing costs nothing.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Reactor from "../../../engine/Reactor.ts"
import { deferred } from "../../../postgres/deferredStatements.ts"
import { unnest } from "../../../postgres/unnest.ts"
import { SendAccount } from "../actors/index.ts"
import { type AccountStage, accountsTable, changesStage, nextStage } from "./accountStages.ts"

interface Stored extends AccountStage {
  readonly organizationId: string
  readonly mode: string
}

const columnTypes = {
  organization_id: "text",
  mode: "text",
  stage: "text",
  risk: "text",
  changed_at: "int8",
  paused_at: "int8",
  pause_reason: "text",
  warned_at: "int8"
} as const

const rowOf = ({ changedAt, mode, organizationId, pausedAt, pauseReason, risk, stage, warnedAt }: Stored) => ({
  organization_id: organizationId,
  mode,
  stage,
  risk,
  changed_at: changedAt,
  paused_at: pausedAt,
  pause_reason: pauseReason,
  warned_at: warnedAt
})

const storedIn = (sql: SqlClient.SqlClient, owners: ReadonlyArray<string>) =>
  Effect.map(
    sql<Stored>`
      select organization_id as "organizationId", mode, stage, risk, changed_at as "changedAt",
        paused_at as "pausedAt", pause_reason as "pauseReason", warned_at as "warnedAt"
      from ${sql(accountsTable)} where organization_id = any(${[...owners]}::text[])`,
    (rows) =>
      new Map(
        rows.map(({ mode, organizationId, ...stage }): [string, AccountStage] => [
          `${organizationId} ${mode}`,
          {
            ...stage,
            changedAt: Number(stage.changedAt),
            pausedAt: stage.pausedAt === null ? null : Number(stage.pausedAt),
            warnedAt: stage.warnedAt === null ? null : Number(stage.warnedAt)
          }
        ])
      )
  )

/** The part of the SQL reactor that keeps them. */
export const accountStagesProjection = Reactor.facts(
  SendAccount,
  Effect.fnUntraced(function* (records) {
    const changing = records.filter(({ fact }) => changesStage(fact))
    if (changing.length === 0) return
    const sql = yield* SqlClient.SqlClient
    const before = yield* storedIn(sql, [...new Set(changing.map(({ organization }) => organization))])
    const after = new Map<string, AccountStage | undefined>(before)
    for (const { fact, key, organization } of changing) {
      const name = `${organization} ${key}`
      after.set(name, nextStage(after.get(name), fact))
    }
    const changed = [...after].filter(([name, stage]) => stage !== before.get(name))
    const nameOf = (name: string) => ({ organizationId: name.split(" ")[0]!, mode: name.split(" ")[1]! })
    const gone = changed.flatMap(([name, stage]) => (stage === undefined ? [name] : []))
    const rows = changed.flatMap(([name, stage]) => (stage === undefined ? [] : [rowOf({ ...nameOf(name), ...stage })]))
    if (gone.length > 0)
      yield* deferred(
        sql,
        sql`delete from ${sql(accountsTable)} where organization_id || ' ' || mode = any(${gone}::text[])
          and organization_id = any(${gone.map((name) => nameOf(name).organizationId)}::text[])`
      )
    if (rows.length > 0)
      yield* deferred(
        sql,
        sql`
          insert into ${sql(accountsTable)}
            (organization_id, mode, stage, risk, changed_at, paused_at, pause_reason, warned_at)
          select * from ${unnest(rows, columnTypes)}
          on conflict (organization_id, mode) do update
            set stage = excluded.stage, risk = excluded.risk, changed_at = excluded.changed_at,
              paused_at = excluded.paused_at, pause_reason = excluded.pause_reason, warned_at = excluded.warned_at`
      )
  })
)
