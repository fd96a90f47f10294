import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { PgConnection } from "@effect/sql-pg"
import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { resolve } from "../../src/postgres/config.ts"
import { checkServer, type PostgresRefusal, type PostgresServer } from "../../src/postgres/databaseServer.ts"
import { temporaryFolder } from "../nats/support.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { proxyTo, until } from "./support.ts"

/** The database's URL with parts replaced. */
const urlWith = (change: (url: URL) => void) =>
  Effect.map(TestDatabase, ({ url }) => {
    const changed = new URL(Redacted.value(url))
    change(changed)
    return Redacted.make(changed.toString())
  })

const refusal = (
  url: Redacted.Redacted<string>,
  options = {},
  connectTimeoutMillis = 30_000
): Effect.Effect<PostgresRefusal, PostgresServer> =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(checkServer({ url, connectTimeoutMillis }, options))
    // One sentence for an operator, without what must stay secret.
    expect(error.message).toMatch(/^[^\n]+$/)
    const { password } = new URL(Redacted.value(url))
    if (password !== "") expect(`${error.message}${JSON.stringify(error)}${error.stack}`).not.toContain(password)
    return error
  })

/** A user of the server who lives as long as the test, with a password. */
const makeUser = (options: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const name = `user_${randomUUID().replaceAll("-", "")}`
    const password = randomUUID()
    yield* Effect.acquireRelease(
      sql.unsafe(`CREATE ROLE "${name}" LOGIN PASSWORD '${password}' ${options}`).unprepared,
      () => Effect.ignore(sql`DROP ROLE ${sql(name)}`, { log: "Warn" })
    )
    return {
      name,
      url: urlWith((url) => {
        url.username = name
        url.password = password
      })
    }
  })

