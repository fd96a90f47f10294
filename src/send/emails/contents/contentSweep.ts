/**
 * Copies contents that are needed for longer than their stream keeps them, and erases those that are not needed any
 * more (docs/handoff.md, 1). Every process may do this: a copy is made once, and erasing twice erases nothing more.
 * Needs `SqlClient`.
 */
import { Clock, Duration, Effect, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { superviseLoop } from "../../../common/superviseLoop.ts"
import { unnest } from "../../../postgres/unnest.ts"
import { contentSweepBatch, contentSweepMillis, copiedAfterMillis, keptContentMillis } from "./limits.ts"
import type { ContentsUnavailable } from "./MessageContents.ts"

/** The pause after a failure. */
const sweepRetryMillis = 60_000

/** The encrypted contents that the stream has, by their pointers. */
export type ContentsAt = (
  pointers: ReadonlyArray<string>
) => Effect.Effect<ReadonlyMap<string, Uint8Array>, ContentsUnavailable>

/** Notes the emails that have been in the work queue for long, and ends the rows of those whose job went meanwhile. */
const noteQueued = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, now: number) {
  yield* sql`
    insert into send_waiting (organization_id, email_id, mode, sender, pointer, accepted_at)
    select regexp_replace(group_key, '/[^/]*$', ''), payload::json->>'email', substring(group_key from '[^/]*$'), '',
      payload::json->>'pointer', (payload::json->>'acceptedAt')::int8
    from send_jobs
    where group_key !~ '/notices$' and (payload::json->>'acceptedAt')::int8 < ${now - copiedAfterMillis}
    on conflict do nothing`
  yield* sql`
    update send_waiting w set ended_at = ${now}
    where w.ended_at is null and w.sender = ''
      and not exists (select 1 from send_jobs j where j.id = w.organization_id || '/' || w.email_id)`
})

interface Uncopied {
  readonly organization: string
  readonly email: string
  readonly pointer: string
  readonly acceptedAt: number
}

const copy = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, contentsAt: ContentsAt, now: number) {
  let after = { acceptedAt: -1, email: "" }
  for (;;) {
    const rows = yield* sql<Uncopied>`
      select organization_id as organization, email_id as email, pointer, accepted_at as "acceptedAt" from send_waiting
      where content is null and ended_at is null and accepted_at < ${now - copiedAfterMillis}
        and (accepted_at, email_id) > (${after.acceptedAt}, ${after.email})
      order by accepted_at, email_id limit ${contentSweepBatch}`
    const contents = yield* contentsAt(rows.map(({ pointer }) => pointer))
    const found = rows.flatMap(({ email, organization, pointer }) => {
      const content = contents.get(pointer)
      return content === undefined ? [] : [{ organization_id: organization, email_id: email, content }]
    })
    if (found.length > 0)
      yield* sql`
        update send_waiting w set content = batch.content
        from ${unnest(found, { organization_id: "text", email_id: "text", content: "bytea" })}
        where w.organization_id = batch.organization_id and w.email_id = batch.email_id`
    const last = rows.at(-1)
    if (last === undefined || rows.length < contentSweepBatch) return
    after = last
  }
})

const erase = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, now: number) {
  for (;;) {
    const gone = yield* sql`
      delete from send_waiting where ctid = any(array(
        select ctid from send_waiting where ended_at < ${now - keptContentMillis} limit ${contentSweepBatch}
      )) returning 1`
    if (gone.length < contentSweepBatch) return
  }
})

/** One round. */
export const sweep = (sql: SqlClient.SqlClient, contentsAt: ContentsAt) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* noteQueued(sql, now)
    yield* copy(sql, contentsAt, now)
    yield* erase(sql, now)
  })

/** Sweeps at the start and every hour until the scope ends. */
export const start = (sql: SqlClient.SqlClient, contentsAt: ContentsAt): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.forkScoped(
      superviseLoop(Effect.andThen(sweep(sql, contentsAt), Effect.sleep(Duration.millis(contentSweepMillis))), {
        failed: "contents of emails could not be copied or erased",
        retryMillis: sweepRetryMillis
      })
    )
  )
