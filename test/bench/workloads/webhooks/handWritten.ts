/**
 * A program without an engine: a queue in PostgreSQL and undici, written by hand. Deliveries are put in by batched inserts, taken for a
 * time with `for update skip locked` in batches, posted on as many connections, and their outcomes recorded in batches, so that after a crash
 * nothing is lost. One table, a partial index for what waits, prepared statements, a connection for each of the three.
 */
import { Effect } from "effect"
import pg from "pg"
import { Pool } from "undici"
import { deliveryHeaders } from "../../../../src/webhooks/secret/signature.ts"
import { startServers } from "../servers.ts"
import { serveWorkload } from "../workload.ts"
import { type DeliveryLoad, failLoudly, sampleDeliveries } from "./deliveries.ts"
import { connections, hookPath, numberedEvent, secret } from "./events.ts"

/** Rows in one statement. */
const insertedAtOnce = 512
const takenAtOnce = 512
const recordedAtOnce = 512
/** Taken deliveries that wait for a connection; fewer make the next statement run meanwhile. */
const refillBelow = 512
const leaseMillis = 35_000
/** Pause of who finds nothing to do. */
const idleMillis = 1

interface Delivery {
  readonly id: string
  readonly event_id: string
  readonly url: string
  readonly body: string
}

interface Outcome {
  readonly id: string
  readonly status: number
  readonly at: number
}

// A page has room for the two updates of its rows, and what changes while a delivery is taken is in no index.
const schema = `
  create table deliveries (
    id bigint generated always as identity primary key,
    event_id text not null,
    url text not null,
    body text not null,
    is_pending boolean not null default true,
    attempts int not null default 0,
    due_at bigint not null,
    last_status int,
    last_attempt_at bigint
  ) with (fillfactor = 50);
  create index deliveries_pending on deliveries (id) where is_pending`

const insert = {
  name: "insert",
  text: `insert into deliveries (event_id, url, body, due_at)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])`
}

const take = {
  name: "take",
  text: `update deliveries set attempts = attempts + 1, due_at = $2
    where id = any(array(
      select id from deliveries where is_pending and due_at <= $1 order by id limit $3 for update skip locked
    ))
    returning id, event_id, url, body`
}

const record = {
  name: "record",
  text: `update deliveries d set is_pending = false, last_status = o.status, last_attempt_at = o.at
    from unnest($1::bigint[], $2::int[], $3::bigint[]) as o (id, status, at) where d.id = o.id`
}

const pause = () => new Promise((resolve) => setTimeout(resolve, idleMillis))

serveWorkload(({ dataFolder, outstanding, seconds, url, warmUpSeconds }: DeliveryLoad) =>
  Effect.gen(function* () {
    const { databaseUrl } = yield* startServers(dataFolder)
    const database = new pg.Pool({ connectionString: databaseUrl, max: 3 })
    // The server ends with this process, and may be faster; what fails earlier fails a statement too.
    database.on("error", () => {})
    yield* Effect.promise(() => database.query(schema))
    const pool = new Pool(url, { connections, pipelining: 1 })
    const target = url + hookPath
    const taken: Array<Delivery> = []
    let outcomes: Array<Outcome> = []
    let inserted = 0
    let recorded = 0
    let stopped = false

    const inserting = async () => {
      while (!stopped) {
        const room = Math.min(insertedAtOnce, outstanding - (inserted - recorded))
        if (room < insertedAtOnce / 4) {
          await pause()
          continue
        }
        const events = Array.from({ length: room }, (_, index) => numberedEvent(inserted + index))
        const now = Date.now()
        await database.query({
          ...insert,
          values: [
            events.map(({ eventId }) => eventId),
            events.map(() => target),
            events.map(({ body }) => body),
            events.map(() => now)
          ]
        })
        inserted += room
      }
    }

    const taking = async () => {
      while (!stopped) {
        if (taken.length >= refillBelow) {
          await pause()
          continue
        }
        const now = Date.now()
        const { rows } = await database.query<Delivery>({ ...take, values: [now, now + leaseMillis, takenAtOnce] })
        if (rows.length === 0) await pause()
        taken.push(...rows)
      }
    }

    const posting = async () => {
      while (!stopped) {
        const delivery = taken.shift()
        if (delivery === undefined) {
          await pause()
          continue
        }
        const { body, event_id, id } = delivery
        const { pathname } = new URL(delivery.url)
        const at = Date.now()
        const headers = deliveryHeaders({ eventId: event_id, nowMillis: at, rawBody: body, secrets: [secret] })
        const response = await pool.request({ method: "POST", path: pathname, headers, body })
        await response.body.dump()
        if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
        outcomes.push({ id, status: response.statusCode, at })
      }
    }

    const recording = async () => {
      while (!stopped) {
        if (outcomes.length === 0) {
          await pause()
          continue
        }
        const some = outcomes.slice(0, recordedAtOnce)
        outcomes = outcomes.slice(recordedAtOnce)
        await database.query({
          ...record,
          values: [some.map(({ id }) => id), some.map(({ status }) => status), some.map(({ at }) => at)]
        })
        recorded += some.length
      }
    }

    const loops = Promise.all([inserting(), taking(), recording(), ...Array.from({ length: connections }, posting)])
    loops.catch(failLoudly)
    yield* Effect.addFinalizer(() => {
      stopped = true
      return Effect.promise(() => loops.then(() => Promise.all([pool.destroy(), database.end()])))
    })
    yield* Effect.sleep(warmUpSeconds * 1000)
    return { measure: () => sampleDeliveries(() => recorded, seconds) }
  })
)
