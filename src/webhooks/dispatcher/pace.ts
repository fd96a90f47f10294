/**
 * How many concurrent attempts an endpoint gets (docs/platform.md, 7.4), so that slow and dead endpoints do not take
 * the capacity of healthy ones. An endpoint begins with a few, gets more with each quick success, and after an attempt
 * without an answer only one, in the slow track, which has a capacity of its own. Pure.
 */

/** The most attempts in flight at a new endpoint, and at any endpoint. */
export const firstLimit = 4
export const maximumLimit = 64

/**
 * An answer that takes longer than this is slow, and until the next quick one the endpoint is served in the slow track.
 * In milliseconds.
 */
export const slowAfterMillis = 1_000

/** Endpoints in the slow track wait for each other; those in the main track do not wait for them. */
export type Track = "main" | "slow"

export interface Pace {
  /** Attempts in flight at most, 1 to `maximumLimit`. */
  readonly limit: number
  readonly track: Track
}

export const firstPace: Pace = { limit: firstLimit, track: "main" }

/** The pace after an attempt without an answer, or while an attempt waits longer than `slowAfterMillis`. */
export const slowPace: Pace = { limit: 1, track: "slow" }

/** How an attempt ended: with a 2xx, with another answer, without any. */
export type AttemptEnd = "succeeded" | "answered" | "unanswered"

/** The pace after an attempt that took `durationMillis`. */
export const paceAfter = ({ limit }: Pace, end: AttemptEnd, durationMillis: number): Pace => {
  if (end === "unanswered") return slowPace
  const track: Track = durationMillis > slowAfterMillis ? "slow" : "main"
  // an endpoint that refuses deliveries is most likely overloaded
  if (end === "answered") return { limit: Math.max(1, Math.floor(limit / 2)), track }
  return { limit: track === "slow" ? limit : Math.min(maximumLimit, limit + 1), track }
}

/** How many deliveries of an endpoint are held in memory: enough to keep it busy until the next ones are taken, few while it is slow. */
export const windowOf = ({ limit, track }: Pace): number => (track === "slow" ? 2 * limit : 32 * limit)
