/**
 * Tracks the followers of a partition's actors in this process (docs/architecture.md, "Followers"). Stored frames are
 * shown to followers as they come; a follower's facts wait for it, within bounds, and a follower that falls behind
 * reads the log instead.
 */
import type { ActorAddress } from "../../address.ts"
import { maximumFollowedBytes, maximumFollowedRecords } from "../../limits.ts"
import type { CommittedFrame, FactRecord, UnreadableRecord } from "../../records.ts"
import type { Wakeup } from "../../Wakeup.ts"

/** A fact as a follower gets it. */
export type FollowedRecord = FactRecord | UnreadableRecord

/** The actors whose facts are followed. */
export interface Followed extends Omit<ActorAddress, "key"> {
  /** Undefined for all actors of the kind. */
  readonly key: string | undefined
}

/** The facts of a frame that are followed. */
export const followedIn = (
  { key, kind, organization }: Followed,
  records: CommittedFrame["records"]
): ReadonlyArray<FollowedRecord> =>
  records.filter(
    (record): record is FollowedRecord =>
      record._tag !== "Event" &&
      record.kind === kind &&
      record.organization === organization &&
      (key === undefined || record.key === key)
  )

export class Follower {
  readonly followed: Followed
  /** The frame behind which it was attached. */
  readonly from: number
  /**
   * Whether it gets no more frames, because the partition's life has ended or too many facts waited for it: it must
   * read the log.
   */
  isLost = false
  /** The frame up to which it has all of its facts, once it is lost; undefined if too many waited. */
  lostThrough: number | undefined = undefined
  /** Whether a followed fact has come since the last check. */
  hasNews = false
  /** Whether facts are kept; otherwise only that one came. */
  private readonly keeps: boolean
  private readonly wakeup: Wakeup
  private records: Array<FollowedRecord> = []
  private bytes = 0

  constructor(followed: Followed, from: number, keeps: boolean, wakeup: Wakeup) {
    this.followed = followed
    this.from = from
    this.keeps = keeps
    this.wakeup = wakeup
  }

  /** Shows the follower a frame of its organization. */
  show({ bytes, records }: CommittedFrame): void {
    if (this.isLost) return
    const found = followedIn(this.followed, records)
    if (found.length === 0) return
    this.hasNews = true
    if (this.keeps) {
      this.bytes += bytes
      // The log has the facts that do not fit here.
      if (this.records.length + found.length > maximumFollowedRecords || this.bytes > maximumFollowedBytes) {
        this.records = []
        this.lose(undefined)
      } else this.records.push(...found)
    }
    this.wakeup.notify()
  }

  /** Sends the follower to the log, behind the frame up to which it has everything. */
  lose(through: number | undefined): void {
    if (this.isLost) return
    this.isLost = true
    this.lostThrough = through
    this.wakeup.notify()
  }

  /** Takes the facts that came since the last call. */
  take(): ReadonlyArray<FollowedRecord> {
    const { records } = this
    this.hasNews = false
    this.records = []
    this.bytes = 0
    return records
  }
}

export class Followers {
  private readonly byOrganization = new Map<string, Set<Follower>>()
  /** The last frame that was shown. */
  through = 0
  private size = 0

  get isEmpty(): boolean {
    return this.size === 0
  }

  /** Adds a follower that has seen everything up to `head`. */
  add(followed: Followed, head: number, keeps: boolean, wakeup: Wakeup): Follower {
    if (head !== this.through) this.loseAll()
    this.through = head
    const follower = new Follower(followed, head, keeps, wakeup)
    const beside = this.byOrganization.get(followed.organization)
    if (beside === undefined) this.byOrganization.set(followed.organization, new Set([follower]))
    else beside.add(follower)
    this.size++
    return follower
  }

  remove(follower: Follower): void {
    const { organization } = follower.followed
    const beside = this.byOrganization.get(organization)
    if (beside?.delete(follower) !== true) return
    this.size--
    if (beside.size === 0) this.byOrganization.delete(organization)
  }

  /** Shows a stored frame to its followers. */
  show(frame: CommittedFrame): void {
    if (frame.sequence !== this.through + 1) this.loseAll()
    this.through = frame.sequence
    let last: string | undefined
    const shown = new Set<string>()
    for (const { organization } of frame.records) {
      if (organization === last || shown.has(organization)) continue
      last = organization
      shown.add(organization)
      for (const follower of this.byOrganization.get(organization) ?? []) follower.show(frame)
    }
  }

  /** Sends all followers to the log. */
  loseAll(): void {
    for (const beside of this.byOrganization.values()) for (const follower of beside) follower.lose(this.through)
  }
}
