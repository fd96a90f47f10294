/**
 * A deployment with many organizations under a skewed load, on this machine: what each decision costs of CPU in each of the three programs, of
 * flushes, of the log and of the database.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Exit, Fiber, Layer, Schedule, Scope } from "effect"
import pg from "pg"
import * as Durable from "../../src/durable.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { internals } from "../../src/engine/shell/partition/internals.ts"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { admit, organizationOf, Sender } from "../bench/workloads/mail.ts"
import { startServers } from "../bench/workloads/servers.ts"
import type { Means } from "../support/longRun.ts"
import { inRunFolder } from "../support/runFolder.ts"
import { cpuBelow } from "./cpuBelow.ts"

export interface CapacityLoad extends Means {
  readonly organizations: number
  /** How long the skewed load goes on. */
  readonly seconds: number
  readonly callers: number
  /** Asks at once while every organization decides for the first time. More share each flush, so that a million of them fit half an hour on a busy machine. */
  readonly firstCallers: number
  readonly partitions: number
}

export interface Phase {
  readonly decisions: number
  readonly seconds: number
  readonly p99Millis: number
  /** Microseconds of CPU for a decision. */
  readonly nodeMicros: number
  readonly natsMicros: number
  readonly postgresMicros: number
  readonly logBytes: number
  readonly frames: number
}

export interface Measured {
  /** Every organization decides once. */
  readonly first: Phase
  /** A few of them decide most. */
  readonly skewed: Phase
  /** Of the database, for each organization, when all of them are in a checkpoint. */
  readonly databaseBytes: number
  /** Of the process, for each organization in memory. */
  readonly residentBytes: number
  readonly inMemory: number
}

/** An ask that is refused because too much waits is asked again after this. */
const overloadedPause = Schedule.spaced("20 millis")

/** How often it is told how far it has come. */
const progressMillis = 30_000

/** The organization of a draw: of each, as often as its place in the list is low (Zipf's law). */
const skewed = (draw: Prng, organizations: number): number => Math.floor(organizations ** draw.next()) - 1

export const runCapacity = (load: CapacityLoad): Promise<Measured> =>
  inRunFolder("capacity", load.signal, (folder, atEnd) => {
    const scope = Scope.makeUnsafe()
    atEnd(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    return Effect.runPromise(Scope.provide(measure(load, folder), scope), { signal: load.signal })
  })

const measure = Effect.fnUntraced(function* (load: CapacityLoad, folder: string) {
  const { tell } = load
  const servers = yield* startServers(folder)
  const config = { partitions: load.partitions }
  const engine = Context.get(yield* Layer.build(Durable.layer({ actors: [Sender], config }, servers)), Engine)
  yield* engine.ready
  const partitions = [...internals(engine).partitions.values()]
  const logs = Effect.map(
    Effect.forEach(partitions, (partition) => partition.log!.state),
    (states) => ({
      frames: states.reduce((sum, { lastSequence }) => sum + lastSequence, 0),
      bytes: states.reduce((sum, { bytes }) => sum + bytes, 0)
    })
  )
  const heap = () => {
    globalThis.gc?.()
    return process.memoryUsage().rss
  }
  const database = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: servers.databaseUrl })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  const databaseBytes = Effect.promise(async () => {
    const { rows } = await database.query<{ readonly bytes: string }>(
      "select pg_database_size(current_database()) as bytes"
    )
    return Number(rows[0]!.bytes)
  })

  /** Asks as many at once as there are callers, until there is nothing left to ask. */
  const phase = (callers: number, next: () => number | undefined) =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const before = {
        log: yield* logs,
        servers: cpuBelow(process.pid),
        own: process.cpuUsage(),
        at: performance.now()
      }
      let decisions = 0
      let number = 0
      let logBytes = 0
      let lastBytes = before.log.bytes
      let isOver = false
      // A log is purged behind its checkpoints, so what it grows by is added up as it grows.
      const watch = Effect.gen(function* () {
        while (!isOver) {
          yield* Effect.sleep(200)
          const { bytes } = yield* logs
          if (bytes > lastBytes) logBytes += bytes - lastBytes
          lastBytes = bytes
        }
      })
      yield* Effect.forkChild(watch)
      const progress = Effect.gen(function* () {
        while (true) {
          yield* Effect.sleep(progressMillis)
          const seconds = (performance.now() - before.at) / 1000
          tell(`  ${decisions} decisions in ${Math.round(seconds)} s`)
        }
      })
      const telling = yield* Effect.forkChild(progress)
      const caller = Effect.gen(function* () {
        for (let one = next(); one !== undefined; one = next()) {
          const begun = performance.now()
          const asked = engine.ask(Sender, { organization: organizationOf(one) }, admit(number++))
          yield* Effect.retry(asked, { times: 200, schedule: overloadedPause })
          decisions++
          if (decisions % 16 === 0) times.push(performance.now() - begun)
        }
      })
      yield* Effect.forEach(Array.from({ length: callers }), () => caller, {
        concurrency: "unbounded",
        discard: true
      })
      isOver = true
      yield* Fiber.interrupt(telling)
      const seconds = (performance.now() - before.at) / 1000
      const own = process.cpuUsage(before.own)
      const after = cpuBelow(process.pid)
      const { bytes, frames } = yield* logs
      if (bytes > lastBytes) logBytes += bytes - lastBytes
      times.sort((left, right) => left - right)
      return {
        decisions,
        seconds,
        p99Millis: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
        nodeMicros: (own.user + own.system) / decisions,
        natsMicros: (after.nats - before.servers.nats) / decisions,
        postgresMicros: (after.postgres - before.servers.postgres) / decisions,
        logBytes: logBytes / decisions,
        frames: frames - before.log.frames
      } satisfies Phase
    })

  const emptyDatabase = yield* databaseBytes
  const emptyHeap = heap()
  let touched = 0
  const first = yield* phase(load.firstCallers, () => (touched < load.organizations ? touched++ : undefined))
  tell(`every organization has decided once: ${Math.round(first.decisions / first.seconds)} decisions/s`)
  const fullHeap = heap()
  const inMemory = partitions.reduce((sum, { core }) => sum + core.probe.counts.actors, 0)
  const draw = new Prng(1, "organizations")
  const end = performance.now() + load.seconds * 1000
  const busy = yield* phase(load.callers, () =>
    performance.now() < end ? skewed(draw, load.organizations) : undefined
  )
  tell(`the skewed load: ${Math.round(busy.decisions / busy.seconds)} decisions/s`)
  // Until all of them are in a checkpoint.
  for (const { core } of partitions) core.wantCheckpoint()
  for (let changed = 1; changed > 0; ) {
    yield* Effect.sleep(500)
    changed = partitions.reduce((sum, { core }) => sum + core.probe.counts.changedActors, 0)
  }
  yield* Effect.promise(() => database.query("vacuum"))
  const fullDatabase = yield* databaseBytes
  return {
    first,
    skewed: busy,
    databaseBytes: (fullDatabase - emptyDatabase) / load.organizations,
    residentBytes: (fullHeap - emptyHeap) / Math.max(1, inMemory),
    inMemory
  } satisfies Measured
})
