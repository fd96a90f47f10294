/** Figures of the hand-off (docs/handoff.md, 2). */

const minuteMillis = 60_000
const hourMillis = 60 * minuteMillis

/**
 * Waits after temporary failures: together with the attempts themselves not more than 72 hours. A mail that waits because no relay can be reached
 * makes no attempt, so it uses none of them up.
 */
export const handoffDelaysMillis: ReadonlyArray<number> = [
  minuteMillis,
  5 * minuteMillis,
  15 * minuteMillis,
  30 * minuteMillis,
  ...[1, 2, 4, 8, 8, 8, 8, 8, 8, 8, 8].map((hours) => hours * hourMillis)
]

/** Longest wait of a mail whose account the relay refuses: once that is repaired, mail goes within this time. */
export const longestAccountWaitMillis = hourMillis

/** The wait after a number of refusals of the account: as after temporary failures, and never longer than an hour. */
export const accountWaitMillis = (refusals: number): number =>
  Math.min(longestAccountWaitMillis, handoffDelaysMillis[refusals] ?? longestAccountWaitMillis)

/** The part of a wait that is drawn at random and left out, so that mails that failed together come back apart. */
export const handoffJitter = 0.1

/** Mails of an account that are under way concurrently, by lane of the queue: first attempts, later ones, and attempts that found the account paused. */
export const underWayLimits = [30, 10, 10] as const

/** Mails under way of all accounts together: their contents are in memory. */
export const maximumUnderWay = 800

/** Emails of acknowledged frames that wait in memory for room, of all accounts and of one; more go by way of the queue. */
export const maximumOffered = 16_384
export const maximumOfferedOfAccount = 1_024

/** Accounts whose mails are looked at in the same moment. Each is by itself, and leaves when its mails are under way. */
export const takingPlaces = 16

/** An account takes more mails when half of its room is free again, and after this time when less is: mails that are taken together cost less. */
export const refillMillis = 500

/** Results are recorded after this time, together with those that come meanwhile. A crash repeats the mails of that much more time. */
export const recordMillis = 50

/** Accounts whose jobs are settled in one statement; each has no more under way than it has room for. */
export const settledTogether = 64

/**
 * An account that has taken few mails takes the next ones after this time, together; after longer where it takes long to look at them, because then everything is busy and
 * mails that go together cost less. The first one after a pause never waits.
 */
export const restMillis = 200

/** The same for mails from memory, which cost no statement. */
export const offeredRestMillis = 20
export const longestRestMillis = 1_000

/** The rest after mails that it took so long to look at. */
export const restMillisAfter = (tookMillis: number): number =>
  Math.min(longestRestMillis, Math.max(restMillis, 5 * tookMillis))

/** How long a taken mail is the taker's. After a crash it is taken again then. */
export const handoffLeaseMillis = 60_000

/** How long it may take to look at a mail and to attempt it, from when it was taken; less than the lease, so that no two work on one mail. */
export const attemptMillis = 50_000

/** How long a transport has for one mail. It bounds its own time; this is for one that hangs. */
export const deliverTimeoutMillis = 48_000

/** How often the queue is searched for mails that are due, beside what the reactor tells. */
export const handoffScanMillis = 2_000

/** How long mails wait whose batch failed because a store, the engine or the transport is away. */
export const troubleMillis = 5_000

/** How often mails of a paused account are looked at all the same; the lift releases them immediately. */
export const pausedLookMillis = hourMillis

/** Mails of which memory knows that they were handed over and not that it is recorded. */
export const maximumUnrecorded = 10_000

/** How often the queue is counted for the metrics: at most and at least, and the part of the time that counting may take in between. */
export const countingMillis = 10_000
export const longestCountingMillis = 120_000
export const countingShare = 0.01

/** The pause after a count that took so long. */
export const countingPauseMillis = (tookMillis: number): number =>
  Math.min(longestCountingMillis, Math.max(countingMillis, tookMillis / countingShare))

/** How long it is remembered that a notice was ordered. */
export const rememberedNoticeMillis = 90 * 24 * hourMillis
