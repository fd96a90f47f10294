/**
 * Decides how long a process trusts its knowledge of a key (docs/platform.md, 2.3). Pure: the time is an argument.
 * Needs nothing.
 */

/** News of changes of keys, and their source. */
export interface Hearing {
  /** Whether PostgreSQL's announcements arrive without a gap. */
  readonly isHearing: boolean
  /** Whether PostgreSQL itself does not answer. */
  readonly isAway: boolean
}

/** The knowledge of one key. */
export interface KeyKnowledge {
  readonly isActiveKey: boolean
  /** Whether every change since it was looked up would have arrived, up to the last loss of the channel. */
  readonly isCurrent: boolean
  /** When it was last known to be true; without meaning while announcements arrive and it is current. */
  readonly trueAtMillis: number
}

/** How long an entry is trusted while PostgreSQL answers and its announcements do not arrive. */
export const deafLifeMillis = 5_000

/**
 * Whether an entry may be used without a look-up. While PostgreSQL can be asked, a key is trusted for five seconds
 * after the last moment at which it was known; while it cannot, for the grace. An unknown text never has the grace: a
 * key may have been made of it.
 */
export const isTrusted = (known: KeyKnowledge, hearing: Hearing, nowMillis: number, graceMillis: number): boolean => {
  if (hearing.isHearing) return known.isCurrent
  const age = nowMillis - known.trueAtMillis
  return age <= deafLifeMillis || (hearing.isAway && known.isActiveKey && age <= graceMillis)
}
