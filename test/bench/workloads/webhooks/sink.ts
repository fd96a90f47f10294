/**
 * Where the deliveries of a measurement go: answers 200 to POSTs as fast as it can and counts them. It reads bytes from `node:net`
 * itself, since `node:http` would take more of the machine than what is measured. It can remember events by id, with the delay of
 * their first arrival. What comes on `hangingPath` gets no answer, what comes on `slowPath` a late one, which does not count.
 */
import { createServer, type Socket } from "node:net"
import { Effect } from "effect"
import { eventIdHeader } from "../../../../src/webhooks/secret/signature.ts"
import type { Sample } from "../../runner/benchmark.ts"
import { Latencies } from "../latencies.ts"
import { serveWorkload } from "../workload.ts"
import { hangingPath, millisSince, slowMillis, slowPath } from "./events.ts"

export interface SinkSettings {
  /** Remembers events by id, and how long each was on its way from the moment that its number names. */
  readonly remembers: boolean
}

/** Since it was asked last. */
export interface SinkSample extends Sample {
  /** POSTs that were answered. */
  readonly received: number
  /** Events that arrived for the first time; 0 where none are remembered. */
  readonly distinct: number
  readonly p50Millis: number
  readonly p99Millis: number
  readonly longestMillis: number
}

const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
const headEnd = Buffer.from("\r\n\r\n")
const lengthExpression = /\r\ncontent-length: *(\d+)\r\n/i
const idExpression = new RegExp(`\r\n${eventIdHeader}: *([^\r]+)\r\n`, "i")
const numberExpression = /"tn":"(\d{10})"/

class Counts {
  received = 0
  readonly latencies = new Latencies()
  readonly #seen: Set<string> | undefined

  constructor({ remembers }: SinkSettings) {
    this.#seen = remembers ? new Set() : undefined
  }

  take(head: string, body: Buffer): void {
    this.received++
    if (this.#seen === undefined) return
    const id = idExpression.exec(head)?.[1]
    const number = numberExpression.exec(body.toString("latin1"))?.[1]
    if (id === undefined || number === undefined) throw new Error(`no delivery:\n${head}\n${body}`)
    if (this.#seen.has(id)) return
    this.#seen.add(id)
    this.latencies.record(millisSince(Number(number)))
  }

  sample(): SinkSample {
    const { latencies, received } = this
    const sample = {
      received,
      distinct: latencies.count,
      p50Millis: latencies.percentile(0.5),
      p99Millis: latencies.percentile(0.99),
      longestMillis: latencies.longestMillis
    }
    this.received = 0
    latencies.reset()
    return sample
  }
}

/** Answers the requests of a connection, one after the other. */
const serve = (socket: Socket, counts: Counts): void => {
  let unread: Buffer | undefined
  socket.setNoDelay(true)
  socket.on("error", () => socket.destroy())
  socket.on("data", (chunk: Buffer) => {
    let bytes = unread === undefined ? chunk : Buffer.concat([unread, chunk])
    unread = undefined
    while (bytes.length > 0) {
      const end = bytes.indexOf(headEnd)
      const head = end < 0 ? "" : bytes.toString("latin1", 0, end + 2)
      const bodyAt = end + headEnd.length
      const next = bodyAt + Number(lengthExpression.exec(head)?.[1] ?? 0)
      if (end < 0 || bytes.length < next) {
        unread = bytes
        return
      }
      if (head.startsWith(`POST ${slowPath}`)) setTimeout(() => socket.write(answer), slowMillis)
      else if (!head.startsWith(`POST ${hangingPath}`)) {
        counts.take(head, bytes.subarray(bodyAt, next))
        socket.write(answer)
      }
      bytes = bytes.subarray(next)
    }
  })
}

serveWorkload((settings: SinkSettings) =>
  Effect.gen(function* () {
    const counts = new Counts(settings)
    const server = yield* Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<ReturnType<typeof createServer>>((resolve) => {
            const listening = createServer((socket) => serve(socket, counts))
            listening.listen(0, "127.0.0.1", 4_096, () => resolve(listening))
          })
      ),
      (listening) => Effect.sync(() => listening.close())
    )
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("no port")
    return { told: `http://127.0.0.1:${address.port}`, measure: async () => counts.sample() }
  })
)
