/**
 * The load generator's process where there is no wrk: takes a load over the channel, drives it with autocannon and
 * answers with a LoadResult. It counts and times by itself, as autocannon's own latencies are whole milliseconds.
 */
import type { EventEmitter } from "node:events"
import { createRequire } from "node:module"
import { answerTimeoutSeconds, type Load, type LoadResult } from "../runner/load.ts"

/** The part of autocannon that is used; it has no types of its own. */
type Autocannon = (
  options: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly method: "GET" | "POST"
    readonly body?: string
    readonly connections: number
    readonly duration: number
    readonly timeout: number
    readonly excludeErrorStats: boolean
    readonly skipAggregateResult: boolean
  },
  done: (error: Error | null) => void
) => EventEmitter

const autocannon = createRequire(import.meta.url)("autocannon") as Autocannon

/** Width of a class of latencies, and how many there are; the last one takes what is longer. */
const classMillis = 0.01
const classes = 100_000

const percentile = (counts: Uint32Array, total: number, share: number): number => {
  let seen = 0
  for (let at = 0; at < counts.length; at++) {
    seen += counts[at]!
    if (seen >= total * share) return (at + 1) * classMillis
  }
  return Number.POSITIVE_INFINITY
}

const drive = (load: Load & { readonly connections: number }): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const counts = new Uint32Array(classes)
    let answered = 0
    let refused = 0
    let lost = 0
    const { url, headers, body, connections, seconds } = load
    const started = performance.now()
    const instance = autocannon(
      {
        url,
        headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
        method: body === undefined ? "GET" : "POST",
        ...(body === undefined ? {} : { body }),
        connections,
        duration: seconds,
        timeout: answerTimeoutSeconds,
        excludeErrorStats: false,
        skipAggregateResult: true
      },
      (error) => {
        if (error !== null) return reject(error)
        const elapsedSeconds = (performance.now() - started) / 1000
        resolve({
          requestsPerSecond: answered / elapsedSeconds,
          p50Millis: percentile(counts, answered, 0.5),
          p99Millis: percentile(counts, answered, 0.99),
          refused,
          lost
        })
      }
    )
    instance.on("response", (_client: unknown, status: number, _bytes: number, millis: number) => {
      answered++
      if (status >= 400) refused++
      const at = Math.floor(millis / classMillis)
      counts[at < classes ? at : classes - 1]!++
    })
    instance.on("reqError", () => lost++)
  })

process.on("message", (load: Load & { readonly connections: number }) => {
  drive(load).then(
    (result) => process.send!(result),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    }
  )
})
process.on("SIGTERM", () => process.exit(0))
