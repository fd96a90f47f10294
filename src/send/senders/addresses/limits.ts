/** Figures of single addresses that are to become senders (docs/platform.md, 9.14). */
import { dayMillis } from "../../limits.ts"

/** One mail per address in so long. */
export const mailPauseMillis = 5 * 60_000

/** How long a mailed link is good. */
export const linkMillis = dayMillis

/** Characters of a link's token: 190 bits. */
export const tokenLength = 32

/** How long an Idempotency-Key stands for its request. */
export const idempotencyMillis = dayMillis
