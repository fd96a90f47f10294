/**
 * The request limiter and, beside it, rate-limiter-flexible's memory limiter: operations per second on one or many keys, and
 * bytes per key. A process measures one of them.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect } from "effect"
import { RateLimiterMemory, RateLimiterUnion } from "rate-limiter-flexible"
import {
  AllOrNone,
  type BucketAsk,
  type MonthlyAsk,
  makeMemory,
  RateLimiter,
  TokenBucket,
  TokenBucketRule
} from "../../../src/limits/index.ts"
import { serveWorkload } from "./workload.ts"

/** A limit that no run reaches, so that both limiters do the work of an admitted request. */
const limit = 1_000_000_000
const batch = 10_000

const organizations = (count: number): Array<string> =>
  Array.from({ length: count }, (_, i) => `org_${String(i).padStart(22, "0")}`)

/** Operations per second of `run(times)`, repeated for `seconds` after a warm-up of a fifth of that. */
const operationsPerSecond = async (seconds: number, run: (times: number) => void | Promise<void>): Promise<number> => {
  const repeat = async (seconds: number) => {
    const start = performance.now()
    let operations = 0
    while (performance.now() - start < seconds * 1000) {
      await run(batch)
      operations += batch
    }
    return operations / ((performance.now() - start) / 1000)
  }
  await repeat(seconds / 5)
  return repeat(seconds)
}

/** The synchronous call, with the time from `Date.now()` as the other limiter takes it. */
const synchronous = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  const memory = makeMemory()
  let next = 0
  return operationsPerSecond(seconds, (times) => {
    for (let i = 0; i < times; i++) {
      if (!memory.take(keys[next]!, limit, 1, Date.now()).allowed) throw new Error("refused")
      next = next + 1 === keyCount ? 0 : next + 1
    }
  })
}

/** `yield* limiter.take(key)` in one fiber after the other. */
const throughEffect = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  let next = 0
  const program = Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const some = (times: number) =>
      Effect.gen(function* () {
        for (let i = 0; i < times; i++) {
          const decision = yield* limiter.take(keys[next]!)
          if (!decision.allowed) throw new Error("refused")
          next = next + 1 === keyCount ? 0 : next + 1
        }
      })
    return yield* Effect.promise(() => operationsPerSecond(seconds, (times) => Effect.runPromise(some(times))))
  })
  return Effect.runPromise(Effect.provide(program, RateLimiter.layerMemory({ limit })))
}

/** `yield* bucket.take(key)` in one fiber after the other, of buckets that no run empties. */
const tokenBucket = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  let next = 0
  const program = Effect.gen(function* () {
    const bucket = yield* TokenBucket
    const some = (times: number) =>
      Effect.gen(function* () {
        for (let i = 0; i < times; i++) {
          const decision = yield* bucket.take(keys[next]!)
          if (!decision.allowed) throw new Error("refused")
          next = next + 1 === keyCount ? 0 : next + 1
        }
      })
    return yield* Effect.promise(() => operationsPerSecond(seconds, (times) => Effect.runPromise(some(times))))
  })
  const full = { burst: TokenBucketRule.maximumBurst, tokens: TokenBucketRule.maximumBurst, everyMillis: 1_000 }
  return Effect.runPromise(Effect.provide(program, TokenBucket.layerMemory(full)))
}

/** A fiber of its own for each call. */
const fiberPerCall = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  let next = 0
  const program = Effect.gen(function* () {
    const limiter = yield* RateLimiter
    return yield* Effect.promise(() =>
      operationsPerSecond(seconds, (times) => {
        for (let i = 0; i < times; i++) {
          if (!Effect.runSync(limiter.take(keys[next]!)).allowed) throw new Error("refused")
          next = next + 1 === keyCount ? 0 : next + 1
        }
      })
    )
  })
  return Effect.runPromise(Effect.provide(program, RateLimiter.layerMemory({ limit })))
}

/** `await limiter.consume(key)` of rate-limiter-flexible. */
const rateLimiterFlexible = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  const limiter = new RateLimiterMemory({ points: limit, duration: 60 })
  let next = 0
  return operationsPerSecond(seconds, async (times) => {
    for (let i = 0; i < times; i++) {
      await limiter.consume(keys[next]!)
      next = next + 1 === keyCount ? 0 : next + 1
    }
  })
}

