/** The event log on a real PostgreSQL: lists against a naive model, pages, followers on two nodes, and what is no longer kept. */
import { assert, layer } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Result, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { KeptTimes, keptDays } from "../../src/common/KeptTimes.ts"
import { eventId } from "../../src/engine/ids.ts"
import { appendEvents, EventLog, type Followed, type LoggedEvent } from "../../src/events/EventLog.ts"
import { EventWakeups, payloadsOf } from "../../src/events/EventWakeups.ts"
import { type Event, encodeEvent, eventRetentionMillis, knownTypes, parsePattern } from "../../src/events/index.ts"
import { maximumLookedEvents } from "../../src/events/makeEventList.ts"
import { addObjectOfEvents, addReachOfEvents, createEventTables, eventIndexes } from "../../src/events/migrations.ts"
import { matches } from "../../src/events/patterns.ts"
import { maximumTotal } from "../../src/http/listTotal.ts"
import { makePageCursors, PageCursors } from "../../src/http/PageCursors.ts"
import { DayPartitions, dayMillis } from "../../src/postgres/dayPartitions.ts"
import { createSmallIndexes } from "../../src/postgres/indexBuilds.ts"
import * as Notifications from "../../src/postgres/Notifications.ts"
import { freshDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"

/** Who reads with a live key. */
const live = (organizationId: string) => ({ organizationId, mode: "live" }) as const

const types = [...knownTypes]
let organizations = 0
let frames = 0

const organization = () => `org_${++organizations}`

/** An event with a place of its own. */
const logged = (organizationId: string, createdAt: number, type: string, index = 0): LoggedEvent => {
  const sequence = ++frames
  const event = {
    eventId: `evt_${eventId(1, 1, sequence, index)}`,
    type,
    service: knownTypes.get(type)!,
    data: { text: `"quoted"\n\u2028 ${type} 🐎 \u0000`, number: 1.5, nothing: null },
    livemode: index % 2 === 0,
    createdAt
  } satisfies Event
  return { organizationId, sequence, index, event, body: encodeEvent(event) }
}

const patternOf = (text: string) => Result.getOrThrow(parsePattern(text))

const services = Layer.mergeAll(EventLog.layer, DayPartitions.layer).pipe(
  Layer.provideMerge(EventWakeups.layer),
  Layer.provideMerge(Notifications.layer()),
  Layer.provide(Layer.succeed(PageCursors, makePageCursors("secret")))
)

layer(
  services.pipe(
    Layer.provideMerge(
      Layer.effectDiscard(
        Effect.all([createEventTables, addReachOfEvents, addObjectOfEvents, createSmallIndexes(eventIndexes)])
      )
    ),
    Layer.provideMerge(freshDatabase({ maxConnections: 8 }))
  ),
  { excludeTestServices: true, timeout: patienceMillis }
)("the event log", (it) => {
  const append = (events: ReadonlyArray<LoggedEvent>) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(appendEvents(events)))

  it.effect("shows every event with the bytes that it was stored with, one or many", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const org = organization()
      const now = yield* Clock.currentTimeMillis
      const events = types.map(([type], index) => logged(org, now, type, index))
      yield* append(events)
      const { data, pagination } = yield* log.list({ ...live(org), limit: 100 })
      assert.deepStrictEqual(data, events.map(({ body }) => body).toReversed())
      assert.deepStrictEqual(pagination, { hasMore: false })
      for (const { body, event } of events) assert.strictEqual(yield* log.get(live(org), event.eventId), body)
    })
  )

  it.effect("an organization sees its own events only", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const now = yield* Clock.currentTimeMillis
      const [mine, theirs] = [organization(), organization()]
      const event = logged(theirs, now, "platform.test")
      yield* append([event])
      assert.deepStrictEqual((yield* log.list({ ...live(mine), limit: 10 })).data, [])
      assert.isUndefined(yield* log.get(live(mine), event.event.eventId))
      assert.isUndefined(yield* log.positionOf(live(mine), event.event.eventId))
    })
  )

  it.effect("an id of another form is nobody's", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      for (const id of ["", "evt_", "evt_1", "\0", "evt_00000000-0000-8000-8000-00000000000G", "x".repeat(10_000)]) {
        assert.isUndefined(yield* log.get(live("org_1"), id))
      }
    })
  )

  const patterns = ["*", "telco.*", "platform.*", "subscription.*", "send.email.*", "invoice.paid", "voip.*"]
  const step = 7_000_000
  const place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 45 }))
  const Filters = Schema.Struct({
    pattern: Schema.UndefinedOr(Schema.Literals(patterns)),
    since: Schema.UndefinedOr(place),
    until: Schema.UndefinedOr(place),
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 }))
  })
  /** Several a millisecond, several a frame, over several days. */
  const many = Effect.runSync(
    Effect.cached(
      Effect.gen(function* () {
        const start = (yield* Clock.currentTimeMillis) - 3 * dayMillis
        const org = organization()
        const events = Array.from({ length: 120 }, (_, index) =>
          logged(org, start + Math.floor(index / 3) * step, types[(index * 7) % types.length]![0], index % 3)
        )
        yield* append(events)
        return { org, start, newestFirst: events.toReversed() }
      })
    )
  )

  it.effect.prop(
    "lists as a naive filter over all events does, whatever the filters and page sizes",
    [Filters],
    ([{ limit, ...filters }]) =>
      Effect.gen(function* () {
        const log = yield* EventLog
        const { newestFirst, org, start } = yield* many
        const pattern = filters.pattern === undefined ? undefined : patternOf(filters.pattern)
        const since = filters.since === undefined ? undefined : start + filters.since * step
        const until = filters.until === undefined ? undefined : start + filters.until * step
        const expected = newestFirst.filter(
          ({ event }) =>
            (pattern === undefined || matches(pattern, event)) &&
            (since === undefined || event.createdAt >= since) &&
            (until === undefined || event.createdAt < until)
        )
        const found: Array<string> = []
        let cursor: string | undefined
        do {
          const page = yield* log.list({ ...live(org), pattern, since, until, limit, cursor })
          assert.isAtMost(page.data.length, limit)
          found.push(...page.data)
          cursor = page.pagination.nextCursor
          assert.strictEqual(page.pagination.hasMore, cursor !== undefined)
        } while (cursor !== undefined)
        assert.deepStrictEqual(
          found,
          expected.map(({ body }) => body)
        )
      }),
    { arbitrary: { runs: 60 } }
  )

  it.effect("[platform 3.4] a rare type, a rare mode or an object of a busy organization is on the first page", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const now = yield* Clock.currentTimeMillis
      const org = organization()
      const total = 2 * maximumTotal + 500
      const rare = new Set([0, 1, maximumTotal + 100, total - maximumTotal, total - 1])
      const events = Array.from({ length: total }, (_, index) => {
        const one = logged(org, now - total + index, rare.has(index) ? "invoice.paid" : "telco.lookup.completed")
        if (!rare.has(index)) return one
        const event = { ...one.event, livemode: false, data: { id: index < 2 ? "in_early" : "in_late" } }
        return { ...one, event, body: encodeEvent(event) }
      })
      for (let at = 0; at < total; at += 5_000) yield* append(events.slice(at, at + 5_000))
      const wanted = events.filter(({ event }) => event.type === "invoice.paid").map(({ body }) => body)
      const filters = [
        { ...live(org), pattern: patternOf("invoice.*") },
        { ...live(org), pattern: patternOf("invoice.paid") },
        { organizationId: org, mode: "test" as const }
      ]
      for (const filter of filters) {
        const first = yield* log.list({ ...filter, limit: 2, withTotal: true })
        assert.deepStrictEqual(first.data, wanted.toReversed().slice(0, 2))
        assert.deepStrictEqual(first.pagination.total, { count: 5, isExact: true })
        const rest = yield* log.list({ ...filter, limit: 5, cursor: first.pagination.nextCursor })
        assert.deepStrictEqual(rest, { data: wanted.toReversed().slice(2), pagination: { hasMore: false } })
      }
      const early = yield* log.list({ ...live(org), object: "in_early", limit: 5, withTotal: true })
      assert.deepStrictEqual(early.data, wanted.slice(0, 2).toReversed())
      assert.deepStrictEqual(early.pagination, { hasMore: false, total: { count: 2, isExact: true } })
      const none = yield* log.list({ ...live(org), object: "in_early", pattern: patternOf("telco.*"), limit: 5 })
      assert.deepStrictEqual(none.data, [])
      // A text has no index: a page looks through so many events, and the next one goes on behind them.
      const found: Array<string> = []
      let cursor: string | undefined
      let pages = 0
      do {
        const page = yield* log.list({ ...live(org), text: "IN_EARLY", limit: 5, cursor })
        found.push(...page.data)
        cursor = page.pagination.nextCursor
        pages++
        assert.strictEqual(page.pagination.hasMore, cursor !== undefined)
      } while (cursor !== undefined)
      assert.deepStrictEqual(found, wanted.slice(0, 2).toReversed())
      assert.strictEqual(pages, Math.ceil((total + 1) / maximumLookedEvents))
      const late = yield* log.list({ ...live(org), text: "in_late", limit: 5, withTotal: true })
      assert.deepStrictEqual(late.data, [wanted[4]!, wanted[3]!])
      assert.deepStrictEqual(late.pagination.total, { count: 2, isExact: false })
      const all = yield* log.list({ ...live(org), limit: 100, withTotal: true })
      assert.strictEqual(all.data.length, 100)
      assert.deepStrictEqual(all.pagination.total, { count: maximumTotal, isExact: false })
    })
  )

  it.effect(
    "[platform 5.4] the object of an event is found by its owner alone, and a cursor is good for its filter",
    () =>
      Effect.gen(function* () {
        const log = yield* EventLog
        const now = yield* Clock.currentTimeMillis
        const [one, other] = [organization(), organization()]
        const about = (data: Event["data"], index: number) => {
          const made = logged(one, now, "platform.webhook.failing", index)
          const event = { ...made.event, data }
          return { ...made, event, body: encodeEvent(event) }
        }
        const events = [
          about({ messageId: "em_1", recipient: "bob@example.com" }, 1),
          about({ endpoint_id: "em_1", url: "https://x.test" }, 2),
          about({ messageId: "line\nbreak" }, 3)
        ]
        yield* append(events)
        const found = yield* log.list({ ...live(one), object: "em_1", limit: 1 })
        assert.deepStrictEqual(found.data, [events[1]!.body])
        assert.deepStrictEqual((yield* log.list({ ...live(other), object: "em_1", limit: 1 })).data, [])
        assert.deepStrictEqual((yield* log.list({ ...live(one), object: "bob@example.com", limit: 1 })).data, [])
        const textOf = (organizationId: string, text: string) =>
          Effect.map(log.list({ ...live(organizationId), text, limit: 5, withTotal: true }), ({ data, pagination }) => [
            data,
            pagination.total
          ])
        const byText = [[events[0]!.body], { count: 1, isExact: true }]
        assert.deepStrictEqual(yield* textOf(one, "Bob@Example"), byText)
        assert.deepStrictEqual(yield* textOf(one, "line\nbreak"), [[events[2]!.body], { count: 1, isExact: true }])
        assert.deepStrictEqual(yield* textOf(one, "%_"), [[], { count: 0, isExact: true }])
        assert.deepStrictEqual(yield* textOf(other, "bob"), [[], { count: 0, isExact: true }])
        const { nextCursor: cursor } = found.pagination
        const error = yield* Effect.flip(log.list({ ...live(one), limit: 1, cursor }))
        assert.strictEqual(error._tag, "InvalidCursor")
      })
  )

  it.effect("refuses a cursor of another organization, a made-up one, and one whose place is no longer kept", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const now = yield* Clock.currentTimeMillis
      const [one, other] = [organization(), organization()]
      yield* append([1, 2, 3].map((index) => logged(one, now, "platform.test", index)))
      const { nextCursor } = (yield* log.list({ ...live(one), limit: 1 })).pagination
      const stale = makePageCursors("secret").encode(`events of ${one}`, {
        atMillis: now - eventRetentionMillis - 1_000,
        id: "1.0"
      })
      for (const [organizationId, cursor] of [
        [other, nextCursor],
        [one, `${nextCursor}x`],
        [one, "x"],
        [one, stale]
      ] as const) {
        const error = yield* Effect.flip(log.list({ ...live(organizationId), limit: 1, cursor }))
        assert.strictEqual(error._tag, "InvalidCursor")
      }
    })
  )

  it.effect("[platform 5.4] an event is not shown after its 30 days, although its day is still there", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const now = yield* Clock.currentTimeMillis
      const org = organization()
      const [over, kept] = [
        logged(org, now - eventRetentionMillis - 1, "platform.test"),
        logged(org, now - eventRetentionMillis + 60_000, "platform.test")
      ]
      yield* append([over!, kept!])
      assert.deepStrictEqual((yield* log.list({ ...live(org), limit: 10 })).data, [kept!.body])
      assert.isUndefined(yield* log.get(live(org), over!.event.eventId))
      assert.isUndefined(yield* log.positionOf(live(org), over!.event.eventId))
      assert.strictEqual(yield* log.get(live(org), kept!.event.eventId), kept!.body)
      const longer = Effect.gen(function* () {
        const all = yield* EventLog
        return [
          (yield* all.list({ ...live(org), limit: 10 })).data,
          yield* all.get(live(org), over!.event.eventId)
        ] as const
      }).pipe(
        Effect.provide(
          Layer.fresh(EventLog.layer).pipe(
            Layer.provide(Layer.succeed(PageCursors, makePageCursors("secret"))),
            Layer.provide(Layer.succeed(KeptTimes, keptDays({ events: 60, requests: 7 })))
          )
        )
      )
      assert.deepStrictEqual(yield* longer, [[kept!.body, over!.body], over!.body])
    })
  )

  it.effect("what is rolled back is not in the log, and what comes a second time is there once", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const sql = yield* SqlClient.SqlClient
      const now = yield* Clock.currentTimeMillis
      const org = organization()
      const event = logged(org, now, "platform.test")
      yield* Effect.flip(sql.withTransaction(Effect.andThen(appendEvents([event]), Effect.fail("rolled back"))))
      assert.deepStrictEqual((yield* log.list({ ...live(org), limit: 10 })).data, [])
      yield* append([event])
      yield* append([event])
      assert.deepStrictEqual((yield* log.list({ ...live(org), limit: 10 })).data, [event.body])
    })
  )

  const bodies = (items: ReadonlyArray<Followed>) => items.flatMap((item) => (item._tag === "Event" ? [item.body] : []))

  it.effect("a follower gets what is behind its place and then what comes, in order, of the types it wants", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const now = yield* Clock.currentTimeMillis
      const org = organization()
      const all = Array.from({ length: 200 }, (_, index) =>
        logged(org, now + index, index % 4 === 0 ? "platform.test" : "telco.lookup.completed")
      )
      yield* append(all.slice(0, 120))
      const after = yield* log.positionOf(live(org), all[9]!.event.eventId)
      assert.isDefined(after)
      const expected = all.slice(10).filter(({ event }) => event.type === "telco.lookup.completed")
      const following = yield* log
        .follow({ ...live(org), patterns: [patternOf("telco.*")], after: after!, idleMillis: 60_000 })
        .pipe(
          Stream.filter(({ _tag }) => _tag === "Event"),
          Stream.take(expected.length),
          Stream.runCollect,
          Effect.forkChild
        )
      for (let index = 120; index < 200; index += 8) yield* append(all.slice(index, index + 8))
      assert.deepStrictEqual(
        bodies(yield* Fiber.join(following)),
        expected.map(({ body }) => body)
      )
    })
  )

  it.effect("a follower on another node hears of what is appended here", () =>
    Effect.gen(function* () {
      const org = organization()
      const now = yield* Clock.currentTimeMillis
      const events = [logged(org, now, "platform.test"), logged(org, now, "platform.test", 1)] as const
      const after = yield* (yield* EventLog).end(org)
      const looked = yield* Deferred.make<void>()
      const there = Effect.gen(function* () {
        const log = yield* EventLog
        return yield* log
          // Would not look by itself within the time of this test.
          .follow({ ...live(org), patterns: [patternOf("*")], after, idleMillis: 600_000 })
          .pipe(
            Stream.filter(({ _tag }) => _tag === "Event"),
            Stream.tap(() => Deferred.succeed(looked, undefined)),
            Stream.take(2),
            Stream.runCollect
          )
      }).pipe(Effect.provide(Layer.fresh(services)))
      const following = yield* Effect.forkChild(there)
      yield* append([events[0]])
      // It may have read the first one by itself.
      yield* Deferred.await(looked)
      yield* append([events[1]])
      assert.deepStrictEqual(
        bodies(yield* Fiber.join(following)),
        events.map(({ body }) => body)
      )
    })
  )

  it.effect("a follower to whom nothing happens shows that it is there", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const org = organization()
      const after = yield* log.end(org)
      const items = yield* log
        .follow({ ...live(org), patterns: [patternOf("*")], after, idleMillis: 5 })
        .pipe(Stream.take(3), Stream.runCollect)
      assert.deepStrictEqual(
        items.map(({ _tag }) => _tag),
        ["Idle", "Idle", "Idle"]
      )
    })
  )

  it.effect("a reader that takes nothing has one page read for it", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const org = organization()
      const now = yield* Clock.currentTimeMillis
      yield* append(Array.from({ length: 500 }, (_, index) => logged(org, now + index, "platform.test")))
      const pull = yield* Stream.toPull(
        log.follow({
          ...live(org),
          patterns: [patternOf("*")],
          after: { createdAt: 0, sequence: 0, index: 0 },
          idleMillis: 60_000
        })
      )
      assert.isAtMost((yield* pull).length, 100)
    }).pipe(Effect.scoped)
  )

  it.effect("any number of organizations is announced in payloads that PostgreSQL carries", () =>
    Effect.sync(() => {
      const names = Array.from({ length: 1_000 }, (_, index) => `org_${"x".repeat(index % 40)}${index}`)
      const payloads = payloadsOf(names)
      assert.deepStrictEqual(payloads.join(",").split(","), names)
      for (const payload of payloads) assert.isAtMost(Buffer.byteLength(payload), Notifications.maxPayloadBytes)
      assert.deepStrictEqual(payloadsOf([]), [])
    })
  )
})
