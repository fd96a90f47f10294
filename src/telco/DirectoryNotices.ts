/**
 * Tells organizations of every ingestion that changed the directory (docs/platform.md, 4.6): one event
 * `telco.directory.updated` for each that has a key for telco or the directory. It walks them in the order of their ids
 * and keeps its place in the database, so that a start goes on where an end broke off; the engine's idempotency keys
 * keep two nodes that walk side by side from telling one twice. Needs `Engine`, `SqlClient` and `Notifications`.
 */
import { Clock, Effect, Layer, Queue, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { superviseLoop } from "../common/superviseLoop.ts"
import { type DatasetKind, directoryChannel } from "../directory/index.ts"
import { Engine } from "../engine/Engine.ts"
import { isRetryable } from "../engine/errors.ts"
import { Notifications } from "../postgres/Notifications.ts"
import { TelcoActor } from "./TelcoActor.ts"

/** Organizations that are told in one step. */
const organizationsPerStep = 100

/** Organizations that are told at a time. */
const toldAtOnce = 8

/** How soon it tries again after a failure. */
const retryMillis = 5_000

/** How long the engine remembers that an organization was told: longer than any walk takes. */
const onceMillis = 30 * 24 * 60 * 60 * 1000

/** Creates the place of the walk: ingestions from before count as told. */
export const createDirectoryNotices = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table directory_notices (
      singleton boolean primary key default true check (singleton),
      ingestion bigint not null,
      last_told text not null
    )`
  yield* sql`
    insert into directory_notices (ingestion, last_told)
    select coalesce(max(id), 0) + 1, '' from directory_ingestions`
})

/** An ingestion of which organizations after `lastTold` have not been told. */
interface Notice {
  readonly ingestion: number
  readonly lastTold: string
  readonly source: DatasetKind
  readonly publication: string | null
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly finishedAt: Date
}

const make = Effect.gen(function* () {
  const engine = yield* Engine
  const sql = yield* SqlClient.SqlClient
  const notifications = yield* Notifications

  /** The ingestion to tell of. One that changed nothing is passed over. */
  const current = Effect.map(
    sql<Notice>`
      select i.id as ingestion, case when i.id = n.ingestion then n.last_told else '' end as "lastTold",
        i.kind as source, i.publication_date::text as publication, added, changed, removed, finished_at as "finishedAt"
      from directory_notices n join directory_ingestions i on i.id >= n.ingestion
      where added + changed + removed > 0 order by i.id limit 1`,
    ([notice]) => notice
  )

  /** Organizations that were there when the ingestion ended and may read what it changed. */
  const organizationsAfter = ({ finishedAt, lastTold }: Notice, nowMillis: number) => sql<{ readonly id: string }>`
    select o.id from organizations o
    where o.id > ${lastTold} and o.deleted_at is null and o.created_at <= ${finishedAt} and exists (
      select from api_keys k where k.organization_id = o.id and k.active and k.services && array['telco', 'directory']
        and (k.expires_at is null or k.expires_at > ${new Date(nowMillis)})
    )
    order by o.id limit ${organizationsPerStep}`

  const tell = (organization: string, { added, changed, ingestion, publication, removed, source }: Notice) => {
    const command = {
      _tag: "DirectoryUpdated" as const,
      data: { source, publication, added, changed, removed },
      livemode: true
    }
    const key = `directory updated ${ingestion}`
    return engine
      .askOnce(TelcoActor, { organization }, command, { key, digest: key, windowMillis: onceMillis })
      .pipe(
        Effect.catch((error) =>
          isRetryable(error, { isIdempotent: true })
            ? Effect.fail(error)
            : Effect.logError(`The organization ${organization} was not told of an update of the directory`, error)
        )
      )
  }

  /** Moves the walk on, unless another node has moved it meanwhile. */
  const moveTo = (from: Notice, ingestion: number, lastTold: string) => sql`
    update directory_notices set ingestion = ${ingestion}, last_told = ${lastTold}
    where ingestion < ${from.ingestion} or (ingestion = ${from.ingestion} and last_told = ${from.lastTold})`

  /** Tells the next organizations; answers whether there may be more. */
  const step = Effect.gen(function* () {
    const notice = yield* current
    if (notice === undefined) return false
    const organizations = yield* organizationsAfter(notice, yield* Clock.currentTimeMillis)
    yield* Effect.forEach(organizations, ({ id }) => tell(id, notice), { concurrency: toldAtOnce, discard: true })
    const last = organizations.length < organizationsPerStep ? undefined : organizations.at(-1)
    yield* last === undefined ? moveTo(notice, notice.ingestion + 1, "") : moveTo(notice, notice.ingestion, last.id)
    return true
  })

  const wanted = yield* Queue.make<void>({ capacity: 1, strategy: "sliding" })
  const want = () => Queue.offer(wanted, undefined)
  yield* want()
  // A gap, after which messages may have been missed, counts like a message.
  yield* notifications.listen(directoryChannel).pipe(Stream.runForEach(want), Effect.forkScoped)
  const walk = Effect.repeat(step, { while: (more) => more })
  yield* Effect.forkScoped(
    superviseLoop(
      // A failure leaves its work wanted.
      Effect.andThen(Queue.take(wanted), Effect.tapCause(walk, want)),
      { failed: "Organizations could not be told of an update of the directory; trying again", retryMillis }
    )
  )
})

/** Tells organizations for as long as the scope lives. */
export const layerDirectoryNotices: Layer.Layer<never, never, Engine | SqlClient.SqlClient | Notifications> =
  Layer.effectDiscard(make)
