/**
 * Writes a list of emails as CSV (docs/platform.md, 9.20): newest first, read in pages as the caller takes them, so that
 * neither a long list nor a slow caller takes memory. Needs no service.
 */
import { Effect, Option, type Scope, Stream } from "effect"
import { type BulkheadFull, makeRefusingBulkhead } from "../../common/Bulkhead.ts"
import { csvLine } from "../../http/csvLine.ts"
import type { EmailOwner } from "../emails/AcceptEmails.ts"
import type { EmailPageOptions, Emails, EmailView } from "../emails/Emails.ts"
import { csvPlaces } from "./csvExport.ts"

/** Most emails of one file. */
export const maximumCsvEmails = 100_000

/** Emails of one page. */
const pageRows = 500

const columns = ["id", "state", "from", "to", "cc", "bcc", "subject", "created_at", "scheduled_at", "key_id"] as const

const iso = (millis: number | null): string | null => (millis === null ? null : new Date(millis).toISOString())

const lineOf = ({ acceptedAt, id, message, scheduledAt, state }: EmailView): string =>
  csvLine([
    id,
    state,
    message?.from ?? null,
    message?.to.join(", ") ?? null,
    message?.cc.join(", ") ?? null,
    message?.bcc.join(", ") ?? null,
    message?.subject ?? null,
    iso(acceptedAt),
    iso(scheduledAt),
    message?.keyId ?? null
  ])

type ListError = Effect.Error<ReturnType<Emails["Service"]["list"]>>

export type EmailsCsv = (
  owner: EmailOwner,
  filter: Omit<EmailPageOptions, "after" | "before" | "cursor" | "limit">
) => Effect.Effect<Stream.Stream<Uint8Array, ListError>, ListError | BulkheadFull, Scope.Scope>

/** Makes the writer. A list keeps its place until the scope ends; the first page is read before it begins. */
export const makeEmailsCsv = ({ list }: Pick<Emails["Service"], "list">): EmailsCsv => {
  const take = makeRefusingBulkhead(csvPlaces)
  return Effect.fnUntraced(function* (owner, filter) {
    yield* take(owner.organizationId)
    const pageAt = (cursor: string | undefined) => list(owner, { ...filter, cursor, limit: pageRows })
    const first = yield* pageAt(undefined)
    const behind = Stream.paginate(first.pagination.nextCursor, (cursor) =>
      cursor === undefined
        ? Effect.succeed([[], Option.none()] as const)
        : Effect.map(pageAt(cursor), ({ data, pagination: { nextCursor } }) => [
            data.map(lineOf),
            nextCursor === undefined ? Option.none() : Option.some<string | undefined>(nextCursor)
          ])
    )
    const lines = Stream.concat(Stream.fromIterable(first.data.map(lineOf)), behind)
    return Stream.concat(Stream.succeed(csvLine(columns)), Stream.take(lines, maximumCsvEmails)).pipe(Stream.encodeText)
  })
}
