/**
 * Keeps organizations' own numbers (docs/platform.md, 4.4): operators import them, look-ups and searches read them.
 * Needs `SqlClient` and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { BoundedMap } from "../common/BoundedMap.ts"
import { type InvalidCursor, PageCursors, pageOf } from "../http/PageCursors.ts"
import { isStoreFailure } from "../postgres/transactions.ts"
import { unnest } from "../postgres/unnest.ts"

/** Most numbers in one request. A larger file is imported in several requests. */
export const maximumNumbers = 5_000

/** Organizations without numbers that are remembered, and for how long that counts while the database is away. */
const maximumRemembered = 20_000
const rememberedMillis = 10_000

/** The organization has no such number. */
export class NumberNotFound extends Data.TaggedError("NumberNotFound")<{ readonly tn: string }> {
  override get message(): string {
    return `The number ${this.tn} is not in the organization's inventory.`
  }
}

/** A number of the inventory, as operators see it. */
export interface InventoryNumber {
  readonly tn: string
  /** Milliseconds since the Unix epoch. */
  readonly addedAt: number
}

/** Which numbers are wanted. They combine. */
export interface InventoryFilter {
  /** Area code, 3 digits. */
  readonly npa?: string | undefined
  /** NPA-NXX codes, 6 digits each, of which a number must have one. */
  readonly codes?: ReadonlyArray<string> | undefined
}

