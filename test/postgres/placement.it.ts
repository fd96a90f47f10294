/** The placement of one machine on a real PostgreSQL: one process of a deployment runs partitions, and knows whether it still may. */
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { Placement } from "../../src/engine/ports/Placement.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import * as PlacementPostgres from "../../src/postgres/PlacementPostgres.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import { proxyTo, terminate, until } from "./support.ts"

let nextLock = 0

/** Processes that share a lock of their own: each has its own pool, and can be ended. */
const deployment = Effect.gen(function* () {
  const { config } = yield* TestDatabase
  const lock = `test ${nextLock++}`
  const start = (name: string, more: Partial<typeof config> = {}) =>
    Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
      const services = yield* Scope.provide(
        Layer.build(
          PlacementPostgres.layer({ lock, watch: { intervalMillis: 100, timeoutMillis: 500 } }).pipe(
            Layer.provide(PgClient.layer({ ...config, ...more, applicationName: name }))
          )
        ),
        scope
      )
      const placement = yield* Effect.provideContext(Effect.service(Placement), services)
      const serving = new Set<number>()
      const serve = (partition: number) =>
        Effect.acquireUseRelease(
          Effect.sync(() => serving.add(partition)),
          () => Effect.never,
          () => Effect.sync(() => serving.delete(partition))
        )
      return {
        placement,
        serving,
        place: Scope.provide(placement.place(4, serve), scope),
        end: Scope.close(scope, Exit.void)
      }
    })
  return { lock, start }
})

/** The session that holds the deployment's lock. */
const holderOf = (lock: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const [row] = yield* sql<{ readonly pid: number }>`
      select pid from pg_stat_activity where datname = current_database() and application_name like ${`%lock ${lock}`}
        and pid in (select pid from pg_locks where locktype = 'advisory' and granted)`
    return row?.pid
  })

layer(freshDatabase().pipe(Layer.provideMerge(Logger.layer([]))), {
  excludeTestServices: true,
  timeout: patienceMillis
})("the placement of one machine", (it) => {
  it.effect("the first process runs all partitions, the second is refused and told who does", () =>
    Effect.gen(function* () {
      const { start } = yield* deployment
      const first = yield* start("first")
      assert.isFalse(yield* first.placement.owns(0))
      yield* first.place
      assert.deepStrictEqual([...first.serving].sort(), [0, 1, 2, 3])
      assert.isTrue(yield* first.placement.owns(3))
      const second = yield* start("second")
      const error = yield* Effect.flip(second.place)
      assert.strictEqual(error._tag, "PlacementRefused")
      assert.match(error.message, /Another process runs the partitions.*"first lock.*stop the other one/)
      assert.strictEqual(second.serving.size, 0)
      assert.isFalse(yield* second.placement.owns(0))
      assert.isTrue(yield* first.placement.owns(0))
    })
  )

  it.effect("what ends gives the lock back after its partitions have ended", () =>
    Effect.gen(function* () {
      const { start } = yield* deployment
      const first = yield* start("first")
      yield* first.place
      const second = yield* start("second")
      // A successor waits a moment for a predecessor that is just ending.
      const waiting = yield* Effect.forkScoped(second.place)
      yield* first.end
      assert.strictEqual(first.serving.size, 0)
      yield* Fiber.join(waiting)
      assert.strictEqual(second.serving.size, 4)
      assert.isTrue(yield* second.placement.owns(0))
      assert.isFalse(yield* first.placement.owns(0))
    })
  )

  it.effect("deployments on locks of their own do not meet", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* deployment, yield* deployment]
      yield* Effect.flatMap(one.start("one"), (process) => process.place)
      yield* Effect.flatMap(two.start("two"), (process) => process.place)
    })
  )

  it.effect("a lost lock: the partitions go on, and the lock is taken again", () =>
    Effect.gen(function* () {
      const { lock, start } = yield* deployment
      const first = yield* start("first")
      yield* first.place
      const before = (yield* holderOf(lock))!
      assert.isTrue(yield* terminate(before))
      yield* until(Effect.map(holderOf(lock), (holder) => holder !== undefined && holder !== before))
      yield* until(first.placement.owns(0))
      assert.strictEqual(first.serving.size, 4)
    })
  )

  it.effect("a lock that another process has taken meanwhile is not taken back", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const { lock, start } = yield* deployment
      const proxy = yield* proxyTo(Redacted.value(config.url))
      const first = yield* start("first", { url: Redacted.make(proxy.url) })
      yield* first.place
      // The network of the first one breaks for good; the server forgets it.
      yield* proxy.freeze
      yield* terminate((yield* holderOf(lock))!)
      const second = yield* start("second")
      yield* second.place
      yield* proxy.thaw
      yield* proxy.cut
      yield* until(Effect.map(first.placement.owns(0), (owns) => !owns).pipe(Effect.catch(() => Effect.succeed(false))))
      assert.isTrue(yield* second.placement.owns(0))
      yield* second.end
      yield* until(first.placement.owns(0).pipe(Effect.catch(() => Effect.succeed(false))))
    })
  )

  it.effect("without the database nothing can be said, which is not the same as no", () =>
    Effect.gen(function* () {
      const { config } = yield* TestDatabase
      const { start } = yield* deployment
      const proxy = yield* proxyTo(Redacted.value(config.url))
      const first = yield* start("first", { url: Redacted.make(proxy.url), connectTimeoutMillis: 300 })
      yield* first.place
      yield* proxy.freeze
      const error = yield* Effect.flip(first.placement.owns(0))
      assert.strictEqual(error._tag, "PlacementUnavailable")
      yield* proxy.thaw
    })
  )
})
