/**
 * A life's knowledge of the idempotency keys in the checkpoints: it reads them page by page when it begins, beside
 * everything else, and then adds those that its own checkpoints store. Until all are read, and if there are more than
 * the filter takes, a key that is not in memory is looked up in the store (docs/architecture.md, "Idempotency keys").
 */
import { fnv1a } from "../../address.ts"
import { maximumKeyPage, pageHoldMillis } from "../../limits.ts"
import type { ExpiryRow } from "../../ports/Checkpoints.ts"
import type { Organization } from "../actors/Organization.ts"
import { KeyFilter } from "./KeyFilter.ts"
import { KeyHash } from "./KeyHash.ts"

/** A page of stored keys to be read. */
export interface KeyPageRequest {
  /** The requester: the page is void in a later life. */
  readonly of: StoredKeys
  readonly after: ExpiryRow
  readonly limit: number
}

export class StoredKeys {
  private readonly kind: string
  private readonly filter = new KeyFilter()
  private readonly hash = new KeyHash()
  /** The beginning of the next page; undefined when there is none, or no more room for it. */
  private after: ExpiryRow | undefined
  private isComplete: boolean
  private isUnderWay = false
  private notBefore = 0

  /**
   * `kind`: that of the keys' actors. `since`: the time from which on checkpoints may hold keys that count; undefined
   * without checkpoints.
   */
  constructor(kind: string, since: number | undefined) {
    this.kind = kind
    this.after = since === undefined ? undefined : { expiresAt: since, organization: "", kind: "", key: "" }
    this.isComplete = since === undefined
  }

  /** Whether no checkpoint holds a key that counts. False if that is not certain. */
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
    return { of: this, after: this.after!, limit: maximumKeyPage }
  }

  /** Adds the keys of a page; undefined when it could not be read. */
  took({ limit, of }: KeyPageRequest, rows: ReadonlyArray<ExpiryRow> | undefined, monotonic: number): void {
    if (of !== this) return
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
