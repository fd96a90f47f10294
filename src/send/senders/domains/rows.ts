/**
 * Reads and writes the rows of domains. Each function is one statement and joins the caller's transaction. Needs
 * `SqlClient`.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Sealed } from "../../../common/secretsKeys.ts"
import type { IdempotentRequest } from "../../../http/idempotency.ts"
import type { Authentication } from "../authentication/authenticationVerdict.ts"
import type { CheckResult } from "./checkResult.ts"
import type { RecordStatus } from "./dnsRecords.ts"
import { checkBatch, checkLeaseMillis, idempotencyMillis } from "./limits.ts"
import type { Account, Domain, DomainStage, Proof } from "./model.ts"

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly mode: Account["mode"]
  readonly name: string
  readonly region: string | null
  readonly token: string
  readonly selector: string
  readonly public_key: string
  readonly status: DomainStage
  readonly proof: Proof | null
  readonly ownership: RecordStatus
  readonly dkim: RecordStatus
  readonly authentication: Authentication | null
  readonly created_at: number
  readonly verified_at: number | null
  readonly checked_at: number | null
  readonly check_at: number | null
  readonly checks: number
  readonly checks_since: number
}

const domainOf = (row: Row): Domain => ({
  id: row.id,
  organizationId: row.organization_id,
  mode: row.mode,
  name: row.name,
  region: row.region,
  token: row.token,
  selector: row.selector,
  publicKey: row.public_key,
  stage: row.status,
  proof: row.proof,
  records: { ownership: row.ownership, dkim: row.dkim },
  authentication: row.authentication,
  createdAt: row.created_at,
  verifiedAt: row.verified_at,
  checkedAt: row.checked_at,
  checkAt: row.check_at,
  checks: row.checks,
  checksSince: row.checks_since
})

type Found = Effect.Effect<Domain | undefined, SqlError.SqlError>

const one = (rows: Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>): Found =>
  Effect.map(rows, ([row]) => (row === undefined ? undefined : domainOf(row)))

const accountIs = (sql: SqlClient.SqlClient, { mode, organizationId }: Account) =>
  sql`organization_id = ${organizationId} and mode = ${mode}`

/** The statements of an account's owner. */
const ownerRows = (sql: SqlClient.SqlClient) => {
  const of = (account: Account) => accountIs(sql, account)
  return {
    byId: (account: Account, id: string): Found =>
      one(sql<Row>`select * from send_domains where ${of(account)} and id = ${id}`),

    byName: (account: Account, name: string): Found =>
      one(sql<Row>`select * from send_domains where ${of(account)} and name = ${name}`),

    /** The domain that a request with this key has made, and the digest of that request. */
    byKey: (account: Account, key: string, now: number) =>
      Effect.map(
        sql<Row & { readonly request_digest: string }>`
          select * from send_domains
          where ${of(account)} and idempotency_key = ${key} and created_at > ${now - idempotencyMillis}`,
        ([row]) => (row === undefined ? undefined : { domain: domainOf(row), digest: row.request_digest })
      ),

    count: (account: Account): Effect.Effect<number, SqlError.SqlError> =>
      Effect.map(
        sql<{ readonly domains: number }>`select count(*)::int4 as domains from send_domains where ${of(account)}`,
        ([row]) => row?.domains ?? 0
      ),

    /** Newest first. */
    page: (
      account: Account,
      beyond: { readonly at: number; readonly id: string; readonly isNewer: boolean } | undefined,
      limit: number
    ): Effect.Effect<ReadonlyArray<Domain>, SqlError.SqlError> => {
      const { at = 0, id = "", isNewer = false } = beyond ?? {}
      const where =
        beyond === undefined
          ? sql.literal("true")
          : isNewer
            ? sql`(created_at, id) > (${at}, ${id})`
            : sql`(created_at, id) < (${at}, ${id})`
      const order = sql.literal(isNewer ? "created_at, id" : "created_at desc, id desc")
      return Effect.map(
        sql<Row>`select * from send_domains where ${of(account)} and ${where} order by ${order} limit ${limit}`,
        (rows) => rows.map(domainOf)
      )
    },

    /** Undefined where the account has the domain, or has used the key, already. */
    insert: (domain: Domain, { ciphertext, keyId }: Sealed, request: IdempotentRequest | undefined): Found =>
      one(sql<Row>`
        insert into send_domains (id, organization_id, mode, name, region, token, selector, public_key, key_id, private_key,
          status, ownership, dkim, created_at, check_at, checks, checks_since, idempotency_key, request_digest)
        values (${domain.id}, ${domain.organizationId}, ${domain.mode}, ${domain.name}, ${domain.region}, ${domain.token},
          ${domain.selector}, ${domain.publicKey}, ${keyId}, ${ciphertext}, ${domain.stage}, ${domain.records.ownership},
          ${domain.records.dkim}, ${domain.createdAt}, ${domain.checkAt}, ${domain.checks}, ${domain.checksSince},
          ${request?.key ?? null}, ${request?.digest ?? null})
        on conflict do nothing
        returning *`),

    /** Frees keys that no longer identify their request. */
    forgetKeys: (account: Account, now: number): Effect.Effect<void, SqlError.SqlError> =>
      Effect.asVoid(sql`
        update send_domains set idempotency_key = null, request_digest = null
        where ${of(account)} and idempotency_key is not null and created_at <= ${now - idempotencyMillis}`)
  }
}

