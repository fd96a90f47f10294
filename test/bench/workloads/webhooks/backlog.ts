/**
 * Memory of the delivering process with a long queue: endpoints of one organization that never answer, deliveries put into their queue by SQL,
 * and the most that the process takes while the dispatcher is at them. Their rows in the list of deliveries are left out, because nothing is
 * recorded meanwhile.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Effect, Schedule } from "effect"
import { eventRetentionMillis } from "../../../../src/events/event.ts"
import { eventsTable } from "../../../../src/events/table.ts"
import { jobLanes, jobsTable } from "../../../../src/webhooks/delivery/model.ts"
import { endpointsTable } from "../../../../src/webhooks/endpoint/model.ts"
import type { Sample } from "../../runner/benchmark.ts"
import { serveWorkload } from "../workload.ts"
import { eventType, hangingPath, numberedEvent } from "./events.ts"
import { endpointOf, organizationOf, startDeliveries } from "./platform.ts"

export interface BacklogLoad {
  readonly url: string
  readonly dataFolder: string
  readonly pending: number
  readonly endpoints: number
  /** Before each of the two looks at the memory. */
  readonly seconds: number
}

export interface BacklogSample extends Sample {
  readonly idleMegabytes: number
  /** The most. */
  readonly pendingMegabytes: number
  /** Deliveries that the process held in the end. */
  readonly held: number
}

const lookMillis = 100

/** The most memory that this process has during a time, in megabytes of a million bytes. */
const mostMegabytes = async (seconds: number): Promise<number> => {
  let most = 0
  for (const deadline = performance.now() + seconds * 1000; performance.now() < deadline; ) {
    most = Math.max(most, process.memoryUsage.rss() / 1e6)
    await new Promise((resolve) => setTimeout(resolve, lookMillis))
  }
  return most
}

serveWorkload((load: BacklogLoad) =>
  Effect.gen(function* () {
    const { days, dispatcher, partitionOf, sql, createEndpoint } = yield* startDeliveries(load.dataFolder)
    const organization = organizationOf(0)
    const numbers = Array.from({ length: load.endpoints }, (_, index) => index)
    yield* Effect.forEach(numbers, (index) => createEndpoint(0, index, load.url + hangingPath), { discard: true })
    yield* Effect.repeat(sql<{ readonly count: number }>`select count(*) as count from ${sql(endpointsTable)}`, {
      until: ([row]) => row!.count === load.endpoints,
      schedule: Schedule.spaced(lookMillis)
    })
    const idleMegabytes = yield* Effect.promise(() => mostMegabytes(load.seconds))

    const now = Date.now()
    const { body, eventId } = numberedEvent(0)
    yield* days.ensureDays(eventsTable, [now])
    yield* sql`
      insert into ${sql(eventsTable)} (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body)
      select ${organization}, id, ${eventType}, 'telco', true, ${now}, 1, number, replace(${body}, ${eventId}, id)
      from generate_series(1, ${load.pending / load.endpoints}::int) number,
        lateral (select 'evt_00000000-0000-8000-8000-' || lpad(to_hex(number), 12, '0') as id) event`
    yield* Effect.forEach(
      numbers,
      (index) => sql`
        insert into ${sql(jobsTable)} (id, partition, group_key, lane, due_at, attempts, expires_at, payload)
        select 'dlv_' || md5(event_id || ${endpointOf(index)}), ${partitionOf(organization)}, ${endpointOf(index)},
          ${jobLanes.first}, created_at, 0, created_at + ${eventRetentionMillis},
          'event ' || created_at || ' ' || event_id || ' ' || organization_id
        from ${sql(eventsTable)}`,
      { discard: true }
    )
    return {
      measure: async (): Promise<BacklogSample> => {
        const pendingMegabytes = await mostMegabytes(load.seconds)
        const [row] = await Effect.runPromise(
          sql<{ readonly count: number }>`select count(*) as count from ${sql(jobsTable)}`
        )
        const { held } = await Effect.runPromise(dispatcher.load)
        if (row!.count !== load.pending || held === 0) throw new Error(`${row!.count} are queued and ${held} held`)
        return { idleMegabytes, pendingMegabytes, held }
      }
    }
  })
)
