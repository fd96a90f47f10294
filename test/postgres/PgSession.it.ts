/** A session that ends over TLS: what it says last is TLS too, so that the server logs no fault at each stop. */
import { readFileSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { TLSSocket } from "node:tls"
import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { resolve } from "../../src/postgres/config.ts"
import * as Session from "../../src/postgres/PgSession.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"

const certificate = (name: string) => readFileSync(new URL(`../nats/certificates/${name}`, import.meta.url))
const sslRequestBytes = 8
/** The message by which a client ends a session. */
const terminate = "5800000004"

/** PostgreSQL behind TLS, and what went wrong on its way. */
const tlsBefore = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const faults: Array<string> = []
      const ended: Array<Promise<void>> = []
      const said: Array<string> = []
      const server = createServer((raw) => {
        raw.once("data", (request) => {
          expect(request.byteLength).toBe(sslRequestBytes)
          raw.write("S")
          const secure = new TLSSocket(raw, {
            isServer: true,
            key: certificate("server-key.pem"),
            cert: certificate("server.pem")
          })
          const inner = connect({ host: "127.0.0.1", port })
          for (const socket of [raw, secure, inner]) socket.on("error", ({ message }) => faults.push(message))
          ended.push(new Promise((done) => secure.once("close", () => done())))
          secure.on("data", (bytes: Buffer) => said.push(bytes.toString("hex")))
          secure.pipe(inner).pipe(secure)
        })
      })
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      return { server, port: (server.address() as AddressInfo).port, faults, ended, said }
    }),
    ({ server }) => Effect.sync(() => server.close())
  )

layer(freshDatabase(), { timeout: patienceMillis })("a session over TLS", (it) => {
  it.effect("ends with TLS", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const target = new URL(Redacted.value(url))
      const { ended, faults, port, said } = yield* tlsBefore(Number(target.port))
      target.hostname = "127.0.0.1"
      target.port = String(port)
      const resolved = yield* resolve({ url: Redacted.make(target.href) })
      const secured = { ...resolved, pool: { ...resolved.pool, ssl: { rejectUnauthorized: false } } }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const session = yield* Session.open(secured, "test")
          expect(yield* session.query("select 1 as one")).toEqual([{ one: 1 }])
        })
      )
      yield* Effect.promise(() => Promise.all(ended))
      // The first one only asks whether the server encrypts.
      expect([ended.length > 0, faults, said.at(-1)]).toEqual([true, [], terminate])
    }).pipe(Effect.scoped)
  )
})
