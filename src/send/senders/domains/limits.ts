/** Lists the figures of domains and their verification (docs/platform.md, 9.13). */
import { dayMillis } from "../../limits.ts"

/** Bits of a DKIM key. */
export const dkimKeyBits = 2_048

/** Seconds for which name servers may keep the records, as their owner sees it. */
export const recordTtlSeconds = 3_600

/** Pauses between checks of a domain that is not verified yet. */
export const firstCheckMillis = 60_000
export const longestCheckMillis = 3_600_000

/** The time for which a domain is checked after it was added, or after its owner asked. */
export const checkingMillis = 3 * dayMillis

/** The pause between two checks of a verified domain. */
export const recheckMillis = dayMillis

/** The pause between two looks for the record of the next signing key. */
export const nextKeyCheckMillis = 600_000

/** The longest time of a domain's check, for which other checks of it wait. */
export const checkLeaseMillis = 60_000

/** The time that name servers have for their answers to one check. */
export const checkMillis = 4_000

/** Most concurrent checks, over all organizations and of each. */
export const checksAtOnce = 16
export const checksOfOrganization = 4

/** Most keys that are made concurrently: each takes a processor for some hundred milliseconds. */
export const keysAtOnce = 2
export const keysOfOrganization = 1

/** Domains that one round of checks takes. */
export const checkBatch = 32

/** The pause between two looks for due checks. */
export const checkPollMillis = 5_000

/** After a failure of the database or the engine. */
export const checkRetryMillis = 5_000

/** The time for which an Idempotency-Key identifies its request. */
export const idempotencyMillis = dayMillis

/**
 * Domains whose opened keys a mailer remembers, and for how long: a new key is signed with after that at the latest.
 */
export const rememberedKeys = 2_000
export const rememberedKeyMillis = 30_000
