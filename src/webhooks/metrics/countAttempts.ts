/**
 * Counts attempts of deliveries by their endpoint and the hour in which they began (docs/platform.md, 7.11). Pure: the
 * SQL reactor and the dispatcher add the result up in PostgreSQL with the rows of the deliveries.
 */
import { bucketOf, bucketsOf, type DurationBounds } from "../../common/DurationHistogram.ts"
import { hourOf } from "../../common/figuresPeriod.ts"
import type { DeliveryOutcome } from "../delivery/ports.ts"

/**
 * The counts of an hour, each of attempts: `attempts` is the sum of `succeeded` and `failed`, and of the failed ones
 * those that another attempt follows are `retried`.
 */
export const attemptMeasures = ["attempts", "succeeded", "failed", "retried"] as const
export type AttemptMeasure = (typeof attemptMeasures)[number]

/** Bounds of the time until an answer, or until it was given up. */
export const latencyBounds: DurationBounds = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 20_000, 30_000]

/** The part of an attempt that counts. */
export interface CountedAttempt {
  readonly endpointId: string
  /** The start of its hour, milliseconds since the Unix epoch. */
  readonly hour: number
  readonly hasSucceeded: boolean
  readonly isRetried: boolean
  /** The bucket of its duration (`latencyBounds`). */
  readonly bucket: number
}

/** The attempt of an outcome; undefined where none was made. */
export const countedAttempt = ({ delivery, made, result }: DeliveryOutcome): CountedAttempt | undefined =>
  made === null
    ? undefined
    : {
        endpointId: delivery.endpointId,
        hour: hourOf(made.at),
        hasSucceeded: result._tag === "Settled" && result.status === "succeeded",
        isRetried: result._tag === "Again",
        bucket: bucketOf(latencyBounds, made.duration)
      }

/** An addition to the figures of an endpoint and hour. */
export interface AttemptHour {
  readonly endpointId: string
  readonly hour: number
  readonly counts: Record<AttemptMeasure, number>
  /** Attempts by bucket. */
  readonly times: Array<number>
}

/** The figures that attempts add, in the order of endpoints and hours, in which everybody writes them. */
export const countAttempts = (attempts: Iterable<CountedAttempt>): ReadonlyArray<AttemptHour> => {
  const hours = new Map<string, AttemptHour>()
  for (const { bucket, endpointId, hasSucceeded, hour, isRetried } of attempts) {
    const name = `${endpointId}\n${hour}`
    const found = hours.get(name) ?? {
      endpointId,
      hour,
      counts: { attempts: 0, succeeded: 0, failed: 0, retried: 0 },
      times: new Array<number>(bucketsOf(latencyBounds)).fill(0)
    }
    hours.set(name, found)
    found.counts.attempts++
    found.counts[hasSucceeded ? "succeeded" : "failed"]++
    if (isRetried) found.counts.retried++
    found.times[bucket] = found.times[bucket]! + 1
  }
  return [...hours.values()].sort((one, other) =>
    one.endpointId === other.endpointId ? one.hour - other.hour : one.endpointId < other.endpointId ? -1 : 1
  )
}
