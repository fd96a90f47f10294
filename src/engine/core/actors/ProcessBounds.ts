/**
 * Counts what all partitions of a process hold together, against the bounds that an operator chooses
 * (docs/architecture.md, rules 13 and 19). A partition that finds no room asks the others to let idle actors go, so
 * that a failover does not multiply the memory of a process.
 */

/** The most of each thing that a process holds. */
export interface Limits {
  readonly maximumActors: number
  readonly maximumLaneActors: number
  /** Bytes of commands that wait, estimated. */
  readonly mailboxBytes: number
}

/** Whoever can let idle actors go. */
export interface Evictable {
  /** Lets up to `count` idle actors go; answers how many went. */
  readonly evict: (count: number) => number
}

/** When there is no room, the bound divided by this number of actors go at once. */
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

  /** Whether one more actor fits, after idle ones were let go: the asking partition's own first. */
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
