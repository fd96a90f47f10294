/**
 * Stores credentials of other product sites (docs/platform.md, 2.8): each acts for one organization, is made at random,
 * shown once and stored as SHA-256 only. A site asks far less often than a client, so each use is looked up in the
 * database. Needs `SqlClient`, `Organizations` and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Option, Schema, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { keyDigest, randomText } from "../common/identifiers.ts"
import { type IdempotencyConflict, type IdempotentRequest, replayOf } from "../http/idempotency.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import { type OrganizationNotFound, Organizations, type Page } from "./Organizations.ts"

/** Concurrent look-ups in the database; more wait. */
const maximumLookups = 16
/** How long a look-up may take, including its wait for a place. */
const lookupTimeoutMillis = 5_000
/** Look-ups that may wait. Beyond that the credential cannot be checked now. */
const maximumWaiting = 256
/** Characters of a credential that are stored to tell credentials apart: `site_` and four more. */
const shownPrefixLength = 9

const credentialPattern = /^site_[A-Za-z0-9]{22,128}$/

/** A listed credential: everything but its text, of which only a digest is stored. */
export const SiteCredential = Schema.Struct({
  id: Schema.String.annotate({ description: "sic_…" }),
  organizationId: Schema.String,
  name: Schema.NullOr(Schema.String),
  prefix: Schema.String.annotate({ description: "First characters of the credential, to tell credentials apart" }),
  active: Schema.Boolean,
  createdAt: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })
}).annotate({ identifier: "SiteCredential" })
export type SiteCredential = typeof SiteCredential.Type

/** The organization for which a site acts. */
export interface Site {
  readonly credentialId: string
  readonly organizationId: string
}

/** No credential has this id. */
export class SiteCredentialNotFound extends Data.TaggedError("SiteCredentialNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No site credential has the id ${JSON.stringify(this.id)}.`
  }
}

/** The credential could not be checked now. */
export class SiteUncheckable extends Data.TaggedError("SiteUncheckable") {}

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly name: string | null
  readonly prefix: string
  readonly active: boolean
  readonly created_at: Date
  readonly request_digest: string | null
}

const fromRow = (row: Row): SiteCredential => ({
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  prefix: row.prefix,
  active: row.active,
  createdAt: row.created_at.getTime()
})

export class SiteCredentials extends Context.Service<
  SiteCredentials,
  {
    /**
     * Creates a credential. `credential` is its text, which is never shown again; null when this repeats an earlier
     * request.
     */
    readonly create: (
      organizationId: string,
      name: string | null,
      idempotent?: IdempotentRequest
    ) => Effect.Effect<
      { readonly site: SiteCredential; readonly credential: string | null },
      OrganizationNotFound | IdempotencyConflict | SqlError.SqlError
    >
    /** Lists an organization's credentials, newest first, revoked ones too. */
    readonly list: (options: {
      readonly organizationId: string
      readonly limit: number
      readonly cursor: string | undefined
    }) => Effect.Effect<Page<SiteCredential>, OrganizationNotFound | InvalidCursor | SqlError.SqlError>
    /** Ends a credential for good, from the next request on. Revoking a revoked one changes nothing. */
    readonly revoke: (id: string) => Effect.Effect<SiteCredential, SiteCredentialNotFound | SqlError.SqlError>
    /** The organization for which the bearer of this text acts; null if there is none. */
    readonly verify: (credential: string) => Effect.Effect<Site | null, SiteUncheckable>
  }
>()("sluice/platform/SiteCredentials") {
  static readonly layer = Layer.effect(
    SiteCredentials,
    Effect.suspend(() => make)
  )
}

/** Makes the check of a credential's text, with a bound on unauthenticated look-ups. */
const makeVerify = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const lookups = yield* Semaphore.make(maximumLookups)
  let waiting = 0
  const lookUp = Effect.fnUntraced(function* (digest: string) {
    const [row] = yield* sql<{ readonly id: string; readonly organization_id: string }>`
      select id, organization_id from site_credentials where digest = ${digest} and active`
    return row === undefined ? null : { credentialId: row.id, organizationId: row.organization_id }
  })
  return Effect.fn("SiteCredentials.verify")(function* (credential: string) {
    if (!credentialPattern.test(credential)) return null
    if (waiting >= maximumWaiting) return yield* new SiteUncheckable()
    waiting++
    return yield* lookUp(keyDigest(credential)).pipe(
      lookups.withPermit,
      Effect.timeout(lookupTimeoutMillis),
      Effect.tapCause((cause) => Effect.logWarning("A site credential could not be looked up", cause)),
      Effect.mapError(() => new SiteUncheckable()),
      Effect.ensuring(Effect.sync(() => waiting--))
    )
  })
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const organizations = yield* Organizations
  const cursors = yield* PageCursors

  const create: SiteCredentials["Service"]["create"] = Effect.fn("SiteCredentials.create")(function* (
    organizationId,
    name,
    idempotent
  ) {
    yield* organizations.get(organizationId)
    const now = new Date(yield* Clock.currentTimeMillis)
    const credential = `site_${randomText()}`
    const [inserted] = yield* sql<Row>`
      insert into site_credentials (id, organization_id, name, prefix, digest, created_at, idempotency_key, request_digest)
      values (${`sic_${randomText()}`}, ${organizationId}, ${name}, ${credential.slice(0, shownPrefixLength)},
        ${keyDigest(credential)}, ${now}, ${idempotent?.key ?? null}, ${idempotent?.digest ?? null})
      on conflict (organization_id, idempotency_key) do nothing
      returning *`
    if (inserted !== undefined) return { site: fromRow(inserted), credential }
    const [earlier] = yield* sql<Row>`
      select * from site_credentials
      where organization_id = ${organizationId} and idempotency_key = ${idempotent?.key ?? null}`
    return { site: fromRow(yield* replayOf(idempotent, earlier, earlier?.request_digest)), credential: null }
  }, sql.withTransaction)

  const list: SiteCredentials["Service"]["list"] = Effect.fn("SiteCredentials.list")(function* (options) {
    const { cursor, limit, organizationId } = options
    yield* organizations.get(organizationId)
    const name = `site credentials ${organizationId}`
    const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
    const rows = yield* position === undefined
      ? sql<Row>`
          select * from site_credentials where organization_id = ${organizationId}
          order by created_at desc, id desc limit ${limit + 1}`
      : sql<Row>`
          select * from site_credentials
          where organization_id = ${organizationId}
            and (created_at, id) < (${new Date(position.atMillis)}, ${position.id})
          order by created_at desc, id desc limit ${limit + 1}`
    return pageOf(rows.map(fromRow), limit, (last) => cursors.encode(name, { atMillis: last.createdAt, id: last.id }))
  })

  const revoke: SiteCredentials["Service"]["revoke"] = Effect.fn("SiteCredentials.revoke")(function* (id) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const [row] = yield* sql<Row>`
      update site_credentials set active = false, revoked_at = coalesce(revoked_at, ${now})
      where id = ${id} returning *`
    return row === undefined ? yield* new SiteCredentialNotFound({ id }) : fromRow(row)
  })

  return SiteCredentials.of({ create, list, revoke, verify: yield* makeVerify(sql) })
})
