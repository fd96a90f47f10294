/**
 * Holds all organizations and actors of a partition, within the bounds of the process. Actors that have not changed
 * since their checkpoint are listed by last use, and the least recently used leave first.
 */
import { isSubjectToken } from "../../address.ts"
import { assert } from "../assert.ts"
import { KeyMemory } from "../keys/KeyMemory.ts"
import { checkKey } from "../ruleChecks.ts"
import type { Timers } from "../timers/Timers.ts"
import { Cell, type LaneCell, Organization, type Registry } from "./Organization.ts"
import type { Evictable, ProcessBounds } from "./ProcessBounds.ts"

/**
 * An idle actor moves in the list only when its last move is this long ago: the order is that of use, to this many
 * milliseconds.
 */
const relistMillis = 1_000

/** Timers that follow their actors out of memory, or keep them there. */
type Followers = Pick<Timers, "mayLeave" | "evicted">

export class ActorMemory implements Evictable {
  readonly registry: Registry
  readonly organizations = new Map<string, Organization>()
  /** Actors changed since the newest completed checkpoint. */
  readonly dirty = new Set<Cell>()
  /** Idempotency keys, which count as actors. */
  readonly keys: KeyMemory
  cellCount = 0
  laneCount = 0
  /** The number of the drain that is running, or of the last one. */
  drain = 0
  /**
   * Set by the core while a page of timers is read: actors with a timer stay, since a timer could otherwise be in
   * neither place.
   */
  keepsTimers = false
  /** Nothing leaves while the log is replayed. */
  isReplaying = false
  private readonly bounds: ProcessBounds
  private readonly timersOf: () => Followers | undefined
  private oldest: Cell | undefined = undefined
  private newest: Cell | undefined = undefined
  private readonly emptied = new Set<Organization>()
  private readonly passing = new Set<Cell>()
  /** Idle actors that leave with the next checkpoint, and those that were in use then. */
  private readonly leaving = new Set<Cell>()
  private late: Array<Cell> = []

  /** `timersOf`: the timers of the running life, which follow their actors out of memory. */
  constructor(registry: Registry, bounds: ProcessBounds, timersOf: () => Followers | undefined = () => undefined) {
    this.registry = registry
    this.bounds = bounds
    this.timersOf = timersOf
    this.keys = new KeyMemory(this)
  }

  /** The organization of that name, made when it is new; undefined when the name is not valid. */
  organization(name: string): Organization | undefined {
    let found = this.organizations.get(name)
    if (found === undefined) {
      if (!isSubjectToken(name)) return undefined
      found = new Organization(name)
      this.organizations.set(name, found)
    }
    return found
  }

  /** The cell of an actor, made (not loaded) when it is new. Throws when the key is not valid. */
  cell(organization: Organization, actorIndex: number, key: string): Cell {
    let map = organization.cells[actorIndex]
    if (map === undefined) {
      map = new Map()
      organization.cells[actorIndex] = map
    }
    let cell = map.get(key)
    if (cell === undefined) {
      checkKey(key)
      cell = new Cell(organization, this.registry.actors[actorIndex]!, actorIndex, key)
      map.set(key, cell)
      organization.cellCount++
      this.count(cell, 1)
    }
    return cell
  }

  /** Counts an actor that takes a place. One without a state goes with the drain, and takes none. */
  private count({ actor }: Cell, change: 1 | -1): void {
    if (actor.isStateless) return
    this.cellCount += change
    this.bounds.actors += change
  }

  /** Counts an idempotency key that comes or goes. */
  countKey(organization: Organization, change: 1 | -1): void {
    organization.cellCount += change
    this.cellCount += change
    this.bounds.actors += change
    if (change < 0) this.noteEmptied(organization)
  }

  /** Actors and idempotency keys that have changed since the newest completed checkpoint. */
  get changedCount(): number {
    return this.dirty.size + this.keys.size
  }

  /** The most actors that the process holds. */
  get maximumActors(): number {
    return this.bounds.limits.maximumActors
  }

  /** Whether a new actor fits, after idle ones were evicted. */
  admitsActor(): boolean {
    return this.bounds.admitsActor(this)
  }

  /** Notes a use: the actor stays for this drain and becomes one of the last to be evicted. */
  use(cell: Cell, nowMillis: number): void {
    cell.usedBy = this.drain
    this.look(cell, nowMillis)
  }

  /**
   * Notes a look outside a drain: the actor becomes one of the last to be evicted. It keeps no place: a partition that
   * decides nothing has no drain that would give it back.
   */
  look(cell: Cell, nowMillis: number): void {
    cell.usedAt = nowMillis
    // Moving it with every use would cost more than many a decision.
    if (!cell.isIdle || nowMillis - cell.listedAt < relistMillis) return
    this.unlist(cell)
    this.list(cell)
  }

  /** Notes an actor that stays for the running drain only, unless the drain gives it a state. */
  passes(cell: Cell): void {
    this.passing.add(cell)
  }

  /** Whether an actor stays for the running drain only. */
  isPassing(cell: Cell): boolean {
    return this.passing.has(cell)
  }

  /**
   * Ends a drain: the actors it used may leave memory again, since an idle partition may have no next drain for a long
   * time. Actors without a state leave immediately.
   */
  endDrain(): void {
    this.drain++
    for (const cell of this.passing) {
      if (cell.isEmpty) cell.state = undefined
      if (cell.isEmpty || cell.actor.isStateless) this.remove(cell)
    }
    if (this.late.length > 0) this.late = this.late.filter((cell) => this.leaving.has(cell) && !this.leave(cell))
    this.passing.clear()
  }

  /** Notes a change: the actor stays until a checkpoint has it. */
  changed(cell: Cell): void {
    this.dirty.add(cell)
    if (cell.isIdle) this.unlist(cell)
  }

