/**
 * Adapts the number of concurrent attempts at an endpoint (docs/platform.md, 7.4). An endpoint begins with a few and
 * gets more with each success while its answers do not become slower: that is the load it sustains, quick or slow. It
 * gets fewer when attempts queue up, half after a refusal, and only one after an attempt without an answer. Slow
 * endpoints are served in the slow track, which has a capacity of its own. Pure.
 */

/** The most attempts in flight at a new endpoint, and at any endpoint. */
export const firstLimit = 4
export const maximumLimit = 64

/**
 * An answer that takes longer than this is slow, and until the next quick one the endpoint is served in the slow track.
 * An attempt in the main track that takes longer leaves its place. In milliseconds.
 */
export const slowAfterMillis = 1_000

/**
 * Answers may take this many times as long as an attempt alone before an endpoint gets no more, and before it gets
 * fewer.
 */
const steadyFactor = 2
const queueingFactor = 3

/** An endpoint whose answers take longer than this gets no more, because one in its queue could run out of time. In milliseconds. */
const growingMillis = 6_000

/** Endpoints in the slow track wait for each other; those in the main track do not wait for them. See {@link Webhooks}. */
export type Track = "main" | "slow"

export interface Pace {
  /** Attempts in flight at most, 1 to `maximumLimit`. */
  readonly limit: number
  readonly track: Track
  /** The shortest time until a success since it last had one attempt at a time; infinite before the first. Milliseconds. */
  readonly leastMillis: number
}

export const firstPace: Pace = { limit: firstLimit, track: "main", leastMillis: Number.POSITIVE_INFINITY }

/** The pace after an attempt without an answer. */
export const slowPace: Pace = { limit: 1, track: "slow", leastMillis: Number.POSITIVE_INFINITY }

/**
 * The pace while an attempt waits longer than `slowAfterMillis` and `inFlight` are made: what is slow goes on as it is,
 * and what hangs gets no more.
 */
export const overduePace = ({ leastMillis, limit }: Pace, inFlight: number): Pace => ({
  limit: Math.min(limit, Math.max(firstLimit, inFlight)),
  track: "slow",
  leastMillis
})

/** How an attempt ended: with a 2xx, with another answer, without any. */
export type AttemptEnd = "succeeded" | "answered" | "unanswered"

/** The end of an attempt. */
export interface EndedAttempt {
  readonly end: AttemptEnd
  readonly durationMillis: number
  /** How many the endpoint had when it began, this one included. */
  readonly inFlight: number
  /** Whether it could have no other one. */
  readonly isAlone: boolean
}

/** The pace after an attempt. */
export const paceAfter = (
  { leastMillis, limit }: Pace,
  { durationMillis, end, inFlight, isAlone }: EndedAttempt
): Pace => {
  if (end === "unanswered") return slowPace
  const track: Track = durationMillis > slowAfterMillis ? "slow" : "main"
  // An endpoint that refuses deliveries is most likely overloaded.
  if (end === "answered") return { limit: Math.max(1, Math.floor(limit / 2)), track, leastMillis }
  // Alone it shows how slow it has become by itself; beside others it may have waited for them.
  const least = isAlone ? durationMillis : Math.min(leastMillis, durationMillis)
  const expectedMillis = Math.max(least, slowAfterMillis)
  const isSteady = durationMillis <= steadyFactor * expectedMillis && durationMillis <= growingMillis
  // One that began beside more than may be made now says nothing about what may.
  const isQueueing = durationMillis > queueingFactor * expectedMillis && inFlight <= limit
  const next = isSteady ? limit + 1 : isQueueing ? limit - 1 : limit
  return { limit: Math.min(maximumLimit, Math.max(1, next)), track, leastMillis: least }
}

/** How many deliveries of an endpoint are held in memory: enough to keep it busy until the next ones are taken, few while it is slow. */
export const windowOf = ({ limit, track }: Pick<Pace, "limit" | "track">): number =>
  track === "slow" ? 2 * limit : 32 * limit
