import { expect, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Queue, Redacted, type Scope, Stream, SubscriptionRef } from "effect"
import { SqlClient } from "effect/sql"
import {
  layer as layerNotifications,
  maxPayloadBytes,
  maxPendingNotifications,
  Notification,
  Notifications
} from "../../src/postgres/Notifications.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { proxyTo, terminate, until } from "./support.ts"

const gap = Notification.Gap()
const message = (payload: string) => Notification.Message({ payload })

/** Another node on the same database, or on the way through a proxy. */
const node = (url?: string, watch = { intervalMillis: 50, timeoutMillis: 200 }) =>
  Effect.gen(function* () {
    const { config } = yield* TestDatabase
    const services = yield* Layer.build(
      layerNotifications({ watch }).pipe(
        Layer.provide(PgClient.layer({ ...config, ...(url === undefined ? {} : { url: Redacted.make(url) }) })),
        Layer.provide(Logger.layer([]))
      )
    )
    return Context.get(services, Notifications)
  })

/** Everything a channel brings, in a queue. */
const collect = (
  notifications: Notifications["Service"],
  channel: string
): Effect.Effect<Queue.Dequeue<Notification>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Notification>()
    yield* notifications.listen(channel).pipe(
      Stream.runForEach((notification) => Queue.offer(queue, notification)),
      Effect.forkScoped
    )
    return queue
  })

const isConnected = (notifications: Notifications["Service"]) => SubscriptionRef.get(notifications.connected)

/** The session that listens for the node whose pool is this database's only one. */
const listeningPid = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly pid: number }>`SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE '% notifications'`
  expect(rows.length).toBe(1)
  return rows[0]!.pid
})

