/**
 * How long a process trusts what it knows of a key (docs/platform.md, 2.3). Pure: the time is an argument. Needs nothing.
 */

/** News of changes of keys, and their source. */
export interface Hearing {
  /** Whether PostgreSQL's announcements are heard without a gap. */
  readonly isHearing: boolean
  /** Whether PostgreSQL itself does not answer. */
  readonly isAway: boolean
}

/** The knowledge of one key. */
export interface KeyKnowledge {
  readonly isActiveKey: boolean
  /** Whether every change since it was looked up would have been heard, up to the last loss of the channel. */
  readonly isCurrent: boolean
  /** When it was last known to be true; of no meaning while changes are heard and it is current. */
  readonly trueAtMillis: number
}

/** How long an entry is trusted while PostgreSQL answers and its announcements cannot be heard. */
export const deafLifeMillis = 5_000

/**
 * Whether an entry may be used without a look-up. A key that PostgreSQL could be asked about is trusted for five seconds after the last moment at which it
 * was known; one that it cannot be asked about, for the grace. An unknown text never has the grace: a key may have been made of it.
 */
export const isTrusted = (known: KeyKnowledge, hearing: Hearing, nowMillis: number, graceMillis: number): boolean => {
  if (hearing.isHearing) return known.isCurrent
  const age = nowMillis - known.trueAtMillis
  return age <= deafLifeMillis || (hearing.isAway && known.isActiveKey && age <= graceMillis)
}
