/** A log on a nats-server and its database belong together: two databases never write into one another's streams, and streams of before are adopted once. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, type Redacted, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import * as Durable from "../../src/durable.ts"
import * as Actor from "../../src/engine/Actor.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { acceptLoss } from "../../src/engine/operator/acceptLoss.ts"
import { requireOwnLogs } from "../../src/engine/shell/partition/ownLogs.ts"
import type { StreamInfo } from "../../src/nats/jetStreamApi.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { Counter } from "../engine/support/actors.ts"
import { makeDatabase } from "../support/database.ts"
import { patienceMillis } from "../support/patience.ts"
import {
  databaseWithTables,
  deployment,
  note,
  notes,
  type ProcessOptions,
  ports,
  servingEngine,
  startEngine
} from "./engineSupport.ts"
import { connectTo, waitUntil } from "./jetStreamSupport.ts"

const streamOf = Effect.fnUntraced(function* (natsUrl: string, partition = 0) {
  const { client } = yield* connectTo(natsUrl)
  const answer = yield* Effect.promise(() =>
    client.request(`$JS.API.STREAM.INFO.log-${partition}`, "", { timeout: patienceMillis })
  )
  return answer.json<StreamInfo>()
})

/** As a stream is that an earlier version has made. */
const forgetId = Effect.fnUntraced(function* (natsUrl: string) {
  const { client } = yield* connectTo(natsUrl)
  const { config } = yield* streamOf(natsUrl)
  const body = JSON.stringify({ ...config, metadata: {} })
  yield* Effect.promise(() => client.request("$JS.API.STREAM.UPDATE.log-0", body, { timeout: patienceMillis }))
  assert.isUndefined((yield* streamOf(natsUrl)).config.metadata?.["sluice.deployment"])
})

const sameServer = (options: ProcessOptions) =>
  Effect.map(databaseWithTables, ({ database }): ProcessOptions => ({ ...options, database }))

/** Does not start, and leaves the stream as it was. */
const refused = Effect.fnUntraced(function* (options: ProcessOptions) {
  const before = yield* streamOf(options.natsUrl)
  const error = yield* Effect.flip(Effect.scoped(Effect.flatMap(startEngine(options), ({ engine }) => engine.ready)))
  const after = yield* streamOf(options.natsUrl)
  assert.deepStrictEqual([after.config, after.state], [before.config, before.state])
  return error.message
})

const giveUp = (options: ProcessOptions, dryRun: boolean) =>
  Effect.scoped(Effect.provide(acceptLoss(0, { dryRun, reactors: [] }), ports(options)))

