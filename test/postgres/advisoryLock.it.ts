import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Schedule, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { hold, lockKey } from "../../src/postgres/advisoryLock.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { proxyTo, terminate, until } from "./support.ts"

/** Sessions that hold an advisory lock in this database. */
const holders = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly pid: number }>`SELECT pid FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  return rows.map((row) => row.pid)
})

/** Sessions opened for locks, holding or not. */
const sessions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE '% lock %'`
  return rows.length
})

layer(freshDatabase({ maxConnections: 2 }), { excludeTestServices: true })("advisory locks", (it) => {
  it.effect("one holds, others are told who; after the release the next one holds", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Scope.provide(hold("owner"), scope)
      const [pid] = yield* holders
      const error = yield* Effect.flip(hold("owner"))
      expect(error._tag).toBe("LockHeld")
      if (error._tag === "LockHeld") {
        expect(error.holder).toMatchObject({ processId: pid, applicationName: "sluice lock owner" })
        expect(error.holder?.clientAddress).toBe("127.0.0.1")
        expect(error.holder?.since.getTime()).toBeGreaterThan(0)
      }
      expect(error.message).toContain(`"sluice lock owner" from 127.0.0.1`)
      // The refused attempt has left no session behind, although its scope is still open.
      yield* until(Effect.map(sessions, (count) => count === 1))
      yield* Scope.close(scope, Exit.void)
      // At once: the release does not wait for the server to notice the end of a session.
      yield* hold("owner")
      expect((yield* holders).length).toBe(1)
    })
  )

  it.effect("other names and other databases do not stand in the way", () =>
    Effect.gen(function* () {
      yield* hold("a")
      yield* hold("b")
      yield* hold(42n)
      expect((yield* Effect.flip(hold(lockKey("a"))))._tag).toBe("LockHeld")
      expect((yield* Effect.flip(hold(42n)))._tag).toBe("LockHeld")
      yield* Effect.provide(hold("a"), freshDatabase())
    })
  )

  it.effect("of many who want it, one at a time gets it, and all of them in the end", () =>
    Effect.gen(function* () {
      let inside = 0
      let most = 0
      const visit = Effect.scoped(
        Effect.gen(function* () {
          yield* hold("contended").pipe(
            Effect.retry({ while: (error) => error._tag === "LockHeld", schedule: Schedule.spaced("5 millis") })
          )
          most = Math.max(most, ++inside)
          yield* Effect.sleep(5)
          inside--
        })
      )
      yield* Effect.forEach(Array.from({ length: 6 }), () => visit, { concurrency: "unbounded" })
      expect(most).toBe(1)
    })
  )

  it.effect("a killed connection is the loss of the lock, told to the holder", () =>
    Effect.gen(function* () {
      const held = yield* hold("killed")
      const [pid] = yield* holders
      const waiting = yield* Effect.forkChild(held.lost, { startImmediately: true })
      expect(yield* terminate(pid!)).toBe(true)
      const lost = yield* Fiber.join(waiting)
      expect(lost._tag).toBe("LockLost")
      expect(lost.message).toContain('The lock "killed" is lost')
      // Told again to who asks later, and free for the next one.
      expect((yield* held.lost)._tag).toBe("LockLost")
      yield* hold("killed")
    })
  )

  it.effect("a silent network is the loss of the lock", () =>
    Effect.gen(function* () {
      const { config, url } = yield* TestDatabase
      const proxy = yield* proxyTo(Redacted.value(url))
      const held = yield* hold("silent", { watch: { intervalMillis: 50, timeoutMillis: 200 } }).pipe(
        Effect.provide(PgClient.layer({ ...config, url: Redacted.make(proxy.url) }))
      )
      yield* proxy.freeze
      expect((yield* held.lost).detail).toContain("no sign of life")
    })
  )

  it.effect("is not lost while the holder lives and the server answers", () =>
    Effect.gen(function* () {
      const held = yield* hold("kept", { watch: { intervalMillis: 5, timeoutMillis: 5_000 } })
      const waiting = yield* Effect.forkChild(held.lost, { startImmediately: true })
      const sql = yield* SqlClient.SqlClient
      const [pid] = yield* holders
      // Several signs of life have been asked for and given.
      const last = () =>
        Effect.map(
          sql<{ readonly at: Date }>`SELECT state_change AS at FROM pg_stat_activity WHERE pid = ${pid}`,
          (rows) => rows[0]!.at.getTime()
        )
      const before = yield* last()
      yield* until(Effect.map(last(), (at) => at > before + 50))
      expect(waiting.pollUnsafe()).toBe(undefined)
      expect(yield* holders).toEqual([pid])
    })
  )

  it.effect("a server that is not there is a connection error", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.provide(hold("x"), PgClient.layer({ url: Redacted.make("postgres://x:y@127.0.0.1:1/z") }))
      )
      expect(error._tag === "SqlError" && error.reason._tag).toBe("ConnectionError")
    })
  )
})