/** The statements of checks. */
const checkRows = (sql: SqlClient.SqlClient) => {
  const of = (account: Account) => accountIs(sql, account)
  return {
    /** Looks for records again, from the beginning. */
    begin: (account: Account, id: string, now: number): Found =>
      one(sql<Row>`
        update send_domains set
          status = case when status = 'failed' then 'pending' else status end,
          ownership = case when ownership = 'failed' then 'pending' else ownership end,
          dkim = case when dkim = 'failed' then 'pending' else dkim end,
          checks = 0, checks_since = ${now}, check_at = ${now + checkLeaseMillis}
        where ${of(account)} and id = ${id}
        returning *`),

    /** The domains whose time has come, leased: who fails to check one leaves it to the next. */
    due: (now: number): Effect.Effect<ReadonlyArray<Domain>, SqlError.SqlError> =>
      Effect.map(
        sql<Row>`
          update send_domains set check_at = ${now + checkLeaseMillis}
          where id in (
            select id from send_domains where check_at <= ${now} order by check_at limit ${checkBatch} for update skip locked
          )
          returning *`,
        (rows) => rows.map(domainOf)
      ),

    /** Undefined where it was deleted meanwhile. A verification is never taken back here. */
    checked: (id: string, { checkAt, checkedAt, checks, records, stage }: CheckResult): Found =>
      one(sql<Row>`
        update send_domains set
          status = case when status = 'verified' then status else ${stage} end,
          ownership = ${records.ownership}, dkim = ${records.dkim},
          checked_at = ${checkedAt}, check_at = ${checkAt}, checks = ${checks}
        where id = ${id}
        returning *`),

    /** Undefined where it was deleted meanwhile. */
    verified: (id: string, proof: Proof, { checkAt, checkedAt, checks, records }: CheckResult, now: number): Found =>
      one(sql<Row>`
        update send_domains set status = 'verified', proof = ${proof}, verified_at = coalesce(verified_at, ${now}),
          ownership = ${records.ownership}, dkim = ${records.dkim},
          checked_at = ${checkedAt}, check_at = ${checkAt}, checks = ${checks}
        where id = ${id}
        returning *`),

    /** Undefined where it was deleted meanwhile. */
    authenticated: (id: string, authentication: Authentication): Found =>
      one(sql<Row>`
        update send_domains set authentication = ${JSON.stringify(authentication)}::jsonb where id = ${id}
        returning *`),

    /** Whether it was there in that stage, and now is not. */
    remove: ({ id, stage }: Pick<Domain, "id" | "stage">): Effect.Effect<boolean, SqlError.SqlError> =>
      Effect.map(
        sql`delete from send_domains where id = ${id} and status = ${stage} returning id`,
        (rows) => rows.length > 0
      ),

    /** The sealed private key of a verified domain, with what else a signature needs. */
    signing: (account: Account, name: string) =>
      Effect.map(
        sql<{
          readonly id: string
          readonly selector: string
          readonly keyId: string
          readonly ciphertext: string
        }>`
          select id, selector, key_id as "keyId", private_key as ciphertext from send_domains
          where ${of(account)} and name = ${name} and status = 'verified'`,
        ([row]) => row
      )
  }
}

/** Makes the statements for the rest of this folder. */
export const domainRows = Effect.map(SqlClient.SqlClient, (sql) => ({ ...ownerRows(sql), ...checkRows(sql) }))

export type DomainRows = Effect.Success<typeof domainRows>