export class Inventory extends Context.Service<
  Inventory,
  {
    /** Adds numbers, 10 digits each, at most `maximumNumbers`; answers how many were new. */
    readonly add: (organizationId: string, numbers: ReadonlyArray<string>) => Effect.Effect<number, SqlError.SqlError>
    readonly remove: (organizationId: string, tn: string) => Effect.Effect<void, NumberNotFound | SqlError.SqlError>
    /**
     * Whether the organization has the number. While the database is away, an organization that had no number at all in
     * the last ten seconds is taken to have none: nothing can be added now, and only what another node added in these
     * seconds is missed.
     */
    readonly has: (organizationId: string, tn: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** Answers the given numbers, at most `maximumNumbers`, that the organization has. Otherwise as `has`. */
    readonly among: (
      organizationId: string,
      numbers: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlySet<string>, SqlError.SqlError>
    /** Lists numbers in ascending order. */
    readonly list: (
      organizationId: string,
      options: { readonly limit: number; readonly cursor: string | undefined }
    ) => Effect.Effect<
      {
        readonly data: ReadonlyArray<InventoryNumber>
        readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
      },
      InvalidCursor | SqlError.SqlError
    >
    /** Answers a page in ascending order, and how many numbers match. */
    readonly search: (
      organizationId: string,
      filter: InventoryFilter,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly numbers: ReadonlyArray<string>; readonly total: number }, SqlError.SqlError>
  }
>()("sluice/telco/Inventory") {
  static readonly layer: Layer.Layer<Inventory, never, SqlClient.SqlClient | PageCursors> = Layer.effect(
    Inventory,
    Effect.suspend(() => make)
  )
}

const listOf = (organizationId: string): string => `numbers of ${organizationId}`

/** Tells which numbers an organization has, also while the database is away and it had none just before. */
const makeHoldings = (sql: SqlClient.SqlClient, withoutNumbers: BoundedMap<string, number>) => {
  /** Remembers whether there is any number; undefined where the database is away and there was none just now. */
  const remembering = Effect.fnUntraced(function* <A extends { readonly isEmpty: boolean }>(
    organizationId: string,
    query: Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>
  ) {
    const asked = yield* Clock.currentTimeMillis
    const found = yield* query.pipe(
      Effect.map(([row]) => row!),
      Effect.catchIf(
        (error) =>
          isStoreFailure(error) &&
          asked - (withoutNumbers.get(organizationId) ?? Number.NEGATIVE_INFINITY) < rememberedMillis,
        () => Effect.succeed(undefined)
      )
    )
    if (found?.isEmpty === true) withoutNumbers.set(organizationId, asked)
    else if (found !== undefined) withoutNumbers.delete(organizationId)
    return found
  })

  const isEmpty = (organizationId: string) =>
    sql`not exists (select from telco_numbers where organization_id = ${organizationId}) as "isEmpty"`

  const has = (organizationId: string, tn: string) =>
    remembering(
      organizationId,
      sql<{ readonly has: boolean; readonly isEmpty: boolean }>`
        select exists (select from telco_numbers where organization_id = ${organizationId} and tn = ${tn}) as has,
          ${isEmpty(organizationId)}`
    ).pipe(Effect.map((found) => found?.has === true))

  const among = Effect.fnUntraced(function* (organizationId: string, numbers: ReadonlyArray<string>) {
    if (numbers.length > maximumNumbers) return yield* Effect.die(new RangeError(`${numbers.length} numbers at once`))
    const found = yield* remembering(
      organizationId,
      sql<{ readonly held: ReadonlyArray<string>; readonly isEmpty: boolean }>`
        select array(
          select tn from telco_numbers where organization_id = ${organizationId} and tn = any(${numbers}::text[])
        ) as held, ${isEmpty(organizationId)}`
    )
    return new Set(found?.held)
  })

  return { has, among }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* PageCursors

  /** When organizations were last seen without any number. */
  const withoutNumbers = new BoundedMap<string, number>(maximumRemembered)

  const add = Effect.fn("Inventory.add")(function* (organizationId: string, numbers: ReadonlyArray<string>) {
    if (numbers.length > maximumNumbers) return yield* Effect.die(new RangeError(`${numbers.length} numbers at once`))
    const now = yield* Clock.currentTimeMillis
    const added = yield* sql`
      insert into telco_numbers (organization_id, tn, added_at)
      select ${organizationId}, tn, ${now}::int8 from ${unnest(
        numbers.map((tn) => ({ tn })),
        { tn: "text" }
      )}
      on conflict do nothing returning 1`
    withoutNumbers.delete(organizationId)
    return added.length
  })

  const remove = Effect.fn("Inventory.remove")(function* (organizationId: string, tn: string) {
    const removed = yield* sql`
      delete from telco_numbers where organization_id = ${organizationId} and tn = ${tn} returning 1`
    if (removed.length === 0) return yield* new NumberNotFound({ tn })
  })

  const { among, has } = makeHoldings(sql, withoutNumbers)

  const list: Inventory["Service"]["list"] = Effect.fn("Inventory.list")(function* (organizationId, { cursor, limit }) {
    const name = listOf(organizationId)
    const after = Option.getOrUndefined(yield* cursors.decode(name, cursor))?.id ?? ""
    const rows = yield* sql<InventoryNumber>`
        select tn, added_at as "addedAt" from telco_numbers
        where organization_id = ${organizationId} and tn > ${after} order by tn limit ${limit + 1}`
    return pageOf(rows, limit, ({ addedAt, tn }) => cursors.encode(name, { atMillis: addedAt, id: tn }))
  })

  const search: Inventory["Service"]["search"] = Effect.fn("Inventory.search")(function* (
    organizationId,
    { codes, npa },
    { limit, offset }
  ) {
    const where = sql.and([
      sql`organization_id = ${organizationId}`,
      ...(npa === undefined ? [] : [sql`tn >= ${npa} and tn < ${`${npa}:`}`]),
      ...(codes === undefined ? [] : [sql`substr(tn, 1, 6) = any(${codes}::text[])`])
    ])
    const rows = yield* sql<{ readonly tn: string }>`
        select tn from telco_numbers where ${where} order by tn limit ${limit} offset ${offset}`
    const [counted] = yield* sql<{ readonly total: number }>`
        select count(*) as total from telco_numbers where ${where}`
    return { numbers: rows.map(({ tn }) => tn), total: counted!.total }
  })

  return Inventory.of({ add, remove, has, among, list, search })
})
