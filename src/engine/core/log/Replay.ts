/**
 * Folds the log's tail into the actors when a partition recovers (docs/architecture.md, rules 9 and 17). It refuses a
 * frame that does not follow the one before. A fact that cannot be folded is kept and takes its organization out of
 * service; the other organizations continue.
 */
import { formatAddress } from "../../address.ts"
import { describe } from "../../describe.ts"
import {
  decodeFrame,
  type Frame,
  type FrameActor,
  FrameInvalid,
  type FrameRecord,
  type Head,
  headAfter
} from "../../frame.ts"
import { maximumStateBytes } from "../../limits.ts"
import type { ActorRow } from "../../ports/Checkpoints.ts"
import type { StoredFrame } from "../../ports/Journal.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import { keep, keepAlso, refill, type StoredFact } from "../actors/actorRows.ts"
import type { Cell, Organization, Unreadable } from "../actors/Organization.ts"
import { checkState, wakeAtOf } from "../ruleChecks.ts"
import type { Timers } from "../timers/Timers.ts"

/**
 * A state that its schema refuses, which later facts of the same decision may mend: a decision checks its facts
 * together.
 */
interface Doubt {
  /** The last state that its schema accepted. */
  readonly before: unknown
  readonly facts: Array<StoredFact>
  readonly reason: string
}

/** Whether a record changes an actor; events and messages do not. */
const isFact = ({ event, message }: FrameRecord): boolean => event === undefined && message === undefined

export interface ReplayOptions {
  readonly memory: ActorMemory
  readonly fillAll: (cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>) => void
  readonly quarantined: (organization: string, reason: string) => void
}

export class Replay {
  head: Head
  /** Called with each frame that was read, and the head after it. */
  onFrame: (head: Head, frame: Frame) => void = () => {}
  private readonly memory: ActorMemory
  private readonly quarantined: (organization: string, reason: string) => void
  /**
   * Organizations in which something broke at the first folding. They are folded on copies, and each state is checked.
   */
  private readonly careful: ReadonlySet<string>
  /**
   * Organizations to fold again with care, because the faulty fact, or the half-finished change of a rule, is unknown.
   */
  private readonly broken = new Set<string>()
  private readonly doubts = new Map<Cell, Doubt>()
  private readonly fillAll: (cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>) => void
  private readonly changed = new Set<Cell>()
  /** The entries of frames' tables that made their actors fresh. */
  private readonly begun = new WeakSet<FrameActor>()
  private readonly linked: Array<{ readonly sequence: number; readonly frame: Frame }> = []

  constructor(options: ReplayOptions, head: Head, careful: ReadonlySet<string>) {
    this.memory = options.memory
    this.quarantined = options.quarantined
    this.fillAll = options.fillAll
    this.head = head
    this.careful = careful
  }

  /**
   * Checks frames of the tail. Returns a fault as a sentence, or the actors whose rows are needed before the frames can
   * be applied.
   */
  link(stored: ReadonlyArray<StoredFrame>): string | ReadonlyArray<Cell> {
    const frames: Array<Frame> = []
    for (const one of stored) {
      const frame = this.linkOne(one)
      if (typeof frame === "string") return `frame ${one.sequence} of the log ${frame}`
      frames.push(frame)
      this.linked.push({ sequence: one.sequence, frame })
    }
    return this.missing(frames)
  }

  /** Stores the rows of those actors. */
  fill(cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>): void {
    this.fillAll(cells, rows)
  }

  /** Applies the linked frames; returns a sentence if this program cannot. */
  apply(): string | undefined {
    for (const { frame, sequence } of this.linked.splice(0)) {
      for (const record of frame.records) {
        const problem = isFact(record) ? this.applyFact(sequence, record) : undefined
        if (problem !== undefined) return `frame ${sequence} has a fact of ${formatAddress(record.actor)}${problem}`
      }
    }
    return undefined
  }

