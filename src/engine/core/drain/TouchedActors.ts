/**
 * Brings together the actors that an entry needs: its own, its guard's, its idempotency key's and those that it touches
 * (docs/architecture.md, rules 10 and 13). Missing ones are requested. It distinguishes a lack of room now from one
 * that can never end.
 */
import type { Touched } from "../../Actor.ts"
import { maximumTouchedActors } from "../../limits.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import { Cell, type Entry } from "../actors/Organization.ts"
import type { Guard, KeyGuard, KnownAnswer } from "../keys/KeyGuard.ts"
import { recall } from "../keys/rememberKey.ts"
import { MoreThanFit } from "../ruleChecks.ts"
import type { Draft } from "./Draft.ts"
import { TouchedCells } from "./DrainContext.ts"

/** The part of the partition that bringing actors together needs. */
export interface TouchedActorsHost {
  readonly memory: ActorMemory
  /**
   * Loads an actor immediately and returns true, or asks for its checkpoint row and returns false. An actor claimed to
   * be fresh is not requested. Throws when the state cannot be had.
   */
  readonly load: (cell: Cell, isFresh?: boolean) => boolean
}

/** An actor that must be loaded first, or no room for one more at present. */
export type Missing = Cell | "no room"

export class TouchedActors {
  /** Actors that were touched, which is work even if all are in memory. */
  touchedCount = 0
  private readonly host: TouchedActorsHost
  private readonly draft: Draft
  private monotonic = 0

  constructor(host: TouchedActorsHost, draft: Draft) {
    this.host = host
    this.draft = draft
  }

  begin(monotonic: number): void {
    this.monotonic = monotonic
  }

  /** The actor an entry is for. */
  self(entry: Entry): Cell | "no room" {
    const { memory } = this.host
    const known = entry.organization.cell(entry.actorIndex, entry.key)
    // An actor without a state needs no place of its own, because it leaves with the drain.
    if (known === undefined && !entry.actor.isStateless && !memory.admitsActor()) return "no room"
    return this.use(known ?? memory.cell(entry.organization, entry.actorIndex, entry.key))
  }

  /** The actor of an entry's guard. */
  beside(entry: Entry, { actor, key }: Guard, self: Cell): Cell | "no room" {
    const { memory } = this.host
    const index = memory.registry.actorIndex(actor.kind)
    const known = entry.organization.cell(index, key)
    if (known === undefined && !memory.admitsActor()) return this.crowdedBy(entry, self, [])
    return this.use(known ?? memory.cell(entry.organization, index, key))
  }

  /** Whether an actor's state is there to decide on. A missing one is requested. */
  bring(cell: Cell, isFresh = false): boolean {
    return cell.loaded || this.draft.hasChanged(cell) || this.host.load(cell, isFresh)
  }

  /** The remembered answer of a command's idempotency key; undefined if the rule has to decide. */
  recalled(entry: Entry, guard: KeyGuard, self: Cell): KnownAnswer | Missing | undefined {
    const found = recall(this.host.memory, entry, guard, this.draft.now)
    if (found === "no room") return this.crowdedBy(entry, self, [])
    if (!(found instanceof Cell)) return found
    this.use(found)
    // A store without any row has it immediately.
    return this.host.load(found) ? this.recalled(entry, guard, self) : found
  }

  /** The actors that a command names. Missing ones are requested together, and one of them is returned instead. */
  touched(entry: Entry, self: Cell, names: ReadonlyArray<Touched>): TouchedCells | Missing {
    const { memory } = this.host
    if (names.length > maximumTouchedActors)
      throw new RangeError(`it names ${names.length} actors, at most ${maximumTouchedActors} are allowed`)
    this.touchedCount += names.length
    const cells: Array<Cell> = []
    const fresh: Array<Cell> = entry.isFresh ? [self] : []
    let missing: Cell | undefined
    for (const name of names) {
      const index = memory.registry.actorIndex(name.actor.kind)
      if (index < 0) throw new Error(`${name.actor.kind} is not an actor of this engine`)
      const known = entry.organization.cell(index, name.key)
      if (known === undefined && !name.actor.isStateless && !memory.admitsActor())
        return this.crowdedBy(entry, self, names)
      const cell = this.use(known ?? memory.cell(entry.organization, index, name.key))
      if (!this.bring(cell, name.fresh)) missing ??= cell
      if (name.fresh === true) fresh.push(cell)
      cells.push(cell)
    }
    if (missing !== undefined) return missing
    // The remembered answer of a key takes a place once it is decided.
    if (entry.keyGuard !== undefined && !memory.keys.admits(entry.organization, entry.keyGuard.key))
      return this.crowdedBy(entry, self, names)
    return new TouchedCells(self, cells, fresh)
  }

  /** Throws if the actors of one command can never fit, however many others leave. */
  private crowdedBy({ guard, keyGuard }: Entry, self: Cell, names: ReadonlyArray<Touched>): "no room" {
    const { maximumActors } = this.host.memory
    const all = new Set<string>()
    for (const { actor, key } of [self, ...names]) if (!actor.isStateless) all.add(`${actor.kind}\n${key}`)
    const needed = all.size + (guard === undefined ? 0 : 1) + (keyGuard === undefined ? 0 : 1)
    if (needed > maximumActors) throw new MoreThanFit(needed, maximumActors)
    return "no room"
  }

  private use(cell: Cell): Cell {
    this.host.memory.use(cell, this.monotonic)
    return cell
  }
}
