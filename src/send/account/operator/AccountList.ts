/**
 * Lists accounts and senders of all organizations for operators (docs/platform.md, 9.9), newest change first. The rows
 * follow the decisions, normally within a second. Needs `SqlClient` and `PageCursors`.
 */
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { type InvalidCursor, PageCursors, pageOf } from "../../../http/PageCursors.ts"
import type { Page } from "../../../platform/Organizations.ts"
import { endOf } from "../../../platform/organizationSearch.ts"
import type { Risk } from "../../limits.ts"
import type { Stage } from "../../rules/trust.ts"
import type { Mode } from "../actors/index.ts"
import { type AccountStage, accountsTable } from "./accountStages.ts"

/** An account in the list, with the name of its organization. */
export interface ListedAccount extends AccountStage {
  readonly organizationId: string
  readonly organizationName: string
  readonly mode: Mode
}

/** A verified or pending domain or address in the list. */
export interface ListedSender {
  readonly id: string
  readonly organizationId: string
  readonly organizationName: string
  readonly mode: Mode
  readonly kind: "domain" | "address"
  readonly name: string
  readonly status: string
  readonly createdAt: number
}

interface PageOptions {
  readonly limit: number
  readonly cursor: string | undefined
}

export interface AccountFilter extends PageOptions {
  readonly stage?: Stage | undefined
  readonly risk?: Risk | undefined
  readonly mode?: Mode | undefined
  readonly organization?: string | undefined
  /** Only those on probation with a bounce, a complaint or risky content in it. */
  readonly warned?: boolean | undefined
}

export interface SenderFilter extends PageOptions {
  readonly mode?: Mode | undefined
  readonly organization?: string | undefined
  /** The beginning of the domain or address, in lower case. */
  readonly name?: string | undefined
}

export class AccountList extends Context.Service<
  AccountList,
  {
    readonly accounts: (filter: AccountFilter) => Effect.Effect<Page<ListedAccount>, InvalidCursor | SqlError.SqlError>
    readonly senders: (filter: SenderFilter) => Effect.Effect<Page<ListedSender>, InvalidCursor | SqlError.SqlError>
  }
>()("sluice/send/AccountList") {
  static readonly layer: Layer.Layer<AccountList, never, SqlClient.SqlClient | PageCursors> = Layer.effect(
    AccountList,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const cursors = yield* PageCursors
      return AccountList.of({ accounts: listAccounts(sql, cursors), senders: listSenders(sql, cursors) })
    })
  )
}

type Conditions = ReadonlyArray<Statement.Fragment>

const numberOrNull = (value: number | string | null): number | null => (value === null ? null : Number(value))

const listAccounts = (sql: SqlClient.SqlClient, cursors: PageCursors["Service"]): AccountList["Service"]["accounts"] =>
  Effect.fn("AccountList.accounts")(function* ({ cursor, limit, mode, organization, risk, stage, warned = false }) {
    const name = JSON.stringify(["accounts", stage, risk, mode, organization, warned])
    const place = Option.getOrUndefined(yield* cursors.decode(name, cursor))
    const [placeId = "", placeMode = ""] = (place?.id ?? "").split(" ")
    const behind =
      place === undefined
        ? []
        : [sql`(a.changed_at, a.organization_id, a.mode) < (${place.atMillis}::int8, ${placeId}, ${placeMode})`]
    const conditions: Conditions = [
      sql`o.deleted_at is null`,
      ...(warned ? [sql`a.stage = 'probation' and a.warned_at is not null`] : []),
      ...(stage === undefined ? [] : [sql`a.stage = ${stage}`]),
      ...(risk === undefined ? [] : [sql`a.risk = ${risk}`]),
      ...(mode === undefined ? [] : [sql`a.mode = ${mode}`]),
      ...(organization === undefined ? [] : [sql`a.organization_id = ${organization}`]),
      ...behind
    ]
    const rows = yield* sql<ListedAccount>`
      select a.organization_id as "organizationId", o.name as "organizationName", a.mode, a.stage, a.risk,
        a.changed_at as "changedAt", a.paused_at as "pausedAt", a.pause_reason as "pauseReason",
        a.warned_at as "warnedAt"
      from ${sql(accountsTable)} a join organizations o on o.id = a.organization_id collate "default"
      where ${sql.and(conditions)}
      order by a.changed_at desc, a.organization_id desc, a.mode desc limit ${limit + 1}`.unprepared
    const accounts = rows.map((row) => ({
      ...row,
      changedAt: Number(row.changedAt),
      pausedAt: numberOrNull(row.pausedAt),
      warnedAt: numberOrNull(row.warnedAt)
    }))
    return pageOf(accounts, limit, ({ changedAt, mode: own, organizationId }) =>
      cursors.encode(name, { atMillis: changedAt, id: `${organizationId} ${own}` })
    )
  })

const listSenders = (sql: SqlClient.SqlClient, cursors: PageCursors["Service"]): AccountList["Service"]["senders"] =>
  Effect.fn("AccountList.senders")(function* ({ cursor, limit, mode, name, organization }) {
    const list = JSON.stringify(["senders", mode, organization, name])
    const place = Option.getOrUndefined(yield* cursors.decode(list, cursor))
    // Each half is found by its own index, so that a page reads no more than twice its rows.
    const half = (table: string, column: string, kind: ListedSender["kind"]) => {
      const conditions: Conditions = [
        // Here, so that rows of deleted organizations cut no page short.
        sql`exists (
          select from organizations o where o.id = organization_id collate "default" and o.deleted_at is null)`,
        ...(mode === undefined ? [] : [sql`mode = ${mode}`]),
        ...(organization === undefined ? [] : [sql`organization_id = ${organization}`]),
        ...(name === undefined ? [] : [sql`${sql(column)} >= ${name} and ${sql(column)} < ${endOf(name)}`]),
        ...(place === undefined ? [] : [sql`(created_at, id) < (${place.atMillis}::int8, ${place.id})`])
      ]
      return sql`(
        select id, organization_id, mode, ${kind}::text as kind, ${sql(column)} as name, status, created_at
        from ${sql(table)} where ${sql.and(conditions)} order by created_at desc, id desc limit ${limit + 1})`
    }
    const rows = yield* sql<ListedSender>`
      select s.id, s.organization_id as "organizationId", o.name as "organizationName", s.mode, s.kind, s.name, s.status,
        s.created_at as "createdAt"
      from (${half("send_domains", "name", "domain")} union all ${half("send_senders", "email", "address")}) s
      join organizations o on o.id = s.organization_id collate "default"
      order by s.created_at desc, s.id desc limit ${limit + 1}`.unprepared
    return pageOf(
      rows.map((row) => ({ ...row, createdAt: Number(row.createdAt) })),
      limit,
      ({ createdAt, id }) => cursors.encode(list, { atMillis: createdAt, id })
    )
  })
