/**
 * What a process remembers of API keys (docs/platform.md, 2.3): whose a digest is, which digests are nobody's, and when
 * keys were last used. Bounded and synchronous: the time is an argument. Needs no service; `Authentication` fills it and
 * tells it what PostgreSQL announces.
 */
import { BoundedMap } from "../common/BoundedMap.ts"
import type { Principal } from "./model.ts"

/** Most entries of known keys, and likewise of unknown ones. The oldest entry gives way. */
const maximumEntries = 20_000
/** Life of an entry while announcements cannot be heard. */
const deafLifeMillis = 5_000
/** Precision of a key's last use. */
const touchPrecisionMillis = 60_000

interface Entry {
  /** Null for a text that is no active key. */
  readonly principal: Principal | null
  readonly loadedAtMillis: number
  touchedAtMillis: number
}

export class WarmKeys {
  private readonly isConnected: () => boolean
  private readonly known = new BoundedMap<string, Entry>(maximumEntries)
  private readonly unknown = new BoundedMap<string, Entry>(maximumEntries)
  private readonly uses = new Map<string, number>()
  /**
   * Whether announcements may have been missed. It ends not when the channel is back, but once the entries are dropped.
   */
  private isDeaf = true
  /** When announcements were last lost. Entries loaded before were correct until then. */
  private deafSinceMillis = 0
  private heard = 0

  /** `isConnected` says whether announcements are heard now. */
  constructor(isConnected: () => boolean) {
    this.isConnected = isConnected
  }

  /** Counts announcements. A look-up that overlaps one must not be remembered. */
  get announcements(): number {
    return this.heard
  }

  /** The principal of a digest; null when it is no active key's, undefined when it must be looked up. Counts as a use. */
  principalOf(digest: string, nowMillis: number): Principal | null | undefined {
    const entry = this.known.get(digest) ?? this.unknown.get(digest)
    if (entry === undefined) return undefined
    if (
      (this.isDeaf || !this.isConnected()) &&
      nowMillis - Math.max(entry.loadedAtMillis, this.deafSinceMillis) > deafLifeMillis
    ) {
      return undefined
    }
    const principal = entry.principal
    if (principal === null) return null
    if (principal.expiresAtMillis !== null && principal.expiresAtMillis <= nowMillis) return null
    if (nowMillis - entry.touchedAtMillis >= touchPrecisionMillis) {
      entry.touchedAtMillis = nowMillis
      this.use(principal, nowMillis)
    }
    return principal
  }

  /** Remembers what a look-up found; null when the digest is no active key's. */
  remember(digest: string, principal: Principal | null, nowMillis: number): void {
    // The key may have been in the other map before.
    this.known.delete(digest)
    this.unknown.delete(digest)
    const map = principal === null ? this.unknown : this.known
    map.set(digest, { principal, loadedAtMillis: nowMillis, touchedAtMillis: 0 })
  }

  /** A key has changed. */
  forget(digest: string): void {
    this.heard++
    this.known.delete(digest)
    this.unknown.delete(digest)
  }

  /** Announcements are heard again, and some may have been missed. */
  forgetAll(): void {
    this.isDeaf = false
    this.heard++
    this.known.clear()
    this.unknown.clear()
  }

  /** Announcements are no longer heard. */
  goDeaf(nowMillis: number): void {
    this.isDeaf = true
    this.deafSinceMillis = nowMillis
  }

  use({ keyId }: Principal, nowMillis: number): void {
    this.uses.set(keyId, nowMillis)
  }

  /** The uses since the last call. */
  takeUses(): ReadonlyArray<{ readonly keyId: string; readonly atMillis: number }> {
    const taken = [...this.uses].map(([keyId, atMillis]) => ({ keyId, atMillis }))
    this.uses.clear()
    return taken
  }
}
