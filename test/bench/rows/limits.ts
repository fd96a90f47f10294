/**
 * Request limits: the limiter beside rate-limiter-flexible's memory limiter, which does the same work of an admitted request,
 * and what they cost an HTTP endpoint, beside the same server without them.
 */
import {
  atLeast,
  atMost,
  type Benchmark,
  benchmark,
  benchmarkInTurns,
  type Round,
  type Stand
} from "../runner/benchmark.ts"
import { ChildFailed } from "../runner/child.ts"
import { type HttpSample, loadNote, standUnderLoad, turns } from "../runner/load.ts"
import { demoKey, filledDataFolder } from "../runner/platform.ts"
import type { LimitedHttpLoad } from "../workloads/limitedHttp.ts"
import type { LimiterLoad } from "../workloads/limiter.ts"
import { runWorkload, startWorkload } from "../workloads/workload.ts"

const measuredSeconds = 2
const memoryKeys = 10_000

const operations = (limiter: LimiterLoad["limiter"], keys: number) => (round: Round) =>
  runWorkload<{ readonly perSecond: number }>(round, "limiter", {
    limiter,
    keys,
    measured: "operations",
    seconds: measuredSeconds
  } satisfies LimiterLoad)

const bytes = (limiter: LimiterLoad["limiter"]) => (round: Round) =>
  runWorkload<{ readonly bytesPerKey: number }>(round, "limiter", {
    limiter,
    keys: memoryKeys,
    measured: "bytes",
    seconds: 0
  } satisfies LimiterLoad)

const operationRows = (keys: number): Benchmark =>
  benchmark({
    name: `limits/${keys === 1 ? "1-key" : `${keys}-keys`}`,
    sides: {
      synchronous: operations("synchronous", keys),
      flexible: operations("flexible", keys),
      effect: operations("effect", keys),
      fiberPerCall: operations("fiberPerCall", keys),
      bucket: operations("bucket", keys),
      allOrNone: operations("allOrNone", keys),
      flexibleUnion: operations("flexibleUnion", keys)
    },
    rows: [
      {
        name: "synchronous",
        unit: "calls/s",
        figure: ({ synchronous }) => synchronous.perSecond,
        peer: ({ flexible }) => flexible.perSecond,
        goal: atLeast(2)
      },
      {
        name: "effect",
        unit: "calls/s",
        figure: ({ effect }) => effect.perSecond,
        peer: ({ flexible }) => flexible.perSecond,
        goal: atLeast(0.4),
        note: "yield* take(key), one fiber"
      },
      {
        name: "fiber-per-call",
        unit: "calls/s",
        figure: ({ fiberPerCall }) => fiberPerCall.perSecond,
        peer: ({ flexible }) => flexible.perSecond,
        note: "Effect.runSync(take(key))"
      },
      {
        name: "bucket",
        unit: "calls/s",
        figure: ({ bucket }) => bucket.perSecond,
        peer: ({ flexible }) => flexible.perSecond,
        goal: atLeast(0.4),
        note: "yield* take(key) of TokenBucket, one fiber"
      },
      {
        name: "all-or-none",
        unit: "calls/s",
        figure: ({ allOrNone }) => allOrNone.perSecond,
        peer: ({ flexibleUnion }) => flexibleUnion.perSecond,
        note: "a bucket and a month of AllOrNone in one decision, beside a union of two limiters that is none"
      }
    ]
  })

const path = "/v1/carrier/9104"
const headers = { authorization: `Bearer ${demoKey}` }

/** Whether a request is counted, as its headers show. */
const requireLimit = async (url: string, limited: boolean): Promise<void> => {
  const response = await fetch(url, { headers })
  const body = await response.text()
  if (response.status !== 200) throw new ChildFailed(`${path} answered ${response.status}: ${body}`)
  if (response.headers.has("x-ratelimit-limit") !== limited) {
    throw new ChildFailed(`${path} is ${limited ? "not " : ""}limited although it should ${limited ? "" : "not "}be`)
  }
}

/** Servers that are up together have a data folder each. */
const http =
  (limited: boolean, counted = true): Stand<HttpSample> =>
  async (workbench) => {
    const dataFolder = await filledDataFolder(workbench, `limits ${limited} ${counted}`)
    const settings: LimitedHttpLoad = { dataFolder, limited, counted }
    const { child, told } = await startWorkload<string>(workbench, "limitedHttp", settings)
    await requireLimit(told + path, limited)
    return standUnderLoad(workbench, child, { url: told + path, headers }, () => child.stop())
  }

export const limitsBenchmarks: ReadonlyArray<Benchmark> = [
  operationRows(1),
  operationRows(10_000),
  benchmark({
    name: "limits/memory",
    sides: { sluice: bytes("synchronous"), flexible: bytes("flexible") },
    rows: [
      {
        name: `${memoryKeys}-keys`,
        unit: "bytes/key",
        figure: ({ sluice }) => sluice.bytesPerKey,
        peer: ({ flexible }) => flexible.bytesPerKey,
        goal: atMost(1),
        note: "the keys' own strings included"
      }
    ]
  }),
  benchmarkInTurns({
    name: "limits/http",
    turns,
    stands: { limited: http(true), unlimited: http(false) },
    rows: [
      {
        name: "throughput",
        unit: "requests/s",
        figure: ({ limited }) => limited.requestsPerSecond,
        peer: ({ unlimited }) => unlimited.requestsPerSecond,
        goal: atLeast(0.95),
        note: loadNote
      },
      {
        name: "cpu",
        unit: "us/request",
        figure: ({ limited }) => limited.serverCpuMicros,
        peer: ({ unlimited }) => unlimited.serverCpuMicros,
        note: "CPU of the server's process"
      }
    ]
  }),
  // The same server, its calls counted as usage or told to nobody.
  benchmarkInTurns({
    name: "usage/http",
    turns,
    stands: { counted: http(true), uncounted: http(true, false) },
    rows: [
      {
        name: "cpu",
        unit: "us/request",
        figure: ({ counted }) => counted.serverCpuMicros,
        peer: ({ uncounted }) => uncounted.serverCpuMicros,
        goal: atMost(1.03),
        note: "CPU of the server's process"
      }
    ]
  })
]