/** `yield* take(organization, asks)` of a bucket and a month that no run fills, one fiber after the other. */
const allOrNone = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  const perSecond: BucketAsk = { kind: "bucket", burst: 1_000_000, tokens: 1_000_000, everyMillis: 1_000 }
  const perMonth: MonthlyAsk = { kind: "monthly", limit }
  let next = 0
  const program = Effect.gen(function* () {
    const { take } = yield* AllOrNone
    const some = (times: number) =>
      Effect.gen(function* () {
        for (let i = 0; i < times; i++) {
          const decision = yield* take(keys[next]!, { perSecond, perMonth })
          if (!decision.allowed) throw new Error("refused")
          next = next + 1 === keyCount ? 0 : next + 1
        }
      })
    return yield* Effect.promise(() => operationsPerSecond(seconds, (times) => Effect.runPromise(some(times))))
  })
  return Effect.runPromise(Effect.provide(program, AllOrNone.layerMemory({ maxKeys: 100_000 })))
}

/** `await union.consume(key)` over two of rate-limiter-flexible's limiters, which counts in one although the other refuses. */
const flexibleUnion = (keyCount: number, seconds: number): Promise<number> => {
  const keys = organizations(keyCount)
  const of = (keyPrefix: string, duration: number) => new RateLimiterMemory({ points: limit, duration, keyPrefix })
  const union = new RateLimiterUnion(of("second", 1), of("month", 2_592_000))
  let next = 0
  return operationsPerSecond(seconds, async (times) => {
    for (let i = 0; i < times; i++) {
      await union.consume(keys[next]!)
      next = next + 1 === keyCount ? 0 : next + 1
    }
  })
}

/** Bytes that `count` keys take in whatever `fill` puts them, the keys' own strings included. */
const bytesPerKey = async (count: number, fill: (key: string) => unknown): Promise<number> => {
  setFlagsFromString("--expose-gc")
  const collect: () => void = runInNewContext("gc")
  const held = () => {
    collect()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  // Made one by one and known to nobody else, as the key of a request is.
  const key = (i: number) => Buffer.from(`org_${String(i).padStart(22, "0")}`, "latin1").toString("latin1")
  await fill(key(0))
  const before = held()
  for (let i = 1; i <= count; i++) await fill(key(i))
  return (held() - before) / count
}

/** Bytes per key of `makeMemory`. */
const ownBytesPerKey = (count: number): Promise<number> => {
  const memory = makeMemory({ maxKeys: count + 1 })
  const now = Date.now()
  return bytesPerKey(count, (key) => memory.take(key, limit, 1, now)).then((bytes) => {
    // Also keeps the table alive until it was measured.
    if (memory.size(now) !== count + 1) throw new Error("a key was not counted")
    return bytes
  })
}

/** Bytes per key of rate-limiter-flexible. */
const flexibleBytesPerKey = async (count: number): Promise<number> => {
  const limiter = new RateLimiterMemory({ points: limit, duration: 600 })
  const bytes = await bytesPerKey(count, (key) => limiter.consume(key))
  if ((await limiter.get("org_".padEnd(26, "0"))) === null) throw new Error("a key was not counted")
  return bytes
}

/** Who is measured, and of what: operations a second, or bytes per key. */
export interface LimiterLoad {
  readonly limiter: "synchronous" | "effect" | "fiberPerCall" | "bucket" | "allOrNone" | "flexible" | "flexibleUnion"
  readonly measured: "operations" | "bytes"
  readonly keys: number
  readonly seconds: number
}

const operations = {
  synchronous,
  effect: throughEffect,
  fiberPerCall,
  bucket: tokenBucket,
  allOrNone,
  flexible: rateLimiterFlexible,
  flexibleUnion
}

serveWorkload(({ keys, limiter, measured, seconds }: LimiterLoad) =>
  Effect.succeed({
    measure: async () => {
      if (measured === "operations") return { perSecond: await operations[limiter](keys, seconds) }
      return { bytesPerKey: await (limiter === "flexible" ? flexibleBytesPerKey(keys) : ownBytesPerKey(keys)) }
    }
  })
)