  /** Notes that a checkpoint up to `sequence` is written: actors that have not changed since may leave memory. */
  saved(sequence: number): void {
    for (const cell of this.dirty) {
      if (cell.changedAt > sequence) continue
      this.dirty.delete(cell)
      this.settle(cell)
    }
    this.late = [...this.leaving].filter((cell) => !this.leave(cell))
    this.keys.saved(sequence)
  }

  /**
   * Evicts idle actors while there are too many: a replayed log, or other partitions, may have filled the process's
   * bound.
   */
  shrink(): void {
    const { limits } = this.bounds
    if (this.bounds.actors > limits.maximumActors) this.evict(this.bounds.actors - limits.maximumActors)
  }

  /** Adds a loaded actor that has not changed since its checkpoint. */
  settle(cell: Cell): void {
    if (cell.loaded && !cell.isIdle && !this.dirty.has(cell)) this.list(cell)
  }

  evict(count: number): number {
    return this.evictWhile(count, () => true)
  }

  /** Evicts actors that were not used since a monotonic time. */
  evictUnusedSince(nowMillis: number): void {
    this.evictWhile(Number.POSITIVE_INFINITY, (cell) => cell.usedAt <= nowMillis)
  }

  private evictWhile(count: number, may: (cell: Cell) => boolean): number {
    if (this.isReplaying) return 0
    let gone = 0
    let cell = this.oldest
    while (cell !== undefined && gone < count && may(cell)) {
      const { newer } = cell
      if (this.leave(cell)) gone++
      cell = newer
    }
    return gone
  }

  /** Evicts an idle actor unless something needs it. Returns whether it left. */
  private leave(cell: Cell): boolean {
    if (this.isReplaying || cell.usedBy === this.drain) return false
    if (this.keepsTimers && cell.wakeAt !== Number.POSITIVE_INFINITY) return false
    const timers = this.timersOf()
    if (timers?.mayLeave(cell) === false) return false
    this.remove(cell)
    timers?.evicted(cell)
    return true
  }

  remove(cell: Cell): void {
    const { organization } = cell
    const map = organization.cells[cell.actorIndex]
    if (map?.get(cell.key) !== cell) return
    assert(!this.dirty.has(cell), "an actor that has changed since its checkpoint leaves memory")
    map.delete(cell.key)
    if (cell.isIdle) this.unlist(cell)
    organization.cellCount--
    this.count(cell, -1)
    this.noteEmptied(organization)
  }

  /** Whether a new lane actor fits. */
  admitsLane(): boolean {
    return this.bounds.laneActors < this.bounds.limits.maximumLaneActors
  }

  addLane(cell: LaneCell): void {
    const { laneIndex, organization } = cell
    let cells = organization.lanes[laneIndex]
    if (cells === undefined) {
      cells = new Map()
      organization.lanes[laneIndex] = cells
    }
    cells.set(cell.key, cell)
    organization.laneCount++
    this.laneCount++
    this.bounds.laneActors++
  }

  removeLane(cell: LaneCell): void {
    const { organization } = cell
    if (organization.lanes[cell.laneIndex]?.delete(cell.key) !== true) return
    organization.laneCount--
    this.laneCount--
    this.bounds.laneActors--
    this.noteEmptied(organization)
  }

  /** Remembers an organization that may be empty. `releaseEmptied` checks it when none of its entries is in use. */
  noteEmptied(organization: Organization): void {
    if (organization.cellCount === 0) this.emptied.add(organization)
  }

  /** Forgets empty organizations. Call it only between drains, because a drain may still put back entries. */
  releaseEmptied(): void {
    if (this.emptied.size === 0) return
    for (const organization of this.emptied) {
      const isEmpty =
        organization.cellCount === 0 &&
        organization.laneCount === 0 &&
        organization.waiting === 0 &&
        organization.stalled === 0
      // An organization that is still in the mailbox's ring is checked again later.
      if (isEmpty && organization.inRing) continue
      if (isEmpty && this.organizations.get(organization.name) === organization)
        this.organizations.delete(organization.name)
      this.emptied.delete(organization)
    }
  }

  /** Forgets all actors and lanes; waiting commands stay (docs/architecture.md, rule 3: drop the memory). */
  dropActors(): void {
    this.dirty.clear()
    this.keys.clear()
    this.passing.clear()
    this.leaving.clear()
    this.late = []
    this.oldest = undefined
    this.newest = undefined
    this.bounds.actors -= this.cellCount
    this.bounds.laneActors -= this.laneCount
    this.cellCount = 0
    this.laneCount = 0
    this.keepsTimers = false
    this.isReplaying = false
    for (const organization of this.organizations.values()) {
      organization.cells.length = 0
      organization.lanes.length = 0
      organization.cellCount = 0
      organization.laneCount = 0
      organization.prefetched = 0
      organization.quarantine = undefined
      this.emptied.add(organization)
    }
  }

  private list(cell: Cell): void {
    cell.isIdle = true
    cell.listedAt = cell.usedAt
    if (cell.actor.options.leavesMemory === "after its checkpoint") this.leaving.add(cell)
    cell.older = this.newest
    if (this.newest === undefined) this.oldest = cell
    else this.newest.newer = cell
    this.newest = cell
  }

  private unlist(cell: Cell): void {
    if (cell.older === undefined) this.oldest = cell.newer
    else cell.older.newer = cell.newer
    if (cell.newer === undefined) this.newest = cell.older
    else cell.newer.older = cell.older
    cell.older = undefined
    cell.newer = undefined
    cell.isIdle = false
    if (this.leaving.size > 0) this.leaving.delete(cell)
  }
}
