/** Lists the figures of single addresses that are to become senders (docs/platform.md, 9.14). */
import { dayMillis } from "../../limits.ts"

/** One mail per address in so long. */
export const mailPauseMillis = 5 * 60_000

/** The time for which a mailed link is valid. */
export const linkMillis = dayMillis

/** Characters of a link's token: 190 bits. */
export const tokenLength = 32

/** The time for which an Idempotency-Key identifies its request. */
export const idempotencyMillis = dayMillis
