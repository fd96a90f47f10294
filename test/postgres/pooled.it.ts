/** A pool between the platform and PostgreSQL: what is sent at the start of a connection, and how one in transaction mode is told. */
import { connect, createServer } from "node:net"
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql"
import { checkServer, isShared, PostgresPooled } from "../../src/postgres/databaseServer.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import type { PgSession } from "../../src/postgres/PgSession.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"

/** The parameters that a start message names. */
const parametersOf = (message: Buffer): ReadonlyArray<string> =>
  message
    .subarray(8)
    .toString()
    .split("\0")
    .filter((text, index) => text !== "" && index % 2 === 0)

/** Those that PgBouncer hands on or tracks without a setting of its own. */
const taken = new Set([
  "user",
  "database",
  "application_name",
  "client_encoding",
  "datestyle",
  "timezone",
  "standard_conforming_strings"
])

it.live(
  "every connection begins with parameters that PgBouncer takes, and its statements are bounded all the same",
  () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const server = new URL(Redacted.value(url))
      const starts: Array<ReadonlyArray<string>> = []
      const proxy = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const listening = createServer((client) => {
            const upstream = connect({ host: server.hostname, port: Number(server.port) })
            client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy())
            upstream.on("error", () => client.destroy()).on("close", () => client.destroy())
            client.on("data", (bytes: Buffer) => {
              // 3.0 of the protocol; a question for TLS has another number.
              if (bytes.length > 8 && bytes.readInt32BE(4) === 196_608) starts.push(parametersOf(bytes))
            })
            client.pipe(upstream).pipe(client)
          })
          listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
        }),
        (listening) => Effect.sync(() => listening.close())
      )
      const through = new URL(server)
      through.port = String((proxy.address() as { readonly port: number }).port)
      const config = { url: Redacted.make(through.toString()), statementTimeoutMillis: 12_345, sharedConnections: 1 }
      yield* checkServer(config)
      const client = yield* Effect.provide(PgClient.make(config), Reactivity.layer)
      const timeout = (sql: SqlClient.SqlClient) =>
        Effect.map(
          sql<{ readonly value: string }>`select current_setting('statement_timeout') as value`,
          ([row]) => row?.value
        )
      expect(yield* timeout(client)).toBe("12345ms")
      expect(yield* timeout(client.pipelined)).toBe("12345ms")
      expect(yield* client.withTransaction(timeout(client))).toBe("12345ms")
      const session = yield* client.session("test")
      expect(yield* session.query("select current_setting('statement_timeout') as value")).toEqual([
        { value: "12345ms" }
      ])
      expect(starts.length).toBeGreaterThan(2)
      for (const start of starts) for (const parameter of start) expect(taken).toContain(parameter.toLowerCase())
    }).pipe(Effect.scoped, Effect.provide(freshDatabase({ maxConnections: 2 }).pipe(Layer.orDie)))
)

/** Sessions of a server that has processes for them in turn. */
const sessions = (pids: ReadonlyArray<number>) => {
  let asked = 0
  const session = {
    query: (sql: string) => Effect.sync(() => (sql.includes("pid") ? [{ pid: pids[asked++ % pids.length] }] : []))
  } as unknown as PgSession
  return isShared(session, Effect.succeed(session))
}

it.effect("two sessions at the same time that are one of the server are those of a pool in transaction mode", () =>
  Effect.gen(function* () {
    expect(yield* sessions([1, 2])).toBe(false)
    expect(yield* sessions([1])).toBe(true)
    // Other clients may take the session in between.
    expect(yield* sessions([1, 2, 3, 3])).toBe(true)
    expect(new PostgresPooled({ target: { host: "h", port: 6432, user: "u", database: "d" } }).message).toContain(
      "pool_mode = session"
    )
  })
)
