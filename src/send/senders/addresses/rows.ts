/**
 * Reads and writes the rows of single addresses, and the time of each address's last mail. Each function is one
 * statement or two, and joins the caller's transaction. Needs `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { IdempotentRequest } from "../../../http/idempotency.ts"
import type { Account } from "../domains/model.ts"
import { idempotencyMillis, mailPauseMillis } from "./limits.ts"
import type { SenderStatus, SingleSender } from "./model.ts"

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly mode: Account["mode"]
  readonly email: string
  readonly status: SenderStatus
  readonly created_at: number
  readonly verified_at: number | null
}

const senderOf = (row: Row): SingleSender => ({
  id: row.id,
  organizationId: row.organization_id,
  mode: row.mode,
  email: row.email,
  status: row.status,
  createdAt: row.created_at,
  verifiedAt: row.verified_at
})

type Found = Effect.Effect<SingleSender | undefined, SqlError.SqlError>

const one = (rows: Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>): Found =>
  Effect.map(rows, ([row]) => (row === undefined ? undefined : senderOf(row)))

/** A link's token as it is stored, and when it is good no longer. */
export interface StoredToken {
  readonly digest: string
  readonly expiresAt: number
}

const ownerRows = (sql: SqlClient.SqlClient) => {
  const of = ({ mode, organizationId }: Account) => sql`organization_id = ${organizationId} and mode = ${mode}`
  return {
    byId: (account: Account, id: string): Found =>
      one(sql<Row>`select * from send_senders where ${of(account)} and id = ${id}`),

    byEmail: (account: Account, email: string): Found =>
      one(sql<Row>`select * from send_senders where ${of(account)} and email = ${email}`),

    byKey: (account: Account, key: string, now: number) =>
      Effect.map(
        sql<Row & { readonly request_digest: string }>`
          select * from send_senders
          where ${of(account)} and idempotency_key = ${key}
            and (created_at > ${now - idempotencyMillis} or expires_at > ${now})`,
        ([row]) => (row === undefined ? undefined : { sender: senderOf(row), digest: row.request_digest })
      ),

    count: (account: Account): Effect.Effect<number, SqlError.SqlError> =>
      Effect.map(
        sql<{ readonly senders: number }>`select count(*)::int4 as senders from send_senders where ${of(account)}`,
        ([row]) => row?.senders ?? 0
      ),

    /** Newest first, or oldest first where newer ones are asked for. */
    page: (
      account: Account,
      beyond: { readonly at: number; readonly id: string; readonly isNewer: boolean } | undefined,
      limit: number
    ): Effect.Effect<ReadonlyArray<SingleSender>, SqlError.SqlError> => {
      const { at = 0, id = "", isNewer = false } = beyond ?? {}
      const older = beyond === undefined ? sql.literal("true") : sql`(created_at, id) < (${at}, ${id})`
      const where = isNewer ? sql`(created_at, id) > (${at}, ${id})` : older
      const order = sql.literal(isNewer ? "created_at, id" : "created_at desc, id desc")
      return Effect.map(
        sql<Row>`select * from send_senders where ${of(account)} and ${where} order by ${order} limit ${limit}`,
        (rows) => rows.map(senderOf)
      )
    },

    /** A new address, or a new link for one that is not verified yet; undefined where it is verified. */
    put: (sender: SingleSender, token: StoredToken, request: IdempotentRequest | undefined): Found =>
      one(sql<Row>`
        insert into send_senders as s (id, organization_id, mode, email, status, token_digest, expires_at, created_at,
          idempotency_key, request_digest)
        values (${sender.id}, ${sender.organizationId}, ${sender.mode}, ${sender.email}, 'pending', ${token.digest},
          ${token.expiresAt}, ${sender.createdAt}, ${request?.key ?? null}, ${request?.digest ?? null})
        on conflict (organization_id, mode, email) do update set token_digest = ${token.digest}, expires_at = ${token.expiresAt},
          idempotency_key = coalesce(${request?.key ?? null}, s.idempotency_key),
          request_digest = coalesce(${request?.digest ?? null}, s.request_digest)
        where s.status = 'pending'
        returning *`),

    /** Frees keys that no longer identify their request. */
    forgetKeys: (account: Account, now: number): Effect.Effect<void, SqlError.SqlError> =>
      Effect.asVoid(sql`
        update send_senders set idempotency_key = null, request_digest = null
        where ${of(account)} and idempotency_key is not null and created_at <= ${now - idempotencyMillis}
          and (expires_at is null or expires_at <= ${now})`),

    /** Frees a key whose request came to nothing. */
    forgetKey: (id: string): Effect.Effect<void, SqlError.SqlError> =>
      Effect.asVoid(sql`update send_senders set idempotency_key = null, request_digest = null where id = ${id}`),

    /** Whether it was there in that status, and now is not. */
    remove: ({ id, status }: Pick<SingleSender, "id" | "status">): Effect.Effect<boolean, SqlError.SqlError> =>
      Effect.map(
        sql`delete from send_senders where id = ${id} and status = ${status} returning id`,
        (rows) => rows.length > 0
      )
  }
}

const linkRows = (sql: SqlClient.SqlClient) => ({
  /** The address whose link this is, while it is good. */
  byToken: (digest: string, now: number): Found =>
    one(sql<Row>`select * from send_senders where token_digest = ${digest} and expires_at > ${now}`),

  /** Undefined where it was deleted meanwhile. */
  verified: (id: string, now: number): Found =>
    one(sql<Row>`
      update send_senders set status = 'verified', verified_at = coalesce(verified_at, ${now}), token_digest = null,
        expires_at = null
      where id = ${id}
      returning *`),

  /** Takes an address's turn to be mailed. Answers when it was mailed before, where that is too short ago. */
  takeTurn: Effect.fnUntraced(function* (digest: string, now: number) {
    yield* sql`delete from send_sender_mails where mailed_at <= ${now - mailPauseMillis}`
    const taken = yield* sql`
      insert into send_sender_mails (digest, mailed_at) values (${digest}, ${now}) on conflict do nothing returning digest`
    if (taken.length > 0) return undefined
    const [row] = yield* sql<{ readonly mailedAt: number }>`
      select mailed_at as "mailedAt" from send_sender_mails where digest = ${digest}`
    return row?.mailedAt ?? now
  }),

  /** Gives a turn back that came to nothing. */
  giveTurnBack: (digest: string, now: number): Effect.Effect<void, SqlError.SqlError> =>
    Effect.asVoid(sql`delete from send_sender_mails where digest = ${digest} and mailed_at = ${now}`)
})

/** Makes the statements for the rest of this folder. */
export const senderRows = Effect.map(SqlClient.SqlClient, (sql) => ({ ...ownerRows(sql), ...linkRows(sql) }))
