/**
 * Caches a process's knowledge of API keys (docs/platform.md, 2.3): the principals of digests, unknown digests, and the
 * last uses of keys. Bounded and synchronous: the time is an argument. Needs no service; `Authentication` fills it and
 * passes on PostgreSQL's announcements.
 */
import { BoundedMap } from "../common/BoundedMap.ts"
import type { Principal } from "./model.ts"

// Decides how long a process trusts its knowledge of a key (docs/platform.md, 2.3). Pure: the time is an argument.

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

/** Most entries of known keys, and likewise of unknown ones. The oldest entry is dropped for a new one. */
const maximumEntries = 20_000
/** Precision of a key's last use. */
const touchPrecisionMillis = 60_000

interface Entry {
  /** Null for a text that is not an active key. */
  readonly principal: Principal | null
  /**
   * The time of the look-up, or the last time at which it was known to be true if announcements may have been missed
   * since.
   */
  trueAtMillis: number
  /** False once announcements may have been missed, until it is looked up again. */
  isCurrent: boolean
  touchedAtMillis: number
}

export interface Ears {
  /** Whether announcements arrive now. */
  readonly isConnected: () => boolean
  /** Whether PostgreSQL does not answer. */
  readonly isAway: () => boolean
  /** How long keys that were verified before are trusted while it does not. */
  readonly graceMillis: number
}

export class WarmKeys {
  private readonly ears: Ears
  private readonly known = new BoundedMap<string, Entry>(maximumEntries)
  private readonly unknown = new BoundedMap<string, Entry>(maximumEntries)
  private readonly uses = new Map<string, number>()
  /**
   * Whether announcements may have been missed. It does not end when the channel is back, but once the entries are
   * doubted.
   */
  private isDeaf = true
  /** When announcements were last lost. Entries loaded before were correct until then. */
  private deafSinceMillis = 0
  private heard = 0

  constructor(ears: Ears) {
    this.ears = ears
  }

  /** Counts announcements. A look-up that overlaps one must not be remembered. */
  get announcements(): number {
    return this.heard
  }

  /**
   * The principal of a digest; null if it belongs to no active key, undefined when it must be looked up. Counts as a
   * use.
   */
  principalOf(digest: string, nowMillis: number): Principal | null | undefined {
    const entry = this.known.get(digest) ?? this.unknown.get(digest)
    if (entry === undefined) return undefined
    const isConnected = this.ears.isConnected()
    if (!isConnected && !this.isDeaf) this.goDeaf(nowMillis)
    const hearing = { isHearing: isConnected && !this.isDeaf, isAway: this.ears.isAway() }
    const known = {
      isActiveKey: entry.principal !== null,
      isCurrent: entry.isCurrent,
      trueAtMillis: this.trueAtOf(entry)
    }
    if (!isTrusted(known, hearing, nowMillis, this.ears.graceMillis)) return undefined
    const principal = entry.principal
    if (principal === null) return null
    if (principal.expiresAtMillis !== null && principal.expiresAtMillis <= nowMillis) return null
    if (nowMillis - entry.touchedAtMillis >= touchPrecisionMillis) {
      entry.touchedAtMillis = nowMillis
      this.use(principal, nowMillis)
    }
    return principal
  }

  /** Remembers the result of a look-up; null when the digest belongs to no active key. */
  remember(digest: string, principal: Principal | null, nowMillis: number): void {
    // The key may have been in the other map before.
    this.known.delete(digest)
    this.unknown.delete(digest)
    const map = principal === null ? this.unknown : this.known
    map.set(digest, { principal, trueAtMillis: nowMillis, isCurrent: true, touchedAtMillis: 0 })
  }

  /** Forgets a key that has changed. */
  forget(digest: string): void {
    this.heard++
    this.known.delete(digest)
    this.unknown.delete(digest)
  }

  /**
   * Doubts all entries: announcements arrive again, and some may have been missed. Known keys are looked up again;
   * their entries stay in case PostgreSQL goes away before that.
   */
  doubtAll(): void {
    for (const entry of this.known.values()) {
      if (!entry.isCurrent) continue
      // Without a noticed loss of the channel it is unknown since when announcements have been missed.
      if (this.isDeaf) entry.trueAtMillis = this.trueAtOf(entry)
      entry.isCurrent = false
    }
    this.unknown.clear()
    this.isDeaf = false
    this.heard++
  }

  /** Notes that announcements no longer arrive. */
  goDeaf(nowMillis: number): void {
    if (this.isDeaf) return
    this.isDeaf = true
    this.deafSinceMillis = nowMillis
  }

  use({ keyId, session }: Principal, nowMillis: number): void {
    this.uses.set(keyId, nowMillis)
    if (session !== undefined) this.uses.set(session.id, nowMillis)
  }

  /** The uses since the last call. */
  takeUses(): ReadonlyArray<{ readonly keyId: string; readonly atMillis: number }> {
    const taken = [...this.uses].map(([keyId, atMillis]) => ({ keyId, atMillis }))
    this.uses.clear()
    return taken
  }

  private trueAtOf(entry: Entry): number {
    return entry.isCurrent ? Math.max(entry.trueAtMillis, this.deafSinceMillis) : entry.trueAtMillis
  }
}
