/**
 * The log on a real nats-server with `sync_interval: always`: bare fenced publishes of one message each, which is what one gets without an engine,
 * appends of frames by 1, 4 and 8 partitions, and the reading of a long log. Run alone this file prints them:
 * `node test/bench/journal.ts [seconds]`.
 */
import { readFileSync } from "node:fs"
import { type NatsConnection as Client, headers } from "@nats-io/transport-node"
import { Effect, Stream } from "effect"
import type { Journal, Log } from "../../src/engine/Journal.ts"
import { connectTo, journalOn } from "../nats/jetStreamSupport.ts"
import { type NatsServer, oneServer } from "../nats/natsServers.ts"

const expectedHeader = "Nats-Expected-Last-Sequence"
const logBytes = 500 * 1024 * 1024

/** Operations per second, and the time each took where it is of interest. */
export interface Rate {
  readonly perSecond: number
  readonly p50Millis: number
  readonly p99Millis: number
}

const rateOf = (latencies: ReadonlyArray<number>, millis: number): Rate => {
  const sorted = [...latencies].sort((left, right) => left - right)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { perSecond: (latencies.length / millis) * 1000, p50Millis: at(0.5), p99Millis: at(0.99) }
}

/** Fenced publishes of one message each to an opened, otherwise unused log; throws when one is refused. */
export const barePublishes = async (
  client: Client,
  log: Log,
  inFlight: number,
  bytes: number,
  seconds: number
): Promise<Rate> => {
  const subject = `log.${log.partition}`
  const payload = new Uint8Array(bytes).fill(65)
  const { lastSequence } = await Effect.runPromise(log.state)
  const latencies: Array<number> = []
  let next = lastSequence
  const start = performance.now()
  const end = start + seconds * 1000
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < end) {
        const messageHeaders = headers()
        messageHeaders.set(expectedHeader, String(next++))
        const sent = performance.now()
        const answer = await client.request(subject, payload, { timeout: 10_000, headers: messageHeaders })
        if (answer.json<{ readonly error?: unknown }>().error !== undefined) throw new Error(answer.string())
        latencies.push(performance.now() - sent)
      }
    })
  )
  return rateOf(latencies, performance.now() - start)
}

/** Appends of frames, one in flight on each of the logs. */
export const appends = (logs: ReadonlyArray<Log>, bytes: number, seconds: number): Effect.Effect<Rate> =>
  Effect.gen(function* () {
    const frame = new Uint8Array(bytes).fill(65)
    const latencies: Array<number> = []
    const start = performance.now()
    const end = start + seconds * 1000
    yield* Effect.forEach(
      logs,
      (log) =>
        Effect.gen(function* () {
          let expectedLast = (yield* Effect.orDie(log.state)).lastSequence
          while (performance.now() < end) {
            const sent = performance.now()
            const request = { bytes: frame, identity: `${log.partition}/1/1`, expectedLast, timeoutMillis: 10_000 }
            const answer = yield* log.publish(request)
            if (answer._tag !== "Acked") throw new Error(JSON.stringify(answer))
            expectedLast++
            latencies.push(performance.now() - sent)
          }
        }),
      { concurrency: "unbounded", discard: true }
    )
    return rateOf(latencies, performance.now() - start)
  })

/** Reads a log of so many frames; answers milliseconds. */
export const reading = (log: Log, frames: number): Effect.Effect<number> =>
  Effect.gen(function* () {
    const start = performance.now()
    let seen = 0
    yield* Stream.runForEach(log.read(1, frames), (batch) =>
      Effect.sync(() => {
        seen += batch.length
      })
    ).pipe(Effect.orDie)
    if (seen !== frames) throw new Error(`${seen} of ${frames} frames`)
    return performance.now() - start
  })

/** Share of the machine's processors that others than this process and the server used since the last call, in percent. */
const othersOf = (server: NatsServer): (() => number) => {
  const ticks = (text: string) => text.trim().split(/\s+/).map(Number)
  const own = (pid: number) => {
    const fields = ticks(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) \S /s, ""))
    return fields[10]! + fields[11]!
  }
  const look = () => {
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0] = ticks(
      readFileSync("/proc/stat", "utf8").split("\n")[0]!.replace("cpu", "")
    )
    const busy = user + nice + system + irq + soft
    return { total: busy + idle + wait, others: busy - own(process.pid) - own(server.pid()) }
  }
  let last = look()
  return () => {
    const now = look()
    const share = (now.others - last.others) / Math.max(1, now.total - last.total)
    last = now
    return Math.max(0, Math.round(share * 100))
  }
}

const open = (journal: Journal["Service"], first: number, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => first + index),
    journal.open,
    { concurrency: "unbounded" }
  )

/** Everything, printed. */
const program = (seconds: number) =>
  Effect.gen(function* () {
    const server = yield* oneServer()
    const journal = yield* journalOn(server.url, { maximumBytes: logBytes })
    const { client } = yield* connectTo(server.url)
    const others = othersOf(server)
    const print = (name: string, { p50Millis, p99Millis, perSecond }: Rate) =>
      console.log(
        `${name}: ${Math.round(perSecond)}/s, p50 ${p50Millis.toFixed(2)} ms, p99 ${p99Millis.toFixed(2)} ms (others used ${others()} % CPU)`
      )
    const [bare] = yield* open(journal, 0, 1)
    for (const inFlight of [1, 256]) {
      others()
      const rate = yield* Effect.promise(() => barePublishes(client, bare!, inFlight, 300, seconds))
      print(`bare fenced publishes of 300 bytes, ${inFlight} in flight`, rate)
    }
    for (const partitions of [1, 4, 8]) {
      // a small log each, which is enough for a short run, since the server sets the whole bound aside
      const logs = yield* open(journal, partitions, partitions).pipe(Effect.scoped)
      others()
      print(`frames of 30 kB, one in flight on ${partitions} partitions`, yield* appends(logs, 30_000, seconds))
    }
    const frames = 10_000
    const [long] = yield* open(journal, 20, 1)
    const content = Buffer.from(
      JSON.stringify({ v: 1, r: Array.from({ length: 100 }, (_, index) => [0, { id: index, text: "x".repeat(50) }]) })
    )
    for (let expectedLast = 0; expectedLast < frames; expectedLast++) {
      yield* long!.publish({ bytes: content, identity: "20/1/1", expectedLast, timeoutMillis: 10_000 })
    }
    for (let round = 0; round < 3; round++) {
      others()
      const millis = yield* reading(long!, frames)
      console.log(
        `reading ${frames} frames of ${content.length} bytes (100 facts each): ${Math.round(millis)} ms (others used ${others()} % CPU)`
      )
    }
  })

if (import.meta.main) await Effect.runPromise(Effect.scoped(program(Number(process.argv[2] ?? 3))))
