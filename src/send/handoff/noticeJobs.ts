/** Queues a notice at most once, however often its cause is reported (docs/handoff.md, 4). Needs `SqlClient`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { NewJob } from "../../postgres/WorkQueue.ts"
import { encodeNotice, groupOf, handoffLanes, type Notice } from "./jobs.ts"
import { rememberedNoticeMillis } from "./limits.ts"

/** None where the notice was ordered before. To be put in by the transaction that it is called in. */
export const noticeJobs = Effect.fnUntraced(function* (
  id: string,
  organization: string,
  partition: number,
  notice: Notice
) {
  const sql = yield* SqlClient.SqlClient
  const [isNew] = yield* sql`
    insert into send_notices (id, created_at) values (${id}, ${notice.at}) on conflict do nothing returning id`
  if (isNew === undefined) return []
  yield* sql`delete from send_notices where created_at < ${notice.at - rememberedNoticeMillis}`
  const job: NewJob = {
    id,
    partition,
    group: groupOf(organization, "notices"),
    lane: handoffLanes.first,
    dueAt: notice.at,
    expiresAt: null,
    payload: encodeNotice(notice)
  }
  return [job]
})
