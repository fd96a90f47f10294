/**
 * Counts calls in memory and writes the counts to the log as facts, at most once a second for each organization
 * (docs/platform.md, 11.8). A crash loses the unwritten counts; nothing is counted twice, because a count with an
 * unknown outcome is written again under the same idempotency key. Needs `Engine`.
 */
import { Clock, Duration, Effect, Layer, Metric } from "effect"
import { randomText } from "../../common/identifiers.ts"
import { superviseLoop } from "../../common/superviseLoop.ts"
import { Engine } from "../../engine/Engine.ts"
import { isRetryable } from "../../engine/errors.ts"
import { CallCounts, type CountedProduct } from "../../platform/CallCounts.ts"
import { CallCountsActor, type Calls } from "./model.ts"

/** How often counts are written. */
export const flushMillis = 1_000
/** Most organizations that are counted between two rounds, and most whose counts wait for the log. */
const maximumOrganizations = 50_000
/** Organizations whose counts are written concurrently. */
const flushConcurrency = 64
/**
 * How long an idempotency key is remembered. Counts that could not be stored for longer are given up: they might count
 * twice.
 */
const onceMillis = 10 * 60 * 1000
/** How long a stop waits for the last round. */
const lastFlushMillis = 2_000

const dropped = Metric.counter("sluice_usage_calls_dropped_total", {
  description:
    "Calls that were not counted as usage, because too many organizations called or the log was away too long",
  incremental: true
})

/** Counts that are on their way to the log. */
interface Batch {
  readonly key: string
  readonly calls: Calls
  readonly madeAt: number
}

/** The counts of one process. Bounded and synchronous. */
export class CallCounter {
  private counts = new Map<string, Map<CountedProduct, number>>()
  private readonly waiting = new Map<string, Batch>()
  private readonly onDrop: (calls: number) => void
  private readonly maximum: number

  constructor(onDrop: (calls: number) => void, maximum: number = maximumOrganizations) {
    this.onDrop = onDrop
    this.maximum = maximum
  }

  count(organization: string, product: CountedProduct): void {
    let counts = this.counts.get(organization)
    if (counts === undefined) {
      if (this.counts.size >= this.maximum) {
        this.onDrop(1)
        return
      }
      counts = new Map()
      this.counts.set(organization, counts)
    }
    counts.set(product, (counts.get(product) ?? 0) + 1)
  }

  /** The counts to write now: for each organization its waiting counts, else its new ones. */
  take(now: number, newKey: () => string): ReadonlyArray<readonly [organization: string, batch: Batch]> {
    for (const [organization, { calls, madeAt }] of this.waiting)
      if (now - madeAt >= onceMillis) this.giveUp(organization, calls)
    for (const [organization, counts] of this.counts) {
      if (this.waiting.has(organization)) continue
      if (this.waiting.size >= this.maximum) break
      this.waiting.set(organization, { key: newKey(), calls: [...counts], madeAt: now })
      this.counts.delete(organization)
    }
    return [...this.waiting]
  }

  /** The counts are in the log. */
  stored(organization: string): void {
    this.waiting.delete(organization)
  }

  giveUp(organization: string, calls: Calls): void {
    this.waiting.delete(organization)
    this.onDrop(calls.reduce((sum, [, count]) => sum + count, 0))
  }
}

/** Counts calls and tells the log of them until the scope ends. */
export const layerCallCounts: Layer.Layer<never, never, Engine> = Layer.effect(
  CallCounts,
  Effect.gen(function* () {
    const engine = yield* Engine
    const context = yield* Effect.context<never>()
    dropped.updateUnsafe(0, context)
    const counter = new CallCounter((calls) => dropped.updateUnsafe(calls, context))
    const tell = (organization: string, { calls, key }: Batch) =>
      engine
        .askOnce(
          CallCountsActor,
          { organization },
          { _tag: "CountCalls" as const, calls },
          {
            key,
            digest: key,
            windowMillis: onceMillis
          }
        )
        .pipe(
          Effect.matchEffect({
            onSuccess: () => Effect.sync(() => counter.stored(organization)),
            onFailure: (error) =>
              // Until then it waits. A stopped partition may be repaired within the time that is left.
              isRetryable(error, { isIdempotent: true }) || error._tag === "PartitionStopped"
                ? Effect.void
                : Effect.andThen(
                    Effect.logError("Calls could not be counted", error),
                    Effect.sync(() => counter.giveUp(organization, calls))
                  )
          })
        )
    const flush = Effect.gen(function* () {
      const batches = counter.take(yield* Clock.currentTimeMillis, () => `calls ${randomText()}`)
      yield* Effect.forEach(batches, ([organization, batch]) => tell(organization, batch), {
        concurrency: flushConcurrency,
        discard: true
      })
    })
    yield* Effect.addFinalizer(() => Effect.timeoutOption(flush, lastFlushMillis))
    yield* Effect.forkScoped(
      superviseLoop(Effect.andThen(Effect.sleep(Duration.millis(flushMillis)), flush), {
        failed: "Calls could not be counted",
        retryMillis: flushMillis
      })
    )
    return { count: (organization, product) => counter.count(organization, product) }
  })
)
