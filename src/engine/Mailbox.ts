/**
 * The bounded mailbox of a partition: a queue per organization, at most a quarter of the whole each, served round-robin (architecture, rule
 * 13). Synchronous; commands of one organization keep their order.
 */
import { organizationShare } from "./limits.ts"
import type { Entry, Organization } from "./memory.ts"

export class Mailbox {
  readonly capacity: number
  /** The most one organization may have waiting. */
  readonly share: number
  /** Commands waiting, those of organizations that wait for loading included. */
  size = 0
  private ringHead: Organization | undefined = undefined
  private ringTail: Organization | undefined = undefined

  constructor(capacity: number) {
    this.capacity = capacity
    this.share = Math.max(1, Math.floor(capacity / organizationShare))
  }

  /** Adds an entry at its organization's end; false when the mailbox or the organization's share is full. */
  offer(entry: Entry): boolean {
    const organization = entry.organization
    if (this.size >= this.capacity || organization.waiting >= this.share) return false
    if (organization.tail === undefined) organization.head = entry
    else organization.tail.next = entry
    organization.tail = entry
    organization.waiting++
    this.size++
    this.enlist(organization)
    return true
  }

  /** Puts an entry that was taken back to its organization's front. Always fits: it was there before. */
  putBack(entry: Entry): void {
    const organization = entry.organization
    entry.next = organization.head
    organization.head = entry
    if (organization.tail === undefined) organization.tail = entry
    organization.waiting++
    this.size++
    this.enlist(organization)
  }

  /** Whether `take` would give something. */
  hasRunnable(): boolean {
    while (this.ringHead !== undefined && this.ringHead.loading > 0) this.dropRingHead()
    return this.ringHead !== undefined
  }

  /** The next entry, one per organization and round. */
  take(): Entry | undefined {
    if (!this.hasRunnable()) return undefined
    const organization = this.ringHead!
    this.dropRingHead()
    const entry = organization.head!
    organization.head = entry.next
    if (organization.head === undefined) organization.tail = undefined
    entry.next = undefined
    organization.waiting--
    this.size--
    this.enlist(organization)
    return entry
  }

  /** Puts an organization into the ring when it has something to decide. Called when its loading is done, too. */
  enlist(organization: Organization): void {
    if (organization.inRing || organization.head === undefined || organization.loading > 0) return
    organization.inRing = true
    if (this.ringTail === undefined) this.ringHead = organization
    else this.ringTail.nextInRing = organization
    this.ringTail = organization
  }

  /** Takes out everything that waits for one organization, in order. */
  takeAllOf(organization: Organization): ReadonlyArray<Entry> {
    const entries: Array<Entry> = []
    for (let entry = organization.head; entry !== undefined; ) {
      const next: Entry | undefined = entry.next
      entry.next = undefined
      entries.push(entry)
      entry = next
    }
    organization.head = undefined
    organization.tail = undefined
    this.size -= organization.waiting
    organization.waiting = 0
    return entries
  }

  /** Drops everything about the ring; for use after `takeAllOf` of all organizations. */
  clearRing(): void {
    while (this.ringHead !== undefined) this.dropRingHead()
  }

  private dropRingHead(): void {
    const organization = this.ringHead!
    this.ringHead = organization.nextInRing
    if (this.ringHead === undefined) this.ringTail = undefined
    organization.nextInRing = undefined
    organization.inRing = false
  }
}