layer(freshDatabase({ maxConnections: 2 }), { excludeTestServices: true })("the server's check", (it) => {
  it.effect("accepts the server and says its version", () =>
    Effect.gen(function* () {
      const server = yield* checkServer({ url: yield* urlWith(() => {}) })
      expect(server.majorVersion).toBeGreaterThanOrEqual(16)
      expect(server.version.startsWith(`${server.majorVersion}.`)).toBe(true)
    })
  )

  it.effect("refuses a server that is too old", () =>
    Effect.gen(function* () {
      const error = yield* refusal(yield* urlWith(() => {}), { minimumMajorVersion: 99 })
      expect(error._tag).toBe("PostgresTooOld")
      expect(error.message).toContain("99 or newer is needed")
    })
  )

  it.effect("tells a port where nothing listens", () =>
    Effect.gen(function* () {
      const error = yield* refusal(yield* urlWith((url) => (url.port = "1")))
      expect(error._tag).toBe("PostgresUnreachable")
      expect(error.message).toContain("127.0.0.1:1 ")
      expect(error.message).toContain("ECONNREFUSED")
    })
  )

  it.effect("tells a host that does not exist", () =>
    Effect.gen(function* () {
      const error = yield* refusal(yield* urlWith((url) => (url.hostname = "database.invalid")))
      expect(error._tag).toBe("PostgresUnreachable")
      expect(error.message).toContain("database.invalid")
    })
  )

  it.effect("tells a server that does not answer, within its time", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const proxy = yield* proxyTo(Redacted.value(url))
      yield* proxy.freeze
      const error = yield* refusal(Redacted.make(proxy.url), {}, 300)
      expect(error._tag).toBe("PostgresUnreachable")
      expect(error.message).toContain("no answer within 300 ms")
    })
  )

  it.effect("tells something that is not PostgreSQL", () =>
    Effect.gen(function* () {
      const server = createServer((socket) => {
        socket.on("error", () => {})
        socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n")
      })
      const port = yield* Effect.acquireRelease(
        Effect.callback<number>((resume) => {
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
          })
        }),
        () => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const error = yield* refusal(yield* urlWith((url) => (url.port = String(port))))
      expect(error._tag).toBe("PostgresUnreachable")
    })
  )

  it.effect("tells a server without the TLS that the URL asks for", () =>
    Effect.gen(function* () {
      const error = yield* refusal(yield* urlWith((url) => url.searchParams.set("sslmode", "verify-full")))
      expect(error._tag).toBe("PostgresUnreachable")
      expect(error.message).toContain("TLS")
    })
  )

  it.effect("tells a database that does not exist", () =>
    Effect.gen(function* () {
      const error = yield* refusal(yield* urlWith((url) => (url.pathname = "/absent")))
      expect(error._tag).toBe("PostgresDatabaseMissing")
      expect(error.message).toContain('"absent"')
    })
  )

  it.effect("tells an unknown user", () =>
    Effect.gen(function* () {
      const error = yield* refusal(yield* urlWith((url) => (url.username = "stranger")))
      expect(error._tag).toBe("PostgresAuthenticationFailed")
      expect(error.message).toContain('"stranger"')
    })
  )

  it.effect("tells a wrong and a missing password, and leaves no connection open", () =>
    Effect.gen(function* () {
      const user = yield* makeUser("")
      const { url } = yield* TestDatabase
      const proxy = yield* proxyTo(Redacted.value(url))
      for (const password of ["a-wrong-password", ""]) {
        const changed = new URL(proxy.url)
        changed.username = user.name
        changed.password = password
        const error = yield* refusal(Redacted.make(changed.toString()))
        expect(error._tag).toBe("PostgresAuthenticationFailed")
        expect(error.message).toContain("password")
        yield* until(Effect.map(proxy.connections, (count) => count === 0))
      }
      expect((yield* checkServer({ url: yield* user.url })).target.user).toBe(user.name)
    })
  )

  it.effect("reads the password from a file for each connection, so that it is changed without a restart", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const user = yield* makeUser("")
      const path = join(yield* temporaryFolder, "passwords")
      const writePassword = (password: string) => writeFileSync(path, `*:*:*:${user.name}:${password}\n`)
      writePassword(new URL(Redacted.value(yield* user.url)).password)
      const { pool } = yield* resolve({
        url: yield* urlWith((url) => {
          url.username = user.name
          url.password = ""
          url.searchParams.set("passfile", path)
        })
      })
      const opens = Effect.scoped(Effect.asVoid(PgConnection.make({ ...pool, multiplex: false })))
      yield* opens
      yield* sql.unsafe(`ALTER ROLE "${user.name}" PASSWORD 'renewed'`).unprepared
      expect((yield* Effect.exit(opens))._tag).toBe("Failure")
      writePassword("renewed")
      yield* opens
    })
  )

  it.effect("says that a password file cannot be read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(checkServer({ url: Redacted.make("postgres://u@h/d?passfile=/nowhere/pass") }))
      expect(error.message).toContain("its password file /nowhere/pass cannot be read: ENOENT")
    })
  )

  it.effect("tells a user who may not connect to the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name } = yield* TestDatabase
      const user = yield* makeUser("")
      yield* sql`REVOKE CONNECT ON DATABASE ${sql(name)} FROM PUBLIC`
      const error = yield* refusal(yield* user.url)
      expect(error._tag).toBe("PostgresAuthenticationFailed")
      expect(error.message).toContain("permission denied")
      yield* sql`GRANT CONNECT ON DATABASE ${sql(name)} TO PUBLIC`
    })
  )

  it.effect("tells a server without a free connection", () =>
    Effect.gen(function* () {
      const user = yield* makeUser("CONNECTION LIMIT 0")
      const error = yield* refusal(yield* user.url)
      expect(error._tag).toBe("PostgresUnavailable")
      expect(error.message).toContain("too many connections")
    })
  )

  it.effect("tells a database that cannot be written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name } = yield* TestDatabase
      yield* sql`ALTER DATABASE ${sql(name)} SET default_transaction_read_only = on`
      expect((yield* refusal(yield* urlWith(() => {})))._tag).toBe("PostgresReadOnly")
      yield* sql`ALTER DATABASE ${sql(name)} RESET default_transaction_read_only`
    })
  )
})
