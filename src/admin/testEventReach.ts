/** Finds the id of a test event that was emitted a moment ago, and the webhook endpoints that get it. Needs `SqlClient`. */
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { matchesAny, parsePatterns } from "../events/index.ts"
import { eventsTable } from "../events/table.ts"
import { EndpointCache } from "../webhooks/endpoint/EndpointCache.ts"
import { endpointsOf } from "../webhooks/endpoint/rows.ts"

/** An event is written some milliseconds after its decision; in a process without reactors, not at all. */
const looks = 20
const lookMillis = 50

/** The newest test event of the type since a time; undefined where it is not written yet. */
const newestId = (organizationId: string, type: string, sinceMillis: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly id: string }>`
      select event_id as id from ${sql(eventsTable)}
      where organization_id = ${organizationId} and created_at >= ${sinceMillis} and type = ${type} and not livemode
      order by created_at desc, sequence desc, idx desc limit 1`
    return rows[0]?.id
  })

/** The event's id, null where it is not to be read within a second. */
export const emittedId = Effect.fnUntraced(function* (organizationId: string, type: string, sinceMillis: number) {
  for (let look = 0; look < looks; look++) {
    const id = yield* newestId(organizationId, type, sinceMillis)
    if (id !== undefined) return id
    yield* Effect.sleep(lookMillis)
  }
  return null
})

/** The endpoints that get an example of a type, of both modes; paused ones have it wait. */
export const receiversOf = Effect.fnUntraced(function* (
  organizationId: string,
  event: { readonly type: string; readonly service: string },
  endpointId: string | undefined
) {
  const found = yield* endpointsOf([organizationId], new EndpointCache())
  return found.flatMap(({ endpoint, endpointId: id }) => {
    if (endpoint === null || !endpoint.isActive) return []
    const patterns = parsePatterns(endpoint.enabledEvents)
    // A test event is for the endpoint that it names.
    const isAsked = event.type !== "platform.test" && Result.isSuccess(patterns) && matchesAny(patterns.success, event)
    const gets = endpointId === undefined ? isAsked : id === endpointId
    return gets ? [{ id, url: endpoint.url, isPaused: endpoint.paused !== null }] : []
  })
})