  /**
   * Decodes a frame, checks that it follows the head, and makes it the new head. Returns a sentence when it does not
   * follow.
   */
  private linkOne(stored: StoredFrame): Frame | string {
    let frame: Frame
    try {
      frame = decodeFrame(stored.bytes)
    } catch (cause) {
      return `cannot be read: ${cause instanceof FrameInvalid ? cause.message : describe(cause)}`
    }
    if (frame.previousHash !== this.head.hash) return "does not follow the one before it: its chain is broken"
    if (frame.number !== this.head.number + 1) return `has number ${frame.number} after ${this.head.number}`
    if (frame.epoch < this.head.epoch) return `has epoch ${frame.epoch} after ${this.head.epoch}`
    this.head = headAfter(stored.sequence, stored.bytes, frame)
    this.onFrame(this.head, frame)
    return frame
  }

  /** Makes the cells of the frames' actors that are not in memory yet, and returns them. */
  private missing(frames: ReadonlyArray<Frame>): ReadonlyArray<Cell> {
    const { memory } = this
    const missing: Array<Cell> = []
    for (const frame of frames) {
      let last: unknown
      for (const record of frame.records) {
        const { actor } = record
        if (actor === last || !isFact(record)) continue
        last = actor
        const index = memory.registry.actorIndex(actor.kind)
        const organization = memory.organization(actor.organization)
        if (memory.registry.actors[index]?.isStateless !== false) continue
        if (organization === undefined || organization.cell(index, actor.key) !== undefined) continue
        if (this.isRemembered(record)) continue
        // The actor is made in any case, because a log's tail must be in memory; the other partitions' idle actors make
        // room.
        memory.admitsActor()
        const cell = memory.cell(organization, index, actor.key)
        // Its row in a checkpoint does not count.
        if (!actor.isFresh) missing.push(cell)
      }
    }
    return missing
  }

  /** Whether a record is an answer under an idempotency key, which is remembered without an actor. */
  private isRemembered({ actor: { key, kind, version }, fact }: FrameRecord): boolean {
    const { actors, keyIndex } = this.memory.registry
    const keyActor = actors[keyIndex]!
    return (
      kind === keyActor.kind && version === keyActor.version && keyActor.internal?.isRemembered?.(key, fact) === true
    )
  }

  /** Returns the end of the sentence about a fact that this program cannot apply. */
  private applyFact(sequence: number, record: FrameRecord): string | undefined {
    const { actor: of, fact } = record
    const { registry } = this.memory
    const index = registry.actorIndex(of.kind)
    const actor = registry.actors[index]
    if (actor === undefined) return ", a kind that this program does not know"
    if (of.version > actor.version) return ` of version ${of.version}; this program knows ${actor.version}`
    if (actor.isStateless) return undefined
    const organization = this.memory.organizations.get(of.organization)
    if (organization !== undefined && this.isRemembered(record)) {
      const until = actor.internal!.expiresAt!(fact)!
      const text = JSON.stringify(fact)
      this.memory.admitsActor()
      this.memory.keys.replay(organization, of.key, { text, bytes: Buffer.byteLength(text), until }, sequence)
      return undefined
    }
    const cell = organization?.cell(index, of.key)
    if (organization === undefined || cell === undefined) return ", whose name is none"
    if (this.broken.size > 0 && this.broken.has(of.organization)) return undefined
    if (of.isFresh && !this.begun.has(of)) this.beginAnew(cell, of)
    cell.changedAt = sequence
    this.changed.add(cell)
    // The size is not known without encoding; the next write measures it.
    cell.bytes = maximumStateBytes
    if (cell.unreadable !== undefined) this.setAsideToo(cell, cell.unreadable, { version: of.version, fact })
    else if (this.careful.has(of.organization)) this.foldCarefully(cell, sequence, { version: of.version, fact })
    else this.fold(cell, fact, of.version)
    return undefined
  }

