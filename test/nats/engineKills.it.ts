/**
 * The engine under load on real servers that are killed: every answered decision is there afterwards, none is there twice, and what a reactor
 * writes is there once for each.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isRetryable } from "../../src/engine/errors.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { patienceMillis } from "../support/patience.ts"
import { deployment, notes, type ProcessOptions, servingEngine, underLoad } from "./engineSupport.ts"
import { waitUntil } from "./jetStreamSupport.ts"
import { threeServers } from "./natsServers.ts"

type Load = Effect.Success<ReturnType<typeof underLoad>>

/** What a new process finds is what was answered, and nothing twice. */
const assertAllThere = (options: ProcessOptions, { answered, asked, failures }: Load) =>
  Effect.gen(function* () {
    for (const failure of failures) assert.isTrue(isRetryable(failure, { isIdempotent: true }), String(failure))
    const { engine, stop } = yield* servingEngine(options)
    const found = yield* notes(engine)
    const stored = new Set(found)
    assert.strictEqual(stored.size, found.length, "something is there twice")
    assert.deepStrictEqual(
      [...answered].filter((text) => !stored.has(text)),
      [],
      "answered and lost"
    )
    assert.deepStrictEqual(
      found.filter((text) => !asked.has(text)),
      []
    )
    yield* stop
    return found
  })

describe("the engine on servers that are killed", { timeout: patienceMillis }, () => {
  it.live("a server killed under load, again and again", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const { engine, stop } = yield* servingEngine({ ...options, engine: { config: { checkpointFrames: 50 } } })
      const load = yield* underLoad(engine)
      for (let round = 0; round < 5; round++) {
        yield* load.more(200)
        yield* server.kill
        yield* server.start
      }
      yield* load.more(200)
      yield* load.stop
      yield* stop
      yield* assertAllThere(options, load)
    })
  )

  it.live("a server that stands still under load, longer than every timeout but the callers'", () =>
    Effect.gen(function* () {
      const { options, server } = yield* deployment
      const { engine, stop } = yield* servingEngine(options)
      const load = yield* underLoad(engine)
      yield* load.more(100)
      yield* server.freeze
      // Until the engine has given the frame up and recovers.
      yield* waitUntil(Effect.map(engine.status, ([partition]) => partition?.status._tag !== "Serving"))
      yield* server.thaw
      yield* load.more(200)
      yield* load.stop
      yield* stop
      yield* assertAllThere(options, load)
    })
  )

  it.live("a reactor's rows, with the server killed and every session of the database ended", () =>
    Effect.gen(function* () {
      const { options, server, sql } = yield* deployment
      yield* sql`create table seen (id int8 generated always as identity primary key, text text not null)`
      const reactor = {
        name: "sql",
        handle: (records: ReadonlyArray<LogRecord>) =>
          Effect.gen(function* () {
            const inner = yield* SqlClient.SqlClient
            for (const record of records) {
              const text = record._tag === "Fact" ? (record.fact as { readonly text?: string }).text : undefined
              if (text !== undefined) yield* inner`insert into seen (text) values (${text})`
            }
          })
      }
      const withReactor = { ...options, engine: { reactors: [reactor], config: { checkpointFrames: 20 } } }
      const { engine, stop } = yield* servingEngine(withReactor)
      const load = yield* underLoad(engine, 8)
      for (let round = 0; round < 3; round++) {
        yield* load.more(100)
        yield* server.kill
        yield* sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`
        yield* server.start
      }
      yield* load.more(100)
      yield* load.stop
      yield* stop
      const found = yield* assertAllThere(withReactor, load)
      const { stop: stopLast } = yield* servingEngine(withReactor)
      const rows = sql<{ readonly text: string }>`select text from seen`
      yield* waitUntil(Effect.map(rows, (seen) => seen.length >= found.length))
      assert.deepStrictEqual((yield* rows).map((row) => row.text).sort(), [...found].sort())
      yield* stopLast
    })
  )

  it.live("[platform 8.4] three servers with three copies, one after the other killed", () =>
    Effect.gen(function* () {
      const servers = yield* threeServers
      const { options } = yield* deployment
      const clustered = { ...options, natsUrl: servers.map((server) => server.url).join(","), replicas: 3 as const }
      const { engine, stop } = yield* servingEngine(clustered)
      const load = yield* underLoad(engine, 8)
      for (const server of servers) {
        yield* load.more(50)
        yield* server.kill
        // The two others go on.
        yield* load.more(50)
        yield* server.start
      }
      yield* load.stop
      yield* stop
      yield* assertAllThere(clustered, load)
    })
  )
})
