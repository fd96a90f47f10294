/** An engine as the platform runs it: its log, signals and asks on a nats-server, its checkpoints and cursors in PostgreSQL. */
import { Context, Effect, Exit, FiberSet, Layer, Logger, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { Engine, type EngineOptions, layer } from "../../src/engine/Engine.ts"
import { layerLocal, type Placement } from "../../src/engine/ports/Placement.ts"
import { NatsConnection } from "../../src/nats/connection.ts"
import * as JournalJetStream from "../../src/nats/JournalJetStream.ts"
import * as RemoteNats from "../../src/nats/RemoteNats.ts"
import * as SignalsJetStream from "../../src/nats/SignalsJetStream.ts"
import * as CheckpointsPostgres from "../../src/postgres/CheckpointsPostgres.ts"
import * as CursorsPostgres from "../../src/postgres/CursorsPostgres.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { Account, Counter, Reminder } from "../engine/support/actors.ts"
import { engineTables, makeDatabase, type TestDatabase } from "../support/database.ts"
import { maximumBytes, waitUntil } from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"

export interface ProcessOptions {
  readonly natsUrl: string
  readonly database: TestDatabase["Service"]
  readonly partitions?: number
  readonly replicas?: 1 | 3
  readonly maximumBytes?: number
  readonly namespace?: string
  readonly placement?: Layer.Layer<Placement>
  readonly engine?: Partial<EngineOptions<SqlClient.SqlClient>>
}

const services = (options: ProcessOptions) =>
  Layer.merge(
    NatsConnection.layer({ url: Redacted.make(options.natsUrl) }),
    PgClient.layer(options.database.config)
  ).pipe(
    // Restarts and refusals are what these tests are about.
    Layer.provideMerge(Logger.layer([]))
  )

const stores = (options: ProcessOptions) =>
  Layer.mergeAll(
    JournalJetStream.layer({
      maximumBytes: options.maximumBytes ?? maximumBytes,
      namespace: options.namespace,
      ...(options.replicas === undefined ? {} : { replicas: options.replicas })
    }),
    CheckpointsPostgres.layer,
    CursorsPostgres.layer
  )

/** The stored ports, without an engine over them: what an operator's tools use. */
export const ports = (options: ProcessOptions) => Layer.provide(stores(options), services(options))

/** Starts a process's engine; it ends with the scope, or with `stop`, gracefully. */
export const startEngine = (options: ProcessOptions) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const partitions = options.partitions ?? 1
    const { config, ...rest } = options.engine ?? {}
    const replicas = options.replicas ?? 1
    const engineLayer = layer<SqlClient.SqlClient>({
      actors: [Counter, Account, Reminder],
      ...rest,
      config: { partitions, ...config }
    }).pipe(
      Layer.provide([
        stores(options),
        options.placement ?? layerLocal,
        SignalsJetStream.layer({ partitions, maximumBytes, replicas }),
        RemoteNats.layer()
      ]),
      // One connection and one pool a process: a reactor's statements join the cursor's transaction.
      Layer.provide(services(options))
    )
    const context = yield* Layer.buildWithScope(engineLayer, scope)
    return { engine: Context.get(context, Engine), stop: Scope.close(scope, Exit.void) }
  })

/** Starts an engine and waits until it serves. */
export const servingEngine = (options: ProcessOptions) => Effect.tap(startEngine(options), ({ engine }) => engine.ready)

/** A database with the engine's tables. */
export const databaseWithTables = Effect.gen(function* () {
  const { name, url } = yield* makeDatabase
  const database = { name, url, config: { url } }
  const sql = yield* Effect.provide(PgClient.make(database.config), Reactivity.layer)
  yield* Effect.provideService(engineTables, SqlClient.SqlClient, sql)
  return { database, sql }
})

/** A nats-server and a database with the engine's tables, of one deployment. */
export const deployment = Effect.gen(function* () {
  const server = yield* oneServer()
  const { database, sql } = yield* databaseWithTables
  const options: ProcessOptions = { natsUrl: server.url, database }
  return { server, sql, options }
})

export type Running = Engine["Service"]

export const organization = "org_1"

/** Counters among which notes are spread, since an actor's state is bounded. */
export const keys = Array.from({ length: 10 }, (_, index) => `key ${index}`)

export const names = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `note ${from + index}`)

/** A decision that leaves a trace. */
export const note = (engine: Running, text: string, key = keys[0]!) =>
  engine.ask(Counter, { organization, key }, { _tag: "Note", text })

/** Everything that was ever noted, as the actors have it. */
export const notes = (engine: Running) =>
  Effect.map(
    Effect.forEach(keys, (key) => engine.state(Counter, { organization, key })),
    (states) => states.flatMap((state) => [...state.notes])
  )

/** Callers that note one thing after the other, each a new one, until they are told to stop. */
export const underLoad = (engine: Running, callers = 32) =>
  Effect.gen(function* () {
    const asked = new Set<string>()
    const answered = new Set<string>()
    const failures: Array<unknown> = []
    let going = true
    const fibers = yield* FiberSet.make()
    for (let caller = 0; caller < callers; caller++) {
      yield* FiberSet.run(
        fibers,
        Effect.gen(function* () {
          while (going) {
            const text = `note ${asked.size}`
            asked.add(text)
            const result = yield* Effect.result(note(engine, text, keys[asked.size % keys.length]))
            if (result._tag === "Success") answered.add(text)
            else failures.push(result.failure)
            // The load, not a wait: an actor's state is bounded.
            yield* Effect.sleep("10 millis")
          }
        })
      )
    }
    return {
      asked,
      answered,
      failures,
      /** Waits until so many more are answered. */
      more: (count: number) =>
        Effect.suspend(() => {
          const goal = answered.size + count
          return waitUntil(Effect.sync(() => answered.size >= goal))
        }),
      stop: Effect.suspend(() => {
        going = false
        return FiberSet.awaitEmpty(fibers)
      })
    }
  })
