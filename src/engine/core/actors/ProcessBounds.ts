/**
 * Counts the memory that all partitions of a process use together, against the bounds that an operator chooses
 * (docs/architecture.md, rules 13 and 19). A partition without room asks the others to evict idle actors, so that a
 * failover does not multiply the memory of a process.
 */

/** The most of each thing that a process holds. */
export interface Limits {
  readonly maximumActors: number
  readonly maximumLaneActors: number
  /** Bytes of commands that wait, estimated. */
  readonly mailboxBytes: number
}

/** A partition that can evict idle actors. */
export interface Evictable {
  /** Evicts up to `count` idle actors; returns how many left. */
  readonly evict: (count: number) => number
}

/** When there is no room, the bound divided by this number of actors are evicted together. */
const evictedPart = 64

export class ProcessBounds {
  readonly limits: Limits
  actors = 0
  laneActors = 0
  commandBytes = 0
  private readonly members = new Set<Evictable>()

  constructor(limits: Limits) {
    this.limits = limits
  }

  join(member: Evictable): void {
    this.members.add(member)
  }

  leave(member: Evictable): void {
    this.members.delete(member)
  }

  /** Whether one more actor fits, after evicting idle ones: the asking partition's own first. */
  admitsActor(own: Evictable): boolean {
    if (this.actors < this.limits.maximumActors) return true
    const wanted = Math.max(1, Math.ceil(this.limits.maximumActors / evictedPart))
    let left = wanted - own.evict(wanted)
    for (const member of this.members) {
      if (left <= 0) break
      if (member !== own) left -= member.evict(left)
    }
    return this.actors < this.limits.maximumActors
  }
}