describe("deployments on one nats-server", { timeout: patienceMillis }, () => {
  it.live("another database is refused before anything is written, and the first one goes on", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const first = yield* servingEngine(options)
      yield* note(first.engine, "note 0")
      const second = yield* sameServer(options)
      // More room than the stream has would be given to a stream of its own.
      const message = yield* refused({ ...second, maximumBytes: 2 * 64 * 1024 * 1024 })
      assert.match(
        message,
        /the stream log-0 belongs to the deployment [0-9a-f-]{36}, and the database test_\w+ at .* is of the deployment/
      )
      assert.include(message, "SLUICE_LOG_NAMESPACE")
      assert.match((yield* Effect.flip(giveUp(second, false))).message, /belongs to the deployment/)
      yield* note(first.engine, "note 1")
      assert.deepStrictEqual(yield* notes(first.engine), ["note 0", "note 1"])
    })
  )

  it.live(
    "a server, or a namespace, without the logs is refused and nothing is made there; it goes on where it was",
    () =>
      Effect.gen(function* () {
        const { options } = yield* deployment
        const first = yield* servingEngine(options)
        yield* note(first.engine, "note 0")
        yield* first.stop
        const wrong = { ...options, namespace: "elsewhere" }
        const { message } = yield* Effect.flip(Effect.provide(requireOwnLogs(1), ports(wrong)))
        assert.include(message, "this NATS has none of this deployment's logs")
        assert.notInclude(message, "accept-loss")
        // A partition that looks there later makes nothing either.
        const { engine } = yield* startEngine(wrong)
        yield* waitUntil(
          Effect.map(
            engine.status,
            ([found]) =>
              found?.status._tag === "Stopped" &&
              found.status.reason.includes("this NATS has no stream elsewhere-log-0")
          )
        )
        const { client } = yield* connectTo(options.natsUrl)
        const names = yield* Effect.promise(() =>
          client.request("$JS.API.STREAM.NAMES", "", { timeout: patienceMillis })
        )
        assert.include(names.string(), "log-0")
        assert.notInclude(names.string(), "elsewhere-log")
        const again = yield* servingEngine(options)
        assert.deepStrictEqual(yield* notes(again.engine), ["note 0"])
      })
  )

  it.live("of two databases that start at the same moment one gets the log", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const other = yield* sameServer(options)
      const both = yield* Effect.all(
        [options, other].map((one) =>
          Effect.result(Effect.flatMap(servingEngine(one), ({ engine }) => note(engine, "mine")))
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(both.map(({ _tag }) => _tag).sort(), ["Failure", "Success"])
    })
  )

  it.live("a stream from before there were ids is adopted by the database that knows it, and by no other", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const first = yield* servingEngine(options)
      yield* note(first.engine, "note 0")
      yield* first.stop
      yield* forgetId(options.natsUrl)
      const second = yield* sameServer(options)
      assert.match(
        yield* refused(second),
        /the stream log-0 holds frames that the database test_\w+ at .* knows nothing of/
      )
      const again = yield* servingEngine(options)
      assert.deepStrictEqual(yield* notes(again.engine), ["note 0"])
      assert.match((yield* streamOf(options.natsUrl)).config.metadata?.["sluice.deployment"] ?? "", /^[0-9a-f-]{36}$/)
      assert.match(yield* refused(second), /belongs to the deployment/)
    })
  )

  it.live("a database that has lost everything takes a stream without an id over when it is told to", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const first = yield* servingEngine(options)
      yield* note(first.engine, "note 0")
      yield* first.stop
      yield* forgetId(options.natsUrl)
      const second = yield* sameServer(options)
      yield* refused(second)
      const planned = yield* giveUp(second, true)
      assert.isFalse(planned.fits)
      const done = yield* giveUp(second, false)
      assert.deepStrictEqual(done.lines, planned.lines)
      assert.match(done.lines.join("\n"), /Taken over: the stream log-0/)
      const again = yield* servingEngine(second)
      assert.deepStrictEqual(yield* notes(again.engine), ["note 0"])
    })
  )

  it.live("a program that embeds the engine does not reach the logs of a platform on the same server", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const platform = yield* servingEngine(options)
      yield* note(platform.engine, "note 0")
      const own = yield* makeDatabase
      const embedded = (
        given: { readonly namespace?: string; readonly databaseUrl?: Redacted.Redacted<string> | string } = {}
      ) =>
        Effect.scoped(
          Effect.gen(function* () {
            const engine = yield* Engine
            yield* engine.ready
            return yield* engine.ask(Counter, { organization: "org_1", key: "a" }, { _tag: "Add", amount: 1 })
          }).pipe(
            Effect.provide(
              Durable.layer(
                { actors: [Counter], config: { partitions: 1 } },
                {
                  natsUrl: options.natsUrl,
                  databaseUrl: own.url,
                  ...given
                }
              ).pipe(Layer.provide(Logger.layer([])))
            )
          )
        )
      const before = yield* streamOf(options.natsUrl)
      assert.match(
        String(yield* Effect.flip(embedded({ databaseUrl: options.database.url }))),
        /holds the engine of another program/
      )
      const error = yield* Effect.flip(embedded())
      assert.match(String(error), /belongs to the deployment.*`namespace` of `sluice\/durable`/)
      assert.deepStrictEqual((yield* streamOf(options.natsUrl)).state, before.state)
      assert.strictEqual(yield* embedded({ namespace: "mine" }), 1)
      yield* note(platform.engine, "note 1")
    })
  )

  it.live("two programs that name neither a database nor a namespace of their own are not mixed", () =>
    Effect.gen(function* () {
      const { options } = yield* deployment
      const { url } = yield* makeDatabase
      const shop = Actor.make({
        kind: "shop",
        command: Schema.Struct({ cents: Schema.Int }),
        fact: Schema.Struct({ cents: Schema.Int }),
        state: Schema.Int,
        initial: () => 0,
        evolve: (sold, { cents }) => sold + cents,
        decide: (sold, order) => Actor.decided({ facts: [order], reply: sold + order.cents })
      })
      const program = (actors: ReadonlyArray<Actor.AnyActor>, more: Partial<Durable.DurableOptions> = {}) =>
        Effect.flatMap(
          Layer.build(
            Durable.layer(
              { actors, config: { partitions: 1 } },
              { natsUrl: options.natsUrl, databaseUrl: url, ...more }
            ).pipe(Layer.provide(Logger.layer([])))
          ),
          (built) => Effect.tap(Effect.succeed(Context.get(built, Engine)), ({ ready }) => ready)
        )
      const refusal = (actors: ReadonlyArray<Actor.AnyActor>, more?: Partial<Durable.DurableOptions>) =>
        Effect.map(Effect.flip(Effect.scoped(program(actors, more))), ({ _tag, message }) => `${_tag}: ${message}`)
      const add = (engine: Engine["Service"]) =>
        engine.ask(Counter, { organization: "org_1", key: "a" }, { _tag: "Add", amount: 1 })
      const isTaken =
        /^DatabaseTaken: the database test_\w+ holds the engine of another program, with the actors counter, and this one has none of them/

      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* program([Counter])
          assert.strictEqual(yield* add(first), 1)
          // While the first runs, and below when it does not.
          assert.match(yield* refusal([shop]), isTaken)
        })
      )
      const before = yield* streamOf(options.natsUrl)
      // Nothing is written there either, though the database is of an older version, which lacks a step.
      const sql = yield* Effect.provide(PgClient.make({ url }), Reactivity.layer)
      const steps = sql<{ readonly number: number }>`select number from sluice_engine_migrations order by number`
      const [lacking] = yield* sql<{ readonly number: number; readonly name: string }>`
        delete from sluice_engine_migrations where number = (select max(number) from sluice_engine_migrations)
        returning number, name`
      const known = yield* steps
      assert.match(yield* refusal([shop]), isTaken)
      assert.deepStrictEqual(yield* steps, known)
      yield* sql`insert into sluice_engine_migrations ${sql.insert(lacking!)}`
      assert.match(yield* refusal([shop], { namespace: "shop" }), isTaken)
      assert.match(
        yield* refusal([Counter], { namespace: "mine" }),
        /^NamespaceChanged: the log that belongs to the database test_\w+ is without a namespace, and not under the namespace mine/
      )
      assert.deepStrictEqual((yield* streamOf(options.natsUrl)).state, before.state)
      // A later version of the first program has another actor more, and the earlier one may come back.
      for (const [actors, total] of [
        [[Counter, shop], 2],
        [[Counter], 3]
      ] as const)
        assert.strictEqual(yield* Effect.scoped(Effect.flatMap(program(actors), add)), total)
      // The other one has all it needs with a database and a namespace.
      const own = yield* makeDatabase
      const sold = Effect.flatMap(program([shop], { databaseUrl: own.url, namespace: "shop" }), (engine) =>
        engine.ask(shop, { organization: "org_1" }, { cents: 300 })
      )
      assert.strictEqual(yield* Effect.scoped(sold), 300)
    })
  )
})
