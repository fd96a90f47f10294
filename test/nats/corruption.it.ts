/**
 * Damage to the store of a real nats-server that had stopped: a flipped bit, a block cut short, a lost stream, an older
 * copy. A partition then has everything that was acknowledged, or refuses to start and says why; it never serves a part.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { often } from "../support/often.ts"
import { patienceMillis } from "../support/patience.ts"
import {
  databaseWithTables,
  deployment,
  keys,
  names,
  note,
  notes,
  type ProcessOptions,
  servingEngine,
  startEngine
} from "./engineSupport.ts"
import { connectTo, eventually, waitUntil } from "./jetStreamSupport.ts"
import { type NatsServer, threeServers } from "./natsServers.ts"

const acknowledged = 400

/** Frames of which no checkpoint knows, so that a start needs all of them. */
const noCheckpoints = { config: { checkpointFrames: 1_000_000, checkpointMillis: 3_600_000 } } as const

/** Notes, acknowledged, in a log whose server has then stopped. */
const written = Effect.gen(function* () {
  const { options, server } = yield* deployment
  const first = yield* servingEngine({ ...options, engine: noCheckpoints })
  yield* Effect.forEach(names(0, acknowledged), (text, index) => note(first.engine, text, keys[index % keys.length]), {
    concurrency: 16,
    discard: true
  })
  // A graceful end would write a checkpoint.
  yield* server.kill
  yield* first.stop
  const folder = join(server.store, "SLUICE", "streams", "log-0", "msgs")
  const whole = `${server.store}.whole`
  cpSync(server.store, whole, { recursive: true })
  const restore = Effect.sync(() => {
    rmSync(server.store, { recursive: true, force: true })
    cpSync(whole, server.store, { recursive: true })
  })
  return { options, server, folder, restore }
})

const blocksOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".blk"))
    .map((name) => join(folder, name))

/** What a start finds: everything, or the reason of its refusal. */
const startOn = (options: ProcessOptions, server: Pick<NatsServer, "kill" | "start">) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* server.start
      const found = yield* Effect.exit(startEngine(options))
      // A log that was lost is refused before there is a partition.
      if (Exit.isFailure(found)) return String(found.cause)
      const { engine, stop } = found.value
      const ready = yield* Effect.exit(engine.ready)
      if (Exit.isFailure(ready)) return String(ready.cause)
      const all = yield* notes(engine)
      yield* stop
      assert.deepStrictEqual(all.toSorted(), names(0, acknowledged).toSorted())
      return "everything is there"
    })
  ).pipe(Effect.ensuring(server.kill))

describe("a damaged store of NATS", { timeout: patienceMillis }, () => {
  it.live("with a flipped bit anywhere in its blocks gives everything, or is refused", () =>
    Effect.gen(function* () {
      const { folder, options, restore, server } = yield* written
      const places = often(24)
      const results = new Set<string>()
      for (let place = 0; place < places; place++) {
        yield* restore
        const [block] = blocksOf(folder)
        const bytes = readFileSync(block!)
        const at = Math.floor((bytes.length * (place + 0.5)) / places)
        bytes[at]! ^= 1 << (place % 8)
        writeFileSync(block!, bytes)
        const result = yield* startOn({ ...options, engine: noCheckpoints }, server)
        results.add(/^everything/.test(result) ? "everything" : "refused")
      }
      // At least one bit was one that a start needs.
      assert.include([...results], "refused")
    })
  )

  it.live("with a block that was cut short is refused, and says what is missing", () =>
    Effect.gen(function* () {
      const { folder, options, server } = yield* written
      for (const block of blocksOf(folder)) truncateSync(block, Math.floor(readFileSync(block).length / 2))
      const result = yield* startOn(options, server)
      assert.match(result, /lost|missing|another frame/)
    })
  )

  it.live("without the log's stream is refused, and makes no new one", () =>
    Effect.gen(function* () {
      const { folder, options, server } = yield* written
      rmSync(join(folder, ".."), { recursive: true })
      assert.notMatch(yield* startOn(options, server), /^everything/)
    })
  )

  it.live("whose index is damaged is read from its blocks", () =>
    Effect.gen(function* () {
      const { folder, options, server } = yield* written
      const index = join(folder, "index.db")
      // It is written when a server stops by itself.
      yield* server.start
      process.kill(server.pid(), "SIGTERM")
      yield* waitUntil(Effect.sync(() => existsSync(index)))
      yield* server.kill
      const bytes = readFileSync(index)
      bytes[Math.floor(bytes.length / 2)]! ^= 1
      writeFileSync(index, bytes)
      assert.strictEqual(yield* startOn(options, server), "everything is there")
    })
  )
})

