/**
 * A database of its own for a file of integration tests, on the run's PostgreSQL (test/support/servers.ts): made when the
 * layer is built, dropped with everything that is still connected to it when the layer goes. Tests on it run in real
 * time: `layer(freshDatabase(), { excludeTestServices: true })("…", (it) => it.effect(…))`.
 */
import { randomUUID } from "node:crypto"
import { jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { inject } from "vitest"
import type { PgConfig, PostgresUrlInvalid } from "../../src/postgres/config.ts"
import { engineMigrations } from "../../src/postgres/migrations.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { logNamespaceOf } from "./platform.ts"

/** The database of the test at hand. */
export class TestDatabase extends Context.Service<
  TestDatabase,
  {
    readonly name: string
    readonly url: Redacted.Redacted<string>
    /** The client's configuration, to build further pools on the same database. */
    readonly config: PgConfig
  }
>()("test/support/TestDatabase") {}

/** The superuser's URL of another database on the run's server. */
export const urlOf = (database: string): string => {
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${database}`
  return url.toString()
}

export type MakeDatabase = Effect.Effect<
  { readonly name: string; readonly url: Redacted.Redacted<string> },
  SqlError.SqlError | PostgresUrlInvalid,
  Scope.Scope
>

/** Deletes the logs of a database's platform, so that what they set aside does not add up over a run. */
const deleteLogs = async (database: string): Promise<void> => {
  const { username, password, host } = new URL(inject("natsUrl"))
  const client = await connect({ servers: host, user: username, pass: password })
  try {
    const manager = await jetstreamManager(client)
    for await (const stream of manager.streams.names(`${logNamespaceOf(`/${database}`)}.>`))
      await manager.streams.delete(stream)
  } finally {
    await client.close()
  }
}

/** Makes a copy of a database and drops it, and the logs that belong to it, with the scope. */
export const makeDatabaseFrom = (template: string): MakeDatabase =>
  Effect.gen(function* () {
    const admin = yield* PgClient.make({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 })
    const name = `test_${randomUUID().replaceAll("-", "")}`
    yield* Effect.acquireRelease(admin`CREATE DATABASE ${admin(name)} TEMPLATE ${admin(template)}`, () =>
      Effect.ignore(
        Effect.andThen(
          admin`DROP DATABASE IF EXISTS ${admin(name)} WITH (FORCE)`,
          Effect.tryPromise(() => deleteLogs(name))
        ),
        { log: "Warn" }
      )
    )
    return { name, url: Redacted.make(urlOf(name)) }
  }).pipe(Effect.provide(Reactivity.layer))

/** Makes an empty database and drops it with the scope. */
export const makeDatabase: MakeDatabase = makeDatabaseFrom("template0")

/** A fresh database and a client on it. */
export const freshDatabase = (
  config: Omit<PgConfig, "url"> = {}
): Layer.Layer<TestDatabase | PgClient.PgClient | SqlClient.SqlClient, SqlError.SqlError | PostgresUrlInvalid> =>
  Layer.unwrap(
    Effect.map(makeDatabase, ({ name, url }) => {
      const full = { ...config, url }
      return Layer.merge(PgClient.layer(full), Layer.succeed(TestDatabase, { name, url, config: full }))
    })
  )

/** Makes the engine's tables in a database that has none. */
export const engineTables = Effect.forEach(engineMigrations, ({ run }) => run, { discard: true })
