/** Figures of domains and their verification (docs/platform.md, 9.13). */
import { dayMillis } from "../../limits.ts"

/** Bits of a DKIM key. */
export const dkimKeyBits = 2_048

/** Seconds that records may be kept by name servers, as their owner is told. */
export const recordTtlSeconds = 3_600

/** Pauses between checks of a domain that is not verified yet. */
export const firstCheckMillis = 60_000
export const longestCheckMillis = 3_600_000

/** How long a domain is looked for after it was added, or after its owner asked. */
export const checkingMillis = 3 * dayMillis

/** How often the records of a verified domain are looked at. */
export const recheckMillis = dayMillis

/** How often the record of a key is looked for that is to be signed with next. */
export const nextKeyCheckMillis = 600_000

/** How long a check of a domain may take: other checks of it wait for so long. */
export const checkLeaseMillis = 60_000

/** How long name servers have for their answers to one check. */
export const checkMillis = 4_000

/** Checks at once, over all organizations and of each. */
export const checksAtOnce = 16
export const checksOfOrganization = 4

/** Keys that are made at once: each takes a processor for some hundred milliseconds. */
export const keysAtOnce = 2
export const keysOfOrganization = 1

/** Domains that one round of checks takes. */
export const checkBatch = 32

/** How often due checks are looked for. */
export const checkPollMillis = 5_000

/** After a failure of the database or the engine. */
export const checkRetryMillis = 5_000

/** How long an Idempotency-Key stands for its request. */
export const idempotencyMillis = dayMillis

/** Domains whose opened keys a mailer remembers, and for how long: a new key is signed with after that at the latest. */
export const rememberedKeys = 2_000
export const rememberedKeyMillis = 30_000