  /** Gives an actor its initial state again, whatever was stored before. */
  private beginAnew(cell: Cell, of: FrameActor): void {
    this.begun.add(of)
    this.doubts.delete(cell)
    refill(cell)
    if (cell.unreadable !== undefined) this.quarantine(cell.organization, cell.unreadable.reason)
  }

  /** Folds a fact. No one else holds the row's state, so it may be changed in place; a shared initial state may not. */
  private fold(cell: Cell, fact: unknown, version: number): void {
    const { actor } = cell
    const { copy, evolve } = actor.options
    try {
      const decoded = actor.decodeFact(fact, version)
      cell.state = evolve(copy !== undefined && !cell.ownsState ? copy(cell.state) : cell.state, decoded)
      cell.ownsState = true
    } catch {
      this.broken.add(cell.organization.name)
    }
  }

  /** Folds a fact on a copy and checks the result, to find the first fact after which an actor cannot be read. */
  private foldCarefully(cell: Cell, sequence: number, stored: StoredFact): void {
    const { actor, state: before } = cell
    const { copy, evolve } = actor.options
    const doubt = this.doubts.get(cell)
    doubt?.facts.push(stored)
    const broken = (cause: unknown) =>
      `frame ${sequence} has a fact of ${formatAddress(cell.address)} that cannot be applied: ${describe(cause)}`
    try {
      const decoded = actor.decodeFact(stored.fact, stored.version)
      cell.state = evolve(copy === undefined ? before : copy(before), decoded)
    } catch (cause) {
      this.setAside(
        cell,
        broken(cause),
        keep(actor, doubt === undefined ? before : doubt.before, doubt?.facts ?? [stored])
      )
      return
    }
    try {
      checkState(actor, cell.state)
      this.doubts.delete(cell)
    } catch (cause) {
      const reason = broken(cause)
      if (doubt === undefined) this.doubts.set(cell, { before, facts: [stored], reason })
    }
  }

  /**
   * Ends the replay: changed actors wait for a checkpoint, and timers are set. Returns the organizations that must be
   * folded again with care, with nothing of use in memory.
   */
  finish(timers: Timers): ReadonlySet<string> {
    for (const [cell, { before, facts, reason }] of this.doubts)
      this.setAside(cell, reason, keep(cell.actor, before, facts))
    for (const cell of this.changed) {
      if (cell.unreadable === undefined) {
        if (!this.careful.has(cell.organization.name) && !this.isSound(cell)) continue
        try {
          cell.wakeAt = wakeAtOf(cell.actor, cell.state)
          timers.set(cell, cell.wakeAt)
        } catch (cause) {
          const reason = `what is stored of ${formatAddress(cell.address)} has no time to wake: ${describe(cause)}`
          this.setAside(cell, reason, keep(cell.actor, cell.state, []))
        }
      }
      if (cell.unreadable === undefined || cell.unreadable.row !== undefined) this.memory.changed(cell)
    }
    return this.broken
  }

  /** Whether a state that was folded without checks can be written; its organization is broken otherwise. */
  private isSound(cell: Cell): boolean {
    try {
      checkState(cell.actor, cell.state)
      return true
    } catch {
      this.broken.add(cell.organization.name)
      return false
    }
  }

  /** Keeps one more fact of an actor that cannot be read. */
  private setAsideToo(cell: Cell, { reason, row }: Unreadable, stored: StoredFact): void {
    cell.unreadable = { reason, row: row === undefined ? undefined : keepAlso(row, stored) }
    this.quarantine(cell.organization, reason)
  }

  private setAside(cell: Cell, reason: string, row: string): void {
    cell.unreadable = { reason, row }
    cell.loaded = false
    cell.state = undefined
    this.quarantine(cell.organization, reason)
  }

  private quarantine(organization: Organization, reason: string): void {
    if (organization.quarantine !== undefined) return
    organization.quarantine = reason
    this.quarantined(organization.name, reason)
  }
}
