/**
 * What a partition holds in memory: organizations with their waiting commands, actors with their durable and their draft state, lanes.
 * Plain mutable objects, touched only from synchronous code; the drain decides over them without an Effect per command.
 */
import { Exit } from "effect"
import type { AnyActor } from "./Actor.ts"
import { isSubjectToken, maximumNameLength } from "./address.ts"
import type { AskError } from "./errors.ts"
import type { AnyLane } from "./Lane.ts"

/** The actors and lanes an engine knows, by kind. */
export class Registry {
  readonly actors: ReadonlyArray<AnyActor>
  readonly lanes: ReadonlyArray<AnyLane>
  private readonly actorIndexes = new Map<string, number>()
  private readonly laneIndexes = new Map<string, number>()

  /** Throws when a kind is defined twice. */
  constructor(actors: ReadonlyArray<AnyActor>, lanes: ReadonlyArray<AnyLane>) {
    this.actors = actors
    this.lanes = lanes
    for (const [index, actor] of actors.entries()) {
      if (this.actorIndexes.has(actor.kind)) throw new Error(`two actors are of kind ${actor.kind}`)
      this.actorIndexes.set(actor.kind, index)
    }
    for (const [index, lane] of lanes.entries()) {
      if (this.laneIndexes.has(lane.kind)) throw new Error(`two lanes are of kind ${lane.kind}`)
      this.laneIndexes.set(lane.kind, index)
    }
  }

  /** The index of a kind, or -1. */
  actorIndex(kind: string): number {
    return this.actorIndexes.get(kind) ?? -1
  }

  laneIndex(kind: string): number {
    return this.laneIndexes.get(kind) ?? -1
  }
}

/** How an ask is answered. */
export type Resume = (exit: Exit.Exit<unknown, unknown>) => void

/** Something to be decided: a command of a caller, an external signal, or a timer. */
export class Entry {
  /** Looked up again when a signal is decided: its organization may have left memory meanwhile. */
  organization: Organization
  readonly actor: AnyActor
  readonly actorIndex: number
  readonly key: string
  readonly command: unknown
  readonly resume: Resume | undefined
  /** Position of a signal, 0 for others. */
  signalSequence = 0
  /** Of a timer, the time it was set to; undefined for others. */
  wakeAt: number | undefined = undefined
  /** Set when it must not be decided again: the answer to give instead. */
  refusal: AskError | undefined = undefined
  next: Entry | undefined = undefined

  constructor(
    organization: Organization,
    actor: AnyActor,
    actorIndex: number,
    key: string,
    command: unknown,
    resume: Resume | undefined
  ) {
    this.organization = organization
    this.actor = actor
    this.actorIndex = actorIndex
    this.key = key
    this.command = command
    this.resume = resume
  }

  fail(error: AskError): void {
    if (this.resume !== undefined) this.resume(Exit.fail(error))
  }
}

/** An actor in memory. */
export class Cell {
  readonly organization: Organization
  readonly actor: AnyActor
  readonly key: string
  /** Whether `state` is known; false while it waits for its checkpoint row. */
  loaded = false
  /** Why its checkpoint row cannot be read; commands for it fail with this. */
  broken: string | undefined = undefined
  /** The durable state: everything in it is in the log. Never changed in place. */
  state: unknown = undefined
  /** The state as the running drain has changed it; only meaningful while `draftOf` is that drain's number. */
  draft: unknown = undefined
  draftOf = -1
  /** Index in the table of the frame being built, with `draftOf`'s counterpart for frames. */
  frameIndex = -1
  frameOf = -1
  /** Sequence of the frame that changed it last, 0 for never. */
  changedAt = 0
  /** Upper bound of the encoded size, corrected by measuring. */
  bytes = 0
  /** When it wants to be woken; infinity for never. */
  wakeAt = Number.POSITIVE_INFINITY
  draftWakeAt = Number.POSITIVE_INFINITY
  /** A timer that failed or did nothing: not fired again at this time. */
  suspendedWakeAt = Number.NaN
  /** Used since the last sweep. */
  used = true

