/**
 * Adds terms to rows of the search that were written without (docs/platform.md, 9.20): of emails that another node
 * accepted, or whose process ended. It reads their contents. Every node may do this; doing it twice changes nothing
 * more. Needs `SqlClient`, `MessageContents` and `AcceptedTerms`.
 */
import { Duration, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { unnest } from "../../postgres/unnest.ts"
import { AcceptedTerms } from "../search/AcceptedTerms.ts"
import { termsOf } from "../search/searchTerms.ts"
import { type ContentsUnavailable, MessageContents } from "./contents/MessageContents.ts"
import { emailTermsTable } from "./searchTable.ts"
import { emailsTable } from "./table.ts"
import { arrayText } from "./writeTerms.ts"

/** Rows of one statement, and contents that are read together. */
const batchRows = 200

/** The longest time until it looks: another node may have ended without having read. */
const lookMillis = 60_000

const retryMillis = 5_000

interface Missing {
  readonly organization: string
  readonly mode: string
  readonly acceptedAt: number
  readonly id: string
  /** Null where the email is not kept any more. */
  readonly pointer: string | null
}

const columns = { organization_id: "text", mode: "text", accepted_at: "int8", id: "text" } as const

const keyOf = ({ acceptedAt, id, mode, organization }: Missing) => ({
  organization_id: organization,
  mode,
  accepted_at: acceptedAt,
  id
})

type Failure = SqlError.SqlError | ContentsUnavailable

const makeRound = (sql: SqlClient.SqlClient, contents: MessageContents["Service"]) => {
  const missing = sql<Missing>`
    select t.organization_id as organization, t.mode, t.accepted_at as "acceptedAt", t.id, e.pointer
    from ${sql(emailTermsTable)} t
    left join ${sql(emailsTable)} e on e.organization_id = t.organization_id and e.id = t.id
    where t.terms is null order by t.accepted_at limit ${batchRows}`

  const digestsOf = Effect.fnUntraced(function* (organization: string, emails: ReadonlyArray<Missing>) {
    const messages = yield* contents.read(
      organization,
      emails.map(({ pointer }) => pointer ?? "")
    )
    return yield* Effect.forEach(emails, (email, index) => {
      const message = messages[index]
      if (message == null) return Effect.succeed({ ...keyOf(email), terms: arrayText([]) })
      return Effect.map(contents.digests(organization, termsOf(message)), (digests) => ({
        ...keyOf(email),
        terms: arrayText(digests)
      }))
    })
  })

  /** Adds the terms of some rows; how many rows there were. */
  return Effect.gen(function* (): Effect.fn.Return<number, Failure> {
    const rows = yield* missing
    const byOrganization = Map.groupBy(rows, ({ organization }) => organization)
    const found = yield* Effect.forEach(byOrganization, ([organization, emails]) => digestsOf(organization, emails))
    if (rows.length > 0)
      yield* sql`
        update ${sql(emailTermsTable)} t set terms = batch.terms::int4[]
        from ${unnest(found.flat(), { ...columns, terms: "text" })}
        where t.organization_id = batch.organization_id and t.mode = batch.mode
          and t.accepted_at = batch.accepted_at and t.id = batch.id and t.terms is null`.unprepared
    return rows.length
  })
}

/** One round after the other until no row is without terms. */
export const sweepTerms = (
  sql: SqlClient.SqlClient,
  contents: MessageContents["Service"]
): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const round = makeRound(sql, contents)
    while ((yield* round) === batchRows);
  })

/** Sweeps at the start, whenever rows were written without terms, and every minute. */
export const layerTermsSweep: Layer.Layer<never, never, SqlClient.SqlClient | MessageContents | AcceptedTerms> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sweep = sweepTerms(yield* SqlClient.SqlClient, yield* MessageContents)
      const { awaitMissed } = yield* AcceptedTerms
      const pause = Effect.race(awaitMissed, Effect.sleep(Duration.millis(lookMillis)))
      yield* Effect.forkScoped(
        superviseLoop(Effect.andThen(sweep, pause), { failed: "terms of emails could not be added", retryMillis })
      )
    })
  )
