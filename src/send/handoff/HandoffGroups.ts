/**
 * Schedules the accounts whose mails are taken next, from memory or from the queue (docs/handoff.md, 2). Accounts take
 * turns. Each has a bounded number of mails under way, by lane, and takes more as soon as some have ended, so that a
 * slow mail delays none of the others. Pure but for its callbacks; it needs no service.
 */
import type { MailResult } from "./emails.ts"
import type { HandoffGroup } from "./HandoffWorkers.ts"
import { handoffLanes, partsOfGroup } from "./jobs.ts"
import { maximumUnderWay, underWayLimits } from "./limits.ts"

/** Most groups that wait for a turn; the next scan finds the others. */
const maximumWanting = 10_000

/** Mails that are worth a turn of their own. */
const restingBelow = underWayLimits[0] / 2

/** Room in each lane from which on a group takes immediately. With less it waits a moment for more, because mails that are taken together cost less. */
const enoughRoom: ReadonlyArray<number> = underWayLimits.map((limit) => limit / 2)
const anyRoom: ReadonlyArray<number> = underWayLimits.map(() => 0)

/** How many mails of each lane may be taken now. */
export type Room = ReadonlyArray<number>

export interface HandoffGroupsOptions {
  readonly takingPlaces: number
  /** Takes mails of a group, from the queue too where `isQueued`; must call `taken` in the end. */
  readonly take: (one: HandoffGroup, room: Room, isQueued: boolean) => void
  /** Leaves the mails of a group that wait in memory to the queue. */
  readonly leave: (one: HandoffGroup) => void
  /** Records what the group has in `ended`, until there is no more. */
  readonly record: (one: HandoffGroup) => void
  /** Calls `refill` in a moment. */
  readonly refillLater: () => void
  /** Calls `rested` in a moment: a longer one where mails come from the queue. */
  readonly restLater: (one: HandoffGroup, isQueued: boolean) => void
}

/** Where a group has more mails. */
export interface MoreMail {
  readonly isQueued: boolean
  readonly isOffered: boolean
}

/** A group that waits for its turn. */
interface Wanting {
  readonly one: HandoffGroup
  /** Whether the queue has mails of it, or may have. */
  readonly isQueued: boolean
}

interface Working {
  isTaking: boolean
  /** Whether it has taken what there was a moment ago: what comes meanwhile is taken together. */
  isResting: boolean
  isRecording: boolean
  readonly underWay: Array<number>
  ended: Array<MailResult>
}

const sum = (counts: ReadonlyArray<number>): number => counts.reduce((total, count) => total + count, 0)

export class HandoffGroups {
  private readonly wanting = new Map<string, Wanting>()
  private readonly working = new Map<string, Working>()
  private readonly options: HandoffGroupsOptions
  private taking = 0
  private underWay = 0
  private isRefillOrdered = false
  /** Whether live mail waits, because nothing takes it over. */
  liveWaits = true
  /** Whether there was live mail to hand over since it waits. */
  hasWaiting = false
  isDraining = false

  constructor(options: HandoffGroupsOptions) {
    this.options = options
  }

  /** The queue has mails of these groups. */
  want(groups: ReadonlyArray<HandoffGroup>): void {
    for (const one of groups) this.add(one, true)
    this.pump(enoughRoom)
  }

  /** Mails of these groups wait in memory. */
  offered(groups: ReadonlyArray<HandoffGroup>): void {
    for (const one of groups) this.add(one, false)
    this.pump(enoughRoom)
  }

  /** How many more first attempts of a group can begin immediately. */
  freeOf(group: string): number {
    if (this.isDraining || (this.liveWaits && partsOfGroup(group)[1] !== "test")) return 0
    return this.roomOf(group)[handoffLanes.first] ?? 0
  }

  private add(one: HandoffGroup, isQueued: boolean): void {
    const known = this.wanting.get(one.group)
    if (known !== undefined) this.wanting.set(one.group, { one, isQueued: isQueued || known.isQueued })
    else if (this.wanting.size < maximumWanting) this.wanting.set(one.group, { one, isQueued })
    else if (!isQueued) this.options.leave(one)
  }

