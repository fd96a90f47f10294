/**
 * Queues a partition's commands within bounds (docs/architecture.md, rule 13): a queue per organization, at most a
 * quarter of the whole each, served round-robin. Commands that wait for an actor's state have a bound of their own, so
 * that a hanging store does not shut out commands that need nothing from it. Commands of one organization keep their
 * order, except that one may overtake another that waits for a state.
 */
import { organizationShare } from "../../limits.ts"
import type { Entry, Organization } from "../actors/Organization.ts"
import type { ProcessBounds } from "../actors/ProcessBounds.ts"
import { assert } from "../assert.ts"

export class Mailbox {
  readonly capacity: number
  /** The most one organization may have waiting. */
  readonly share: number
  /** Commands in the queues. */
  size = 0
  /** Commands that wait for an actor's state. */
  stalled = 0
  private readonly bounds: ProcessBounds
  private ringHead: Organization | undefined = undefined
  private ringTail: Organization | undefined = undefined

  constructor(capacity: number, bounds: ProcessBounds) {
    this.capacity = capacity
    this.share = Math.max(1, Math.floor(capacity / organizationShare))
    this.bounds = bounds
  }

  /** Adds an entry at its organization's end; false when the mailbox or the organization's share is full. */
  offer(entry: Entry): boolean {
    const { organization } = entry
    const { mailboxBytes } = this.bounds.limits
    if (this.size >= this.capacity || organization.waiting + organization.stalled >= this.share) return false
    if (this.bounds.commandBytes + entry.bytes > mailboxBytes) return false
    if (organization.bytes + entry.bytes > mailboxBytes / organizationShare) return false
    if (organization.tail === undefined) organization.head = entry
    else organization.tail.next = entry
    organization.tail = entry
    this.count(organization, entry, 1)
    this.enlist(organization)
    return true
  }

  /**
   * Puts an entry that was taken back to the front of its organization's queue. It always fits, because it was there
   * before.
   */
  putBack(entry: Entry): void {
    const { organization } = entry
    entry.next = organization.head
    organization.head = entry
    if (organization.tail === undefined) organization.tail = entry
    this.count(organization, entry, 1)
    this.enlist(organization)
  }

  /** Whether `take` would return an entry. */
  get hasRunnable(): boolean {
    while (this.ringHead !== undefined && this.ringHead.head === undefined) this.dropRingHead()
    return this.ringHead !== undefined
  }

  /** The next entry, one per organization and round. */
  take(): Entry | undefined {
    if (!this.hasRunnable) return undefined
    const organization = this.ringHead!
    this.dropRingHead()
    const entry = organization.head!
    organization.head = entry.next
    if (organization.head === undefined) organization.tail = undefined
    entry.next = undefined
    this.count(organization, entry, -1)
    this.enlist(organization)
    return entry
  }

  /** Whether one more command may wait for an actor's state. */
  get admitsStalled(): boolean {
    return this.stalled < Math.max(1, this.capacity / 2)
  }

  /** Counts a taken entry that now waits for an actor's state. */
  stall(entry: Entry): void {
    const { organization } = entry
    this.stalled++
    organization.stalled++
    organization.bytes += entry.bytes
    this.bounds.commandBytes += entry.bytes
  }

  /** Ends that wait. The caller puts the entry back or answers it. */
  unstall(entry: Entry): void {
    const { organization } = entry
    assert(organization.stalled > 0 && this.stalled > 0, "a command stops waiting that did not wait")
    this.stalled--
    organization.stalled--
    organization.bytes -= entry.bytes
    this.bounds.commandBytes -= entry.bytes
  }

  /** Takes out all waiting entries of one organization, in order. */
  takeAllOf(organization: Organization): ReadonlyArray<Entry> {
    const entries: Array<Entry> = []
    for (let entry = organization.head; entry !== undefined; ) {
      const next: Entry | undefined = entry.next
      entry.next = undefined
      entries.push(entry)
      this.count(organization, entry, -1)
      entry = next
    }
    organization.head = undefined
    organization.tail = undefined
    return entries
  }

  /** Puts an organization into the ring when it has something to decide. */
  private enlist(organization: Organization): void {
    if (organization.inRing || organization.head === undefined) return
    organization.inRing = true
    if (this.ringTail === undefined) this.ringHead = organization
    else this.ringTail.nextInRing = organization
    this.ringTail = organization
  }

  private count(organization: Organization, entry: Entry, sign: 1 | -1): void {
    organization.waiting += sign
    organization.bytes += sign * entry.bytes
    this.size += sign
    this.bounds.commandBytes += sign * entry.bytes
  }

  private dropRingHead(): void {
    const organization = this.ringHead!
    this.ringHead = organization.nextInRing
    if (this.ringHead === undefined) this.ringTail = undefined
    organization.nextInRing = undefined
    organization.inRing = false
  }
}