/** Notes, acknowledged, in a log of three copies whose servers have then stopped. */
const writtenThrice = Effect.gen(function* () {
  const servers = yield* threeServers
  const { database } = yield* databaseWithTables
  const natsUrl = servers.map(({ url }) => url).join(",")
  const options: ProcessOptions = { natsUrl, database, replicas: 3, engine: noCheckpoints }
  const first = yield* servingEngine(options)
  yield* Effect.forEach(names(0, acknowledged), (text, index) => note(first.engine, text, keys[index % keys.length]), {
    concurrency: 16,
    discard: true
  })
  yield* Effect.forEach(servers, ({ kill }) => kill, { discard: true })
  yield* first.stop
  return { options, servers }
})

/** Makes a server the leader of the log. */
const lead = Effect.fnUntraced(function* (servers: ReadonlyArray<NatsServer>, wanted: number) {
  const { client } = yield* connectTo(servers.map(({ url }) => url).join(","))
  const name = `n${wanted + 1}`
  const ask = (subject: string, body = "") =>
    Effect.tryPromise(async () => {
      const answer = await client.request(`$JS.API.STREAM.${subject}.log-0`, body, { timeout: patienceMillis })
      return answer.json<{ readonly cluster?: { readonly leader?: string } }>()
    })
  yield* eventually(
    Effect.gen(function* () {
      if ((yield* ask("INFO")).cluster?.leader === name) return
      yield* ask("LEADER.STEPDOWN", JSON.stringify({ placement: { preferred: name } }))
      return yield* Effect.fail("another one leads")
    })
  )
})

/** The damage that one server's copy gets while all are stopped. */
const damages: Readonly<Record<string, (folder: string) => void>> = {
  "flipped bits": (folder) => {
    for (const block of blocksOf(folder)) {
      const bytes = readFileSync(block)
      for (let at = 500; at < bytes.length; at += 5_000) bytes[at]! ^= 1
      writeFileSync(block, bytes)
    }
  },
  "a block that was cut short": (folder) => {
    for (const block of blocksOf(folder)) truncateSync(block, Math.floor(readFileSync(block).length / 2))
  },
  "no stream": (folder) => rmSync(join(folder, ".."), { recursive: true })
}

/** One damage in `npm test`, each with `SLUICE_TEST_SEEDS=all`: it takes three servers, twice a leader and 15 seconds. */
const tried = Object.keys(damages).slice(0, often(4) > 1 ? undefined : 1)

describe("one damaged copy of three", { timeout: patienceMillis }, () => {
  it.live.each(tried)("with %s gives everything, also where its server leads", (damage) =>
    Effect.gen(function* () {
      const { options, servers } = yield* writtenThrice
      const damaged = damage.length % servers.length
      damages[damage]!(join(servers[damaged]!.store, "SLUICE", "streams", "log-0", "msgs"))
      const all = {
        start: Effect.forEach(servers, (server) => server.start, { discard: true, concurrency: 3 }),
        kill: Effect.void
      }
      assert.strictEqual(yield* startOn(options, all), "everything is there")
      yield* lead(servers, damaged)
      assert.strictEqual(yield* startOn(options, { start: Effect.void, kill: Effect.void }), "everything is there")
    })
  )
})
