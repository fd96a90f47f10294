/**
 * Stores organizations in PostgreSQL (docs/platform.md, 2.1). The admin API and the command line use this one service.
 * Needs `SqlClient` and `OrganizationPlans`.
 */
import { domainToUnicode } from "node:url"
import { Clock, Context, Data, DateTime, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomText } from "../common/identifiers.ts"
import { type IdempotencyConflict, type IdempotentRequest, replayOf } from "../http/idempotency.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import type { Organization, PlatformPlan, Risk, SendPlan } from "./model.ts"
import { OrganizationPlans, type PlansUnavailable } from "./OrganizationPlans.ts"
import { conditionsOf } from "./organizationSearch.ts"

/** No organization has this id. */
export class OrganizationNotFound extends Data.TaggedError("OrganizationNotFound")<{ readonly id: string }> {
  override get message(): string {
    return `No organization has the id ${JSON.stringify(this.id)}.`
  }
}

/** The organization to delete has another name. */
export class NameDiffers extends Data.TaggedError("NameDiffers")<{ readonly id: string }> {
  override get message(): string {
    return `The organization ${this.id} has another name.`
  }
}

/** A deleted organization. Times are Unix milliseconds. */
export interface Deleted {
  readonly id: string
  readonly deletedAt: number
  /** When the last of its data was erased; null while something is left. */
  readonly erasedAt: number | null
}

export interface NewOrganization {
  readonly name: string
  readonly email: string | null
  readonly plan: PlatformPlan
  readonly sendPlan: SendPlan
  /** An effect is part of the transaction that creates the organization, and is not run for a repeat. */
  readonly risk: Risk | Effect.Effect<Risk, SqlError.SqlError>
}

/** A page of a cursor list. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

interface Row {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly plan: PlatformPlan
  readonly send_plan: SendPlan
  readonly risk: Risk
  readonly requests_per_minute: string | null
  readonly created_at: Date
  readonly request_digest: string | null
}

const fromRow = (row: Row): Organization => ({
  id: row.id,
  name: row.name,
  email: row.email,
  plan: row.plan,
  sendPlan: row.send_plan,
  risk: row.risk,
  requestsPerMinute:
    row.requests_per_minute === null || row.requests_per_minute === "unlimited"
      ? row.requests_per_minute
      : Number(row.requests_per_minute),
  createdAt: row.created_at.getTime()
})

const list = "organizations"

/** Names the advisory locks of address domains among all locks of the database. */
const signUpsLock = 7_305_553

export class Organizations extends Context.Service<
  Organizations,
  {
    /**
     * Creates an organization; a repeat with the same idempotency key returns the first one. `also` is part of the
     * transaction that creates it. Not for requests that have a transaction open: the engine reads its data from the
     * same pool, and would wait for connections that they hold.
     */
    readonly create: (
      organization: NewOrganization,
      idempotent?: IdempotentRequest,
      also?: (made: Organization) => Effect.Effect<void, SqlError.SqlError>
    ) => Effect.Effect<
      { readonly organization: Organization; readonly replayed: boolean },
      IdempotencyConflict | PlansUnavailable | SqlError.SqlError
    >
    /** Lists organizations, newest first: all, those that a text finds, or those with a rate of their own. */
    readonly list: (options: {
      readonly limit: number
      readonly cursor: string | undefined
      readonly search?: string | undefined
      readonly hasOwnRate?: boolean | undefined
      /** The name of another list of the same items, whose cursors are its own. */
      readonly listName?: string | undefined
    }) => Effect.Effect<Page<Organization>, InvalidCursor | SqlError.SqlError>
    readonly get: (id: string) => Effect.Effect<Organization, OrganizationNotFound | SqlError.SqlError>
    /**
     * Counts organizations with an address of this domain, in lower case and punycode, created since an instant in Unix
     * milliseconds. In a transaction, other such calls wait for its end, so that of organizations created concurrently
     * each is counted by the next.
     */
    readonly madeSince: (domain: string, since: number) => Effect.Effect<number, SqlError.SqlError>
    /**
     * Marks an organization as deleted: from then on no other function here finds it, and `isNew` is false in the
     * answer to a repeat. With a `name` it must be the organization's.
     */
    readonly markDeleted: (
      id: string,
      name: string | undefined
    ) => Effect.Effect<Deleted & { readonly isNew: boolean }, OrganizationNotFound | NameDiffers | SqlError.SqlError>
    /**
     * Forgets name and address of a deleted organization without any other data, and returns when that was first done.
     */
    readonly markErased: (id: string) => Effect.Effect<number, SqlError.SqlError>
    /** Whether there is no organization: a first start. */
    readonly isEmpty: Effect.Effect<boolean, SqlError.SqlError>
  }
