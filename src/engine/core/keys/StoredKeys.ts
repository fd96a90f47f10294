/**
 * What a life knows of the idempotency keys in the checkpoints: at its begin they are read page by page, beside everything else, and from then on
 * it notes those that its own checkpoints store. Until all are read, and where there are more than the filter takes, a key that is not in memory
 * is looked for in the store (docs/architecture.md, "Idempotency keys").
 */
import { fnv1a } from "../../address.ts"
import { maximumKeyPage, pageHoldMillis } from "../../limits.ts"
import type { ExpiryRow } from "../../ports/Checkpoints.ts"
import type { Organization } from "../actors/Organization.ts"
import { KeyFilter } from "./KeyFilter.ts"
import { KeyHash } from "./KeyHash.ts"

/** A page of stored keys to be read. */
export interface KeyPageRequest {
  readonly life: number
  readonly after: ExpiryRow
  readonly limit: number
}

export class StoredKeys {
  private readonly kind: string
  private filter = new KeyFilter()
  private readonly hash = new KeyHash()
  private life = 0
  /** Where the next page begins; undefined when there is none, or no more room for it. */
  private after: ExpiryRow | undefined = undefined
  private isComplete = true
  private isUnderWay = false
  private notBefore = 0

  /** `kind`: that of the keys' actors. */
  constructor(kind: string) {
    this.kind = kind
  }

  /** Begins a life. Keys that are over at `now` do not count; `hasBase`: checkpoints may hold others. */
  begin(hasBase: boolean, now: number): void {
    this.life++
    this.filter = new KeyFilter()
    this.after = hasBase ? { expiresAt: now, organization: "", kind: "", key: "" } : undefined
    this.isComplete = !hasBase
    this.isUnderWay = false
    this.notBefore = 0
  }

  /** Whether no checkpoint holds a key that counts. False where that is not sure. */
  lacks({ hash }: Organization, key: string): boolean {
    return this.isComplete && !this.filter.mayHave(this.hash.of(hash, key))
  }

  /** Notes a key that a checkpoint holds now. */
  add(hash: KeyHash, until: number): void {
    this.filter.add(hash, until)
  }

  /** Forgets keys that are over. */
  forget(now: number): void {
    this.filter.forget(now)
  }

  /** Whether a page should be asked for now. */
  isWanted(monotonic: number): boolean {
    return this.after !== undefined && !this.isUnderWay && monotonic >= this.notBefore
  }

  ask(): KeyPageRequest {
    this.isUnderWay = true
    return { life: this.life, after: this.after!, limit: maximumKeyPage }
  }

  /** Takes in a page; undefined when it could not be read. */
  took({ life, limit }: KeyPageRequest, rows: ReadonlyArray<ExpiryRow> | undefined, monotonic: number): void {
    if (life !== this.life) return
    this.isUnderWay = false
    if (rows === undefined) {
      this.notBefore = monotonic + pageHoldMillis
      return
    }
    for (const { expiresAt, key, kind, organization } of rows)
      if (kind === this.kind) this.filter.add(this.hash.of(fnv1a(organization), key), expiresAt)
    this.isComplete = rows.length < limit
    this.after = this.isComplete || this.filter.isFull ? undefined : rows[rows.length - 1]
  }
}