  /**
   * Mails were taken, and this number of each lane goes. A group that may have more goes behind the others that wait, and where it has left most of its room free only after a moment:
   * under load mails come singly, and each by itself would cost as much as ten together.
   */
  taken(one: HandoffGroup, lanes: ReadonlyArray<number>, { isOffered, isQueued }: MoreMail): void {
    const working = this.workingOf(one)
    working.isTaking = false
    this.taking--
    for (const lane of lanes) working.underWay[lane]!++
    this.underWay += lanes.length
    if (isQueued || isOffered) this.add(one, isQueued)
    if ((isQueued || lanes.length > 0) && lanes.length < restingBelow) {
      working.isResting = true
      this.options.restLater(one, isQueued)
    }
    this.forget(one, working)
    this.pump(enoughRoom)
  }

  /** An attempt has ended, and its outcome is to be recorded: beside those of others that end while one is being recorded. */
  ended(one: HandoffGroup, attempted: MailResult): void {
    const working = this.workingOf(one)
    working.ended.push(attempted)
    if (working.isRecording) return
    working.isRecording = true
    this.options.record(one)
  }

  /** The outcomes to record now; with none left the group's recording is over. */
  toRecord(one: HandoffGroup): ReadonlyArray<MailResult> {
    const working = this.workingOf(one)
    const { ended } = working
    working.ended = []
    if (ended.length === 0) {
      working.isRecording = false
      this.forget(one, working)
    }
    return ended
  }

  /** An outcome that was recorded, or given up, leaves its room to others. */
  recorded(one: HandoffGroup, lanes: ReadonlyArray<number>): void {
    const working = this.workingOf(one)
    for (const lane of lanes) working.underWay[lane]!--
    this.underWay -= lanes.length
    this.pump(enoughRoom)
  }

  rested(one: HandoffGroup): void {
    const working = this.workingOf(one)
    working.isResting = false
    this.forget(one, working)
    this.pump(enoughRoom)
  }

  refill(): void {
    this.isRefillOrdered = false
    this.pump(anyRoom)
  }

  private workingOf({ group }: HandoffGroup): Working {
    const known = this.working.get(group)
    if (known !== undefined) return known
    const made: Working = {
      isTaking: false,
      isResting: false,
      isRecording: false,
      underWay: underWayLimits.map(() => 0),
      ended: []
    }
    this.working.set(group, made)
    return made
  }

  private forget({ group }: HandoffGroup, { isRecording, isResting, isTaking, underWay }: Working): void {
    if (!isTaking && !isResting && !isRecording && sum(underWay) === 0) this.working.delete(group)
  }

  private roomOf(group: string): Room {
    const { underWay = [] } = this.working.get(group) ?? {}
    let left = maximumUnderWay - this.underWay
    return underWayLimits.map((limit, lane) => {
      const room = Math.max(0, Math.min(limit - (underWay[lane] ?? 0), left))
      left -= room
      return room
    })
  }

  /** Lets groups take, in turn, that have at least so much room in each lane, and some at all. */
  private pump(least: Room): void {
    for (const [group, { isQueued, one }] of this.wanting) {
      if (this.isDraining || this.taking >= this.options.takingPlaces || this.underWay >= maximumUnderWay) return
      const { isResting = false, isTaking = false } = this.working.get(group) ?? {}
      if (isResting || isTaking) continue
      const room = this.roomOf(group)
      const usable = isQueued ? room : room.slice(0, handoffLanes.first + 1)
      if (sum(usable) === 0 || usable.some((free, lane) => free < least[lane]!)) {
        this.orderRefill()
        continue
      }
      this.wanting.delete(group)
      // The scan finds it again, in the queue.
      if (this.liveWaits && partsOfGroup(group)[1] !== "test") {
        this.hasWaiting = true
        this.options.leave(one)
        continue
      }
      this.workingOf(one).isTaking = true
      this.taking++
      this.options.take(one, room, isQueued)
    }
  }

  private orderRefill(): void {
    if (this.isRefillOrdered) return
    this.isRefillOrdered = true
    this.options.refillLater()
  }
}
