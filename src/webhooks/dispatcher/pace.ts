/**
 * How many attempts an endpoint gets at the same time (platform's answer to slow and dead endpoints: they must not take the capacity of
 * healthy ones). It begins with a few, has more the longer it answers well, and after a timeout or a refusal one, in the slow track, whose
 * capacity is apart. Pure.
 */

/** Attempts in flight at an endpoint that nothing is known of, and at most. */
export const firstLimit = 4
export const maximumLimit = 64

/** An answer that takes longer is no quick one: until the next quick one the endpoint is served in the slow track. In milliseconds. */
export const slowAfterMillis = 1_000

/** Endpoints in the slow track wait for each other, not those of the main one for them. */
export type Track = "main" | "slow"

export interface Pace {
  /** Attempts in flight at most, 1 to `maximumLimit`. */
  readonly limit: number
  readonly track: Track
}

export const firstPace: Pace = { limit: firstLimit, track: "main" }

/** After a timeout or a refusal, or while an attempt has been without an answer for `slowAfterMillis`. */
export const slowPace: Pace = { limit: 1, track: "slow" }

/** How an attempt ended: with a 2xx, with another answer, without any. */
export type AttemptEnd = "succeeded" | "answered" | "unanswered"

/** The pace after an attempt that took so long. */
export const paceAfter = ({ limit }: Pace, end: AttemptEnd, durationMillis: number): Pace => {
  if (end === "unanswered") return slowPace
  const track: Track = durationMillis > slowAfterMillis ? "slow" : "main"
  // an endpoint that refuses what it is sent is most likely overloaded
  if (end === "answered") return { limit: Math.max(1, Math.floor(limit / 2)), track }
  return { limit: track === "slow" ? limit : Math.min(maximumLimit, limit + 1), track }
}

/** Deliveries of an endpoint that are held in memory at most: enough to be at work until the next ones are taken, few while it is slow. */
export const windowOf = ({ limit, track }: Pace): number => (track === "slow" ? 2 * limit : 32 * limit)