  constructor(organization: Organization, actor: AnyActor, key: string) {
    this.organization = organization
    this.actor = actor
    this.key = key
  }
}

/** A lane actor in memory. */
export class LaneCell {
  readonly key: string
  readonly state: unknown
  /** Names of the actors it reads, once. */
  readonly touched: ReadonlyArray<{ readonly actorIndex: number; readonly key: string }>

  constructor(
    key: string,
    state: unknown,
    touched: ReadonlyArray<{ readonly actorIndex: number; readonly key: string }>
  ) {
    this.key = key
    this.state = state
    this.touched = touched
  }
}

/** An organization that has commands waiting or actors in memory. */
export class Organization {
  readonly name: string
  /** By actor index, then key. */
  readonly cells: Array<Map<string, Cell> | undefined> = []
  /** By lane index, then key. */
  readonly lanes: Array<Map<string, LaneCell> | undefined> = []
  cellCount = 0
  laneCount = 0
  head: Entry | undefined = undefined
  tail: Entry | undefined = undefined
  waiting = 0
  inRing = false
  /** Cells it waits for; nothing of it is decided before they are there, so that its commands keep their order. */
  loading = 0
  nextInRing: Organization | undefined = undefined

  constructor(name: string) {
    this.name = name
  }

  cell(actorIndex: number, key: string): Cell | undefined {
    return this.cells[actorIndex]?.get(key)
  }
}

/** Everything a partition holds. */
export class Memory {
  readonly registry: Registry
  readonly organizations = new Map<string, Organization>()
  cellCount = 0
  laneCount = 0
  /** Actors changed since the newest completed checkpoint. */
  readonly dirty = new Set<Cell>()

  constructor(registry: Registry) {
    this.registry = registry
  }

  /** The organization of that name, made when it is new; undefined when the name cannot be one. */
  organization(name: string): Organization | undefined {
    let found = this.organizations.get(name)
    if (found === undefined) {
      if (!isSubjectToken(name)) return undefined
      found = new Organization(name)
      this.organizations.set(name, found)
    }
    return found
  }

  /** The cell of an actor, made (not loaded) when it is new. */
  cell(organization: Organization, actorIndex: number, key: string): Cell {
    let map = organization.cells[actorIndex]
    if (map === undefined) {
      map = new Map()
      organization.cells[actorIndex] = map
    }
    let cell = map.get(key)
    if (cell === undefined) {
      if (key.length > maximumNameLength)
        throw new RangeError(`the key of an actor has at most ${maximumNameLength} characters`)
      cell = new Cell(organization, this.registry.actors[actorIndex]!, key)
      map.set(key, cell)
      organization.cellCount++
      this.cellCount++
    }
    return cell
  }

  removeCell(cell: Cell): void {
    const organization = cell.organization
    const map = organization.cells[this.registry.actorIndex(cell.actor.kind)]
    if (map?.get(cell.key) !== cell) return
    map.delete(cell.key)
    organization.cellCount--
    this.cellCount--
    this.releaseOrganization(organization)
  }

  removeLane(organization: Organization, laneIndex: number, key: string): void {
    if (organization.lanes[laneIndex]?.delete(key) === true) {
      organization.laneCount--
      this.laneCount--
      this.releaseOrganization(organization)
    }
  }

  /** Forgets an organization of which nothing is left. */
  releaseOrganization(organization: Organization): void {
    if (
      organization.cellCount === 0 &&
      organization.laneCount === 0 &&
      organization.waiting === 0 &&
      !organization.inRing &&
      organization.loading === 0
    ) {
      this.organizations.delete(organization.name)
    }
  }

  /** Forgets all actors and lanes; waiting commands stay (rule 3: drop the memory). */
  dropActors(): void {
    this.dirty.clear()
    this.cellCount = 0
    this.laneCount = 0
    for (const organization of [...this.organizations.values()]) {
      organization.cells.length = 0
      organization.lanes.length = 0
      organization.cellCount = 0
      organization.laneCount = 0
      organization.loading = 0
      this.releaseOrganization(organization)
    }
  }
}
