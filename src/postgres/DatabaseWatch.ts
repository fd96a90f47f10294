/**
 * Watches whether PostgreSQL answers, so that no probe waits for a statement, and a busy process does not mistake its
 * own slowness for an outage. While the channel of notifications is up, its signs of life count; while it is down, a
 * statement each half second does. Needs `SqlClient` and `Notifications`.
 */
import { Clock, Context, Effect, Layer, Stream, SubscriptionRef } from "effect"
import { SqlClient } from "effect/sql"
import { Notifications } from "./Notifications.ts"

/** The pause between two questions while the channel is down. */
const askMillis = 500
/** How long PostgreSQL may take for an answer. */
const answerMillis = 1_500

/** How long keys that were verified before keep working without PostgreSQL. */
export const defaultKeyGraceMillis = 10 * 60_000

export interface DatabaseWatchOptions {
  /**
   * How long PostgreSQL may be away before nothing is answered on its behalf any more; default:
   * {@link defaultKeyGraceMillis}.
   */
  readonly graceMillis?: number | undefined
}

export class DatabaseWatch extends Context.Service<
  DatabaseWatch,
  {
    /** When PostgreSQL was first found away; undefined while it answers. */
    readonly awaySinceMillis: () => number | undefined
    readonly graceMillis: number
    /** Finds out now, and answers whether PostgreSQL is away. */
    readonly look: Effect.Effect<boolean>
  }
>()("sluice/postgres/DatabaseWatch") {
  static readonly layer = ({ graceMillis = defaultKeyGraceMillis }: DatabaseWatchOptions = {}) =>
    Layer.effect(DatabaseWatch, make(graceMillis))
}

/**
 * Lets the event loop take in what has arrived: after a stall a deadline is over before the answer that is there was
 * read.
 */
const turnOfTheLoop = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

const make = Effect.fnUntraced(function* (graceMillis: number) {
  const sql = yield* SqlClient.SqlClient
  const { connected } = yield* Notifications
  let awaySince: number | undefined
  const hears = () => SubscriptionRef.getUnsafe(connected)

  const answers = Effect.raceFirst(
    Effect.isSuccess(sql`select 1`),
    Effect.andThen(Effect.sleep(answerMillis), Effect.as(turnOfTheLoop, false))
  )
  const look = Effect.gen(function* () {
    const isThere = hears() || (yield* answers) || hears()
    if (isThere) awaySince = undefined
    else awaySince ??= yield* Clock.currentTimeMillis
    return !isThere
  })

  const lookWhileDeaf: Effect.Effect<void> = Effect.suspend(() =>
    hears()
      ? Effect.asVoid(look)
      : look.pipe(Effect.andThen(Effect.sleep(askMillis)), Effect.andThen(Effect.suspend(() => lookWhileDeaf)))
  )
  yield* SubscriptionRef.changes(connected).pipe(
    Stream.filter((isConnected) => !isConnected),
    Stream.runForEach(() => lookWhileDeaf),
    Effect.forkScoped
  )
  return DatabaseWatch.of({
    awaySinceMillis: () => (hears() ? undefined : awaySince),
    graceMillis,
    look
  })
})