>()("sluice/platform/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const cursors = yield* PageCursors
      const plans = yield* OrganizationPlans

      const create: Organizations["Service"]["create"] = Effect.fn("Organizations.create")(function* (
        organization,
        idempotent,
        also = () => Effect.void
      ) {
        const now = DateTime.toDateUtc(DateTime.makeUnsafe(yield* Clock.currentTimeMillis))
        const earlierBy = (key: string) => sql<Row>`select * from organizations where idempotency_key = ${key}`
        const replay = (row: Row | undefined) =>
          Effect.map(replayOf(idempotent, row, row?.request_digest), (made) => ({
            organization: fromRow(made),
            replayed: true
          }))
        if (idempotent !== undefined) {
          const [row] = yield* earlierBy(idempotent.key)
          if (row !== undefined) return yield* replay(row)
        }
        const id = `org_${randomText()}`
        // Store the fact first, so that every listed organization has its plans in the log.
        yield* plans.setPlans(id, { plan: organization.plan, sendPlan: organization.sendPlan })
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            const risk = typeof organization.risk === "string" ? organization.risk : yield* organization.risk
            const inserted = yield* sql<Row>`
                insert into organizations
                  (id, name, email, plan, send_plan, risk, created_at, idempotency_key, request_digest)
                values (${id}, ${organization.name}, ${organization.email}, ${organization.plan},
                  ${organization.sendPlan}, ${risk}, ${now},
                  ${idempotent?.key ?? null}, ${idempotent?.digest ?? null})
                on conflict (idempotency_key) do nothing
                returning *`
            if (inserted[0] !== undefined) {
              const made = fromRow(inserted[0])
              yield* also(made)
              return { organization: made, replayed: false }
            }
            // Another request with the same key was faster.
            const [row] = yield* earlierBy(idempotent?.key ?? "")
            return yield* replay(row)
          })
        )
      })

      const get: Organizations["Service"]["get"] = Effect.fn("Organizations.get")(function* (id) {
        const rows = yield* sql<Row>`select * from organizations where id = ${id} and deleted_at is null`
        return rows[0] === undefined ? yield* new OrganizationNotFound({ id }) : fromRow(rows[0])
      })

      const madeSince: Organizations["Service"]["madeSince"] = Effect.fn("Organizations.madeSince")(
        function* (domain, since) {
          const forms = [...new Set([domain, domainToUnicode(domain)])]
          yield* sql`select pg_advisory_xact_lock(${signUpsLock}, hashtext(${domain}))`
          const [row] = yield* sql<{ readonly made: number }>`
            select count(*)::int4 as made from organizations
            where created_at > ${new Date(since)} and lower(split_part(email, '@', 2)) in ${sql.in(forms)}`
          return row?.made ?? 0
        }
      )

      return Organizations.of({
        create,
        ...makeDeletion(sql),
        madeSince,
        list: makeList(sql, cursors),
        get,
        isEmpty: Effect.map(sql`select 1 from organizations limit 1`, (rows) => rows.length === 0)
      })
    })
  )
}

/** Lists the newest organizations that fulfil the filters. */
const makeList = (sql: SqlClient.SqlClient, cursors: PageCursors["Service"]): Organizations["Service"]["list"] =>
  Effect.fn("Organizations.list")(function* (options) {
    const { cursor, hasOwnRate = false, limit, listName = list, search } = options
    const name = search === undefined && !hasOwnRate ? listName : JSON.stringify([listName, search, hasOwnRate])
    const position = Option.getOrUndefined(yield* cursors.decode(name, cursor))
    const conditions = [
      sql`deleted_at is null`,
      ...(hasOwnRate ? [sql`requests_per_minute is not null`] : []),
      ...(position === undefined ? [] : [sql`(created_at, id) < (${new Date(position.atMillis)}, ${position.id})`])
    ]
    const newest = sql`order by created_at desc, id desc limit ${limit + 1}`
    const halves = (search === undefined ? [] : conditionsOf(sql, search)).map(
      (found) => sql`(select * from organizations where ${sql.and([...conditions, found])} ${newest})`
    )
    const rows = yield* halves.length === 0
      ? sql<Row>`select * from organizations where ${sql.and(conditions)} ${newest}`
      : sql<Row>`select * from (${halves[0]!}${halves[1] === undefined ? sql`` : sql` union ${halves[1]}`}) as found
        ${newest}`.unprepared
    return pageOf(rows.map(fromRow), limit, (last) => cursors.encode(name, { atMillis: last.createdAt, id: last.id }))
  })

const makeDeletion = (sql: SqlClient.SqlClient) => {
  const markDeleted: Organizations["Service"]["markDeleted"] = Effect.fn("Organizations.markDeleted")(function* (
    id,
    name
  ) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const [row] = yield* sql<Row & { readonly deleted_at: Date | null; readonly erased_at: Date | null }>`
        select * from organizations where id = ${id} for update`
    if (row === undefined) return yield* new OrganizationNotFound({ id })
    if (name !== undefined && row.erased_at === null && name !== row.name) return yield* new NameDiffers({ id })
    yield* sql`
        update organizations set deleted_at = coalesce(deleted_at, ${now}), idempotency_key = null, request_digest = null
        where id = ${id}`
    return {
      id,
      deletedAt: (row.deleted_at ?? now).getTime(),
      erasedAt: row.erased_at?.getTime() ?? null,
      isNew: row.deleted_at === null
    }
  }, sql.withTransaction)

  const markErased = Effect.fn("Organizations.markErased")(function* (id: string) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* sql<{ readonly erased_at: Date }>`
      update organizations set name = '', email = null, erased_at = coalesce(erased_at, ${new Date(now)})
      where id = ${id} and deleted_at is not null returning erased_at`
    return row?.erased_at.getTime() ?? now
  })

  return { markDeleted, markErased }
}