layer(freshDatabase({ maxConnections: 3 }), { excludeTestServices: true })("notifications", (it) => {
  it.effect("reach every node's listeners of the channel, in order, after a first gap", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* node(), yield* node()]
      const queues = [yield* collect(one, "news"), yield* collect(one, "news"), yield* collect(two, "news")]
      const other = yield* collect(two, "other")
      for (const queue of [...queues, other]) expect(yield* Queue.take(queue)).toEqual(gap)
      yield* one.notify("news", "first")
      yield* two.notify("news", "second: ünï ☎ 'quotes'")
      yield* two.notify("other", "")
      for (const queue of queues) {
        expect(yield* Queue.takeN(queue, 2)).toEqual([message("first"), message("second: ünï ☎ 'quotes'")])
      }
      expect(yield* Queue.take(other)).toEqual(message(""))
      expect(yield* isConnected(one)).toBe(true)
    })
  )

  it.effect("sent in a transaction come with its commit or not at all", () =>
    Effect.gen(function* () {
      const client = yield* PgClient.PgClient
      const queue = yield* Effect.gen(function* () {
        const notifications = yield* Notifications
        const received = yield* collect(notifications, "news")
        yield* Queue.take(received)
        yield* Effect.exit(
          client.withTransaction(Effect.andThen(notifications.notify("news", "rolled back"), Effect.fail("no")))
        )
        yield* client.withTransaction(
          Effect.gen(function* () {
            yield* notifications.notify("news", "committed")
            expect(yield* Queue.size(received)).toBe(0)
          })
        )
        return yield* Queue.take(received)
      }).pipe(Effect.provide(Layer.provide(layerNotifications(), Layer.succeed(PgClient.PgClient, client))))
      expect(queue).toEqual(message("committed"))
    })
  )

  it.effect("a killed connection is made anew, and everybody is told of the gap", () =>
    Effect.gen(function* () {
      const notifications = yield* node()
      const queues = [yield* collect(notifications, "news"), yield* collect(notifications, "other")]
      for (const queue of queues) yield* Queue.take(queue)
      const states: Array<boolean> = []
      yield* SubscriptionRef.changes(notifications.connected).pipe(
        Stream.runForEach((state) => Effect.sync(() => states.push(state))),
        Effect.forkScoped({ startImmediately: true })
      )
      for (let round = 0; round < 3; round++) {
        yield* until(isConnected(notifications))
        yield* terminate(yield* listeningPid)
        for (const queue of queues) expect(yield* Queue.take(queue)).toEqual(gap)
        yield* notifications.notify("news", `after ${round}`)
        expect(yield* Queue.take(queues[0]!)).toEqual(message(`after ${round}`))
      }
      expect(states).toEqual([true, false, true, false, true, false, true])
    })
  )

  it.effect("a silent network is noticed, and the state says so until it is over", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const proxy = yield* proxyTo(Redacted.value(url))
      const [notifications, sender] = [yield* node(proxy.url), yield* node()]
      const queue = yield* collect(notifications, "news")
      expect(yield* Queue.take(queue)).toEqual(gap)
      yield* proxy.freeze
      yield* until(Effect.map(isConnected(notifications), (is) => !is))
      yield* sender.notify("news", "missed")
      yield* proxy.thaw
      expect(yield* Queue.take(queue)).toEqual(gap)
      yield* sender.notify("news", "after")
      expect(yield* Queue.take(queue)).toEqual(message("after"))
      expect(yield* isConnected(notifications)).toBe(true)
    })
  )

  it.effect("a listener that comes while the connection is away is served with the next one", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const proxy = yield* proxyTo(Redacted.value(url))
      yield* proxy.freeze
      const notifications = yield* node(proxy.url)
      const queue = yield* collect(notifications, "news")
      expect(yield* isConnected(notifications)).toBe(false)
      expect(yield* Queue.size(queue)).toBe(0)
      yield* proxy.cut
      yield* proxy.thaw
      expect(yield* Queue.take(queue)).toEqual(gap)
      yield* (yield* node()).notify("news", "heard")
      expect(yield* Queue.take(queue)).toEqual(message("heard"))
    })
  )

  it.effect("a listener that falls behind gets a gap in place of what it missed, and the others get everything", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const notifications = yield* node()
      const portion = maxPendingNotifications / 2
      const count = 6 * portion
      const quick = yield* collect(notifications, "flood")
      yield* Queue.take(quick)
      const slow = yield* Stream.toPull(Stream.rechunk(notifications.listen("flood"), 1))
      expect(yield* slow).toEqual([gap])
      for (let n = 1; n <= count; n += portion) {
        yield* sql`SELECT pg_notify('flood', n::text) FROM generate_series(${n}::int4, ${n + portion - 1}::int4) AS n`
        const received = yield* Queue.takeN(quick, portion)
        expect(received).toEqual(Array.from({ length: portion }, (_, index) => message(String(n + index))))
      }
      const seen: Array<Notification> = []
      while (seen.length === 0 || !Notification.$is("Message")(seen.at(-1)!) || lastPayload(seen) !== String(count)) {
        seen.push(...(yield* slow))
      }
      expect(seen.length).toBeLessThan(count)
      // Whatever is missing is announced: a message that does not follow its predecessor stands behind a gap.
      let expected: number | undefined = 1
      for (const notification of seen) {
        if (notification._tag === "Gap") expected = undefined
        else {
          if (expected !== undefined) expect(notification.payload).toBe(String(expected))
          expected = Number(notification.payload) + 1
        }
      }
    })
  )

  it.effect("the last listener of a channel takes the channel with it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const notifications = yield* node(undefined, { intervalMillis: 60_000, timeoutMillis: 60_000 })
      const queue = yield* Effect.scoped(
        Effect.gen(function* () {
          const inner = yield* collect(notifications, "short_lived")
          yield* Queue.take(inner)
          return inner
        })
      )
      // Without signs of life in between, the session's last statement stays to be seen.
      const rows = yield* sql`SELECT query FROM pg_stat_activity WHERE pid = ${yield* listeningPid}`
      expect(rows).toEqual([{ query: 'UNLISTEN "short_lived"' }])
      const lasting = yield* collect(notifications, "lasting")
      yield* Queue.take(lasting)
      yield* notifications.notify("short_lived", "unheard")
      yield* notifications.notify("lasting", "heard")
      expect(yield* Queue.take(lasting)).toEqual(message("heard"))
      expect(yield* Queue.size(queue)).toBe(0)
    })
  )

  it.effect("a payload that is too long is refused with its size, the longest one passes", () =>
    Effect.gen(function* () {
      const notifications = yield* node()
      const queue = yield* collect(notifications, "news")
      yield* Queue.take(queue)
      const longest = "é".repeat(Math.floor(maxPayloadBytes / 2))
      const error = yield* Effect.flip(notifications.notify("news", `${longest}éé`))
      expect(error._tag).toBe("NotificationTooLong")
      expect(error.message).toContain("8002 bytes")
      yield* notifications.notify("news", longest)
      expect(yield* Queue.take(queue)).toEqual(message(longest))
    })
  )

  it.effect("streams end with the service", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.scoped(
        Effect.gen(function* () {
          const notifications = yield* node()
          const running = yield* Effect.forkDetach(Stream.runCollect(notifications.listen("news")))
          yield* until(isConnected(notifications))
          const queue = yield* collect(notifications, "news")
          yield* Queue.take(queue)
          return running
        })
      )
      expect(yield* Fiber.join(fiber)).toEqual([gap])
    })
  )
})

const lastPayload = (seen: ReadonlyArray<Notification>): string | undefined => {
  const last = seen.at(-1)
  return last?._tag === "Message" ? last.payload : undefined
}
