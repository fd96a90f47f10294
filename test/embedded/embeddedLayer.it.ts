/**
 * The engine on servers of its own, in one line, as a library's user starts it (`sluice/embedded`); on the same servers `sluice/durable` with what
 * it may be told: followers and lists on real stores, nodes that share the partitions, and what is refused at once.
 */
import { access, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Option, Redacted, Schedule, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import * as Durable from "../../src/durable.ts"
import * as Embedded from "../../src/embedded.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { beginning } from "../../src/engine/followTypes.ts"
import * as Reactor from "../../src/engine/Reactor.ts"
import * as Reactors from "../../src/engine/Reactors.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { Counter } from "../engine/support/actors.ts"
import { patienceMillis } from "../support/patience.ts"

const target = { organization: "org_1" }
const add = (engine: Engine["Service"], amount: number, key = "") =>
  engine.ask(Counter, { ...target, key }, { _tag: "Add", amount })
const quiet = Layer.provide(Logger.layer([]))
const exists = (path: string) =>
  Effect.promise(() =>
    access(path).then(
      () => true,
      () => false
    )
  )

/** Asks again while an owner does not answer, as a program does: the partitions may still move. */
const untilAnswered = <A, E extends { readonly retryable: boolean }>(effect: Effect.Effect<A, E>) =>
  Effect.retry(effect, { while: ({ retryable }) => retryable, schedule: Schedule.spaced("100 millis") })

describe("an engine with servers of its own", { timeout: patienceMillis }, () => {
  it.live("starts in one line, follows and lists, shares its partitions, and goes on where it stopped", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "sluice-embedded-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      const migrations = [
        {
          number: 1,
          name: "mine",
          run: Effect.flatMap(SqlClient.SqlClient, (sql) => sql`create table mine (id int8 primary key)`)
        }
      ]
      const layer = Embedded.layer(
        { actors: [Counter], config: { partitions: 2 } },
        { folder: join(folder, "data"), migrations }
      ).pipe(quiet)

      yield* Effect.scoped(
        Effect.gen(function* () {
          const built = yield* Layer.build(layer)
          const engine = Context.get(built, Engine)
          yield* engine.ready
          assert.deepStrictEqual(yield* Context.get(built, SqlClient.SqlClient)`select id from mine`, [])
          const facts = yield* Effect.forkChild(
            Stream.runCollect(Stream.take(engine.facts(Counter, target, { after: beginning }), 3))
          )
          const state = yield* Effect.forkChild(
            Stream.runHead(Stream.filter(engine.watch(Counter, target), ({ total }) => total === 6))
          )
          for (const amount of [1, 2, 3]) yield* add(engine, amount)
          assert.deepStrictEqual(
            (yield* Fiber.join(facts)).map(({ fact }) => fact),
            [1, 2, 3].map((amount) => ({ _tag: "Added" as const, amount }))
          )
          assert.strictEqual(Option.getOrThrow(yield* Fiber.join(state)).total, 6)
          for (const key of ["b", "a"]) yield* add(engine, 1, key)
          assert.deepStrictEqual((yield* engine.keys(Counter, "org_1")).keys, ["", "a", "b"])
        })
      )

      const servers = yield* Layer.build(Embedded.layerServers({ folder: join(folder, "data") }).pipe(quiet))
      const { databaseUrl, natsUrl } = Context.get(servers, Embedded.Servers)
      const amounts: Array<number> = []
      const counting = Reactor.make({
        name: "counting",
        parts: [
          Reactor.facts(Counter, (records) =>
            Reactor.onCommit(() => {
              for (const { fact } of records) if (fact._tag === "Added") amounts.push(fact.amount)
            })
          )
        ]
      })
      const engineOptions = { actors: [Counter], reactors: [counting], config: { partitions: 2 } }
      const node = (name: string) =>
        Effect.gen(function* () {
          const scope = yield* Scope.fork(yield* Effect.scope)
          const options = { databaseUrl, natsUrl, migrations, placement: { node: name } }
          const built = yield* Layer.buildWithScope(Durable.layer(engineOptions, options).pipe(quiet), scope)
          return { engine: Context.get(built, Engine), stop: Scope.close(scope, Exit.void) }
        })
      const first = yield* node("first")
      const second = yield* node("second")
      const nodes = [first.engine, second.engine]
      const served = Effect.map(
        Effect.forEach(nodes, ({ status }) => status),
        (statuses) => statuses.map((all) => all.filter((one) => one.status._tag === "Serving").length)
      )
      // Each of the two takes one.
      yield* Effect.repeat(Effect.andThen(Effect.sleep("50 millis"), served), {
        until: ([one, other]) => one === 1 && other === 1
      })
      for (const engine of nodes) {
        assert.strictEqual((yield* untilAnswered(engine.state(Counter, target))).total, 6)
        assert.deepStrictEqual((yield* untilAnswered(engine.keys(Counter, "org_1"))).keys, ["", "a", "b"])
      }
      const followers = yield* Effect.forEach(nodes, (engine) =>
        Effect.forkChild(Stream.runHead(Stream.filter(engine.watch(Counter, target), ({ total }) => total === 16)))
      )
      const facts = yield* Effect.forEach(nodes, (engine) =>
        Effect.forkChild(Stream.runHead(engine.facts(Counter, { ...target, key: "c" })), { startImmediately: true })
      )
      // A far follower begins where the log ends when it has looked.
      yield* Effect.sleep("500 millis")
      yield* add(first.engine, 10)
      yield* add(second.engine, 7, "c")
      for (const follower of followers) assert.isTrue(Option.isSome(yield* Fiber.join(follower)))
      for (const found of facts)
        assert.deepStrictEqual(Option.getOrThrow(yield* Fiber.join(found)).fact, { _tag: "Added", amount: 7 })
      // What a reactor has made is built anew by a process that has all partitions, and by no other.
      const clear = Reactor.onCommit(() => void amounts.splice(0))
      const rebuilt = Effect.provideService(
        Reactors.rebuild({ reactor: "counting", clear, from: "what is kept" }),
        Engine,
        first.engine
      )
      const notHere = yield* Effect.flip(rebuilt)
      assert.strictEqual(notHere._tag, "EngineRefused")
      assert.match(notHere.message, /^partition [01] does not serve in this process/)
      yield* second.stop
      yield* Effect.repeat(Effect.andThen(Effect.sleep("50 millis"), served), { until: ([one]) => one === 2 })
      yield* Effect.provideService(Reactors.settled, Engine, first.engine)
      amounts.push(-1)
      assert.isAbove((yield* rebuilt).frames, 0)
      yield* Effect.provideService(Reactors.settled, Engine, first.engine)
      assert.notInclude(amounts, -1)
      yield* first.stop

      const refusal = (options: Partial<Durable.DurableOptions>, partitions = 2) =>
        Effect.map(
          Effect.flip(
            Effect.scoped(
              Layer.build(
                Durable.layer(
                  { actors: [Counter], config: { partitions } },
                  { databaseUrl, natsUrl, migrations, ...options }
                ).pipe(quiet)
              )
            )
          ),
          ({ message }) => message
        )
      assert.include(yield* refusal({ namespace: "my.shop" }), `namespace must be 1 to 64 letters, digits, _ and -`)
      assert.include(
        yield* refusal({ namespace: "other" }),
        "is without a namespace, and not under the namespace other"
      )
      const fresh = new URL(Redacted.value(databaseUrl))
      fresh.pathname = "/fresh"
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient.SqlClient)
      yield* sql`create database fresh`
      const tooLarge = yield* refusal({ databaseUrl: fresh.href, namespace: "other", maximumLogBytes: 2 ** 45 })
      assert.match(
        tooLarge,
        /2 partitions do not fit the JetStream store: .*set maximumLogBytes to at most \d+, or .*config\.partitions/
      )
      assert.include(yield* refusal({}, 4), "was started with 2 partitions")
    })
  )

  it.live("leaves nothing of a temporary folder", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.scoped(
        Effect.gen(function* () {
          const built = yield* Layer.build(Embedded.layerServers().pipe(quiet))
          const { folder } = Context.get(built, Embedded.Servers)
          assert.isTrue(yield* exists(folder))
          return folder
        })
      )
      assert.isFalse(yield* exists(folder))
    })
  )
})
