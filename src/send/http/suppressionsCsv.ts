/**
 * Writes an account's suppression list as CSV (docs/platform.md, 9.15): oldest first, read in pages as the caller takes
 * them, so that neither a long list nor a slow caller takes memory. Needs no service.
 */
import { Effect, Option, type Scope, Stream } from "effect"
import type { SqlError } from "effect/sql"
import { type BulkheadFull, makeRefusingBulkhead } from "../../common/Bulkhead.ts"
import type { SuppressionList } from "../account/suppressions/SuppressionList.ts"
import type { Origin, Suppression } from "../account/suppressions/suppression.ts"
import type { Account } from "../senders/domains/model.ts"
import { csvPlaces } from "./csvExport.ts"

/** Addresses of one page. */
const pageRows = 1_000

/** The first line. */
export const csvHeading = "email,origin,created_at"

// An address of the list has neither commas nor quotes.
const lineOf = ({ createdAt, email, origin }: Suppression): string =>
  `${email},${origin},${new Date(createdAt).toISOString()}\r\n`

export type SuppressionsCsv = (
  account: Account,
  origin: Origin | undefined
) => Effect.Effect<Stream.Stream<Uint8Array, SqlError.SqlError>, SqlError.SqlError | BulkheadFull, Scope.Scope>

/** Makes the writer. A list keeps its place until the scope ends; the first page is read before it begins. */
export const makeSuppressionsCsv = ({ page }: SuppressionList["Service"]): SuppressionsCsv => {
  const take = makeRefusingBulkhead(csvPlaces)
  return Effect.fnUntraced(function* (account, origin) {
    yield* take(account.organizationId)
    const pageAfter = (last: Suppression | undefined) =>
      page(account, origin, { at: last?.createdAt ?? -1, id: last?.id ?? "", isNewer: true }, pageRows)
    const first = yield* pageAfter(undefined)
    const rest = (rows: ReadonlyArray<Suppression>) =>
      [rows.map(lineOf), rows.length < pageRows ? Option.none() : Option.some(rows.at(-1))] as const
    const behind =
      first.length < pageRows
        ? Stream.empty
        : Stream.paginate(first.at(-1), (last) => Effect.map(pageAfter(last), rest))
    return Stream.concat(Stream.fromIterable([`${csvHeading}\r\n`, ...first.map(lineOf)]), behind).pipe(
      Stream.encodeText
    )
  })
}
