/** Replays on the real database: each is sent once, also beside another worker and after a stop at any place. */

import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { make } from "../../../src/webhooks/replay/runReplays.ts"
import { query } from "../../cli/support.ts"
import { putEvents } from "../delivery/rows.ts"
import { useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()
const db = () => platform().databaseUrl

/** A replay of `count` events that nobody was told of. */
const waiting = async (count: number) => {
  const { endpoint, organization } = await platform().tenant()
  const endpointId = await endpoint()
  const since = Date.now() - 1_000
  const events = await putEvents(
    db(),
    organization,
    Array.from({ length: count }, (_, at) => ({ createdAt: since + (at % 3) }))
  )
  const replayId = `rpl_${endpointId}`
  await query(
    db(),
    `insert into webhook_replays (id, organization_id, endpoint_id, partition, since_at, until_at, patterns, sent,
       after_created_at, after_sequence, after_idx, status, created_at)
     values ($1, $2, $3, 0, $4, $4::int8 + 1000, '["*"]', 0, $4, -1, -1, 'running', $4)`,
    [replayId, organization, endpointId, since]
  )
  const look = async () => ({
    replay: (await query(db(), "select sent, status from webhook_replays where id = $1", [replayId]))[0],
    sent: (
      await query<{ event_id: string }>(db(), "select event_id from webhook_deliveries where endpoint_id = $1", [
        endpointId
      ])
    ).map(({ event_id }) => event_id),
    jobs: (await query(db(), "select 1 from webhook_jobs where group_key = $1", [endpointId])).length
  })
  return { events, look }
}

const sendAll = (batch: number) => Effect.flatMap(make(batch), (replays) => replays.sendAll)

describe("replays", () => {
  it("are sent once by several at the same time", async () => {
    const replays = [await waiting(40), await waiting(7), await waiting(0)]
    await platform().run(Effect.all([sendAll(3), sendAll(3), sendAll(3)], { concurrency: "unbounded" }))
    for (const { events, look } of replays) {
      const { jobs, replay, sent } = await look()
      expect(sent.toSorted()).toEqual(events.toSorted())
      expect({ jobs, replay }).toEqual({
        jobs: events.length,
        replay: { sent: String(events.length), status: "done" }
      })
    }
  })

  it("go on where they were stopped: a batch that was not committed is sent again, no other", async () => {
    const { events, look } = await waiting(20)
    // The third batch fails within its transaction.
    await query(
      db(),
      `create function refuse_third() returns trigger language plpgsql as
         $$ begin if new.sent > 8 then raise exception 'stopped'; end if; return new; end $$;
       create trigger refuse before update on webhook_replays for each row execute function refuse_third()`
    )
    const stopped = await platform().run(Effect.exit(sendAll(4)))
    expect(stopped._tag).toBe("Failure")
    expect(await look()).toMatchObject({ replay: { sent: "8", status: "running" }, jobs: 8 })
    await query(db(), "drop trigger refuse on webhook_replays; drop function refuse_third")
    await platform().run(sendAll(4))
    const { jobs, replay, sent } = await look()
    expect({ jobs, replay }).toEqual({ jobs: 20, replay: { sent: "20", status: "done" } })
    expect(sent.toSorted()).toEqual(events.toSorted())
  })

  it("are removed 30 days after their end", async () => {
    await waiting(1)
    await platform().run(sendAll(4))
    const old = Date.now() - 30 * 24 * 60 * 60 * 1000 - 1_000
    const [{ id }] = (await query<{ id: string }>(
      db(),
      "update webhook_replays set finished_at = $1 where id = (select min(id) from webhook_replays) returning id",
      [old]
    )) as [{ id: string }]
    const before = await query(db(), "select id from webhook_replays")
    await platform().run(Effect.flatMap(make(), ({ sweep }) => sweep))
    const after = await query<{ id: string }>(db(), "select id from webhook_replays")
    expect(after.map((row) => row.id)).not.toContain(id)
    expect(after).toHaveLength(before.length - 1)
  })
})
