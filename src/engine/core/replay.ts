/**
 * Folds the log's tail into the actors when a partition recovers (docs/architecture.md, rules 9 and 17). It refuses a
 * frame that does not follow the one before. A fact that cannot be folded is kept and takes its organization out of
 * service; the other organizations go on.
 */
import { formatAddress } from "../address.ts"
import type { ActorRow } from "../Checkpoints.ts"
import { describe } from "../describe.ts"
import { decodeFrame, type Frame, FrameInvalid, type FrameRecord, type Head, headAfter } from "../frame.ts"
import type { StoredFrame } from "../Journal.ts"
import { maximumStateBytes } from "../limits.ts"
import type { ActorMemory } from "./ActorMemory.ts"
import type { Cell, Organization } from "./actors.ts"
import { keep, keepAlso } from "./rows.ts"
import { checkState, wakeAtOf } from "./rules.ts"
import type { Timers } from "./timers.ts"

/**
 * Either a sentence about what is wrong with the log, or an organization whose facts must be folded again on copies.
 */
export type ReplayProblem = { readonly refused: string } | { readonly careful: string }

export interface ReplayOptions {
  readonly memory: ActorMemory
  readonly fillAll: (cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>) => void
  readonly quarantined: (organization: string, reason: string) => void
}

export class Replay {
  head: Head
  private readonly memory: ActorMemory
  private readonly quarantined: (organization: string, reason: string) => void
  /** Organizations with a fact that threw half-way. Their states are not changed in place. */
  private readonly careful: ReadonlySet<string>
  private readonly fillAll: (cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>) => void
  private readonly changed = new Set<Cell>()
  private readonly linked: Array<{ readonly sequence: number; readonly frame: Frame }> = []

  constructor(options: ReplayOptions, head: Head, careful: ReadonlySet<string>) {
    this.memory = options.memory
    this.quarantined = options.quarantined
    this.fillAll = options.fillAll
    this.head = head
    this.careful = careful
  }

  /**
   * Takes in frames of the tail. Answers what is wrong with them, or the actors whose rows are needed before the frames
   * can be applied.
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

  /** Takes in the rows of those actors. */
  fill(cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>): void {
    this.fillAll(cells, rows)
  }

  /** Applies the frames that were linked. */
  apply(): ReplayProblem | undefined {
    for (const { frame, sequence } of this.linked.splice(0)) {
      for (const record of frame.records) {
        const problem = record.event === undefined ? this.applyFact(sequence, record) : undefined
        if (problem !== undefined) return problem
      }
    }
    return undefined
  }

  /**
   * Decodes a frame, checks that it follows the head, and makes it the new head. Answers a sentence when it does not
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
    return frame
  }

  /** Makes the cells of the frames' actors that are not in memory yet, and answers them. */
  private missing(frames: ReadonlyArray<Frame>): ReadonlyArray<Cell> {
    const { memory } = this
    const missing: Array<Cell> = []
    for (const frame of frames) {
      let last: unknown
      for (const { actor, event } of frame.records) {
        if (actor === last || event !== undefined) continue
        last = actor
        const index = memory.registry.actorIndex(actor.kind)
        const organization = memory.organization(actor.organization)
        if (index < 0 || organization?.cell(index, actor.key) !== undefined || organization === undefined) continue
        // the actor is made in any case, because a log's tail must be in memory; the other partitions' idle actors make
        // room
        memory.admitsActor()
        missing.push(memory.cell(organization, index, actor.key))
      }
    }
    return missing
  }

  private applyFact(sequence: number, { actor: of, fact }: FrameRecord): ReplayProblem | undefined {
    const { registry } = this.memory
    const index = registry.actorIndex(of.kind)
    const actor = registry.actors[index]
    const where = `frame ${sequence} has a fact of ${formatAddress(of)}`
    if (actor === undefined) return { refused: `${where}, a kind that this program does not know` }
    if (of.version > actor.version)
      return { refused: `${where} of version ${of.version}; this program knows ${actor.version}` }
    const organization = this.memory.organizations.get(of.organization)
    const cell = organization?.cell(index, of.key)
    if (organization === undefined || cell === undefined) return { refused: `${where}, whose name is none` }
    const stored = { version: of.version, fact }
    cell.changedAt = sequence
    this.changed.add(cell)
    if (cell.unreadable !== undefined) {
      const { reason, row } = cell.unreadable
      cell.unreadable = { reason, row: row === undefined ? undefined : keepAlso(row, stored) }
      this.quarantine(organization, reason)
      return undefined
    }
    const { copy, evolve } = actor.options
    // nobody else holds a row's state, so it may be changed in place; a shared initial state may not
    const isCareful = this.careful.has(of.organization)
    try {
      const decoded = actor.decodeFact(fact, of.version)
      const own = copy !== undefined && (isCareful || !cell.ownsState) ? copy(cell.state) : cell.state
      const state = evolve(own, decoded)
      checkState(actor, state)
      cell.state = state
      cell.ownsState = true
    } catch (cause) {
      if (copy !== undefined && !isCareful) return { careful: of.organization }
      this.setAside(cell, `${where} that cannot be applied: ${describe(cause)}`, keep(actor, cell.state, [stored]))
    }
    // the size is not known without encoding; the next write measures it
    cell.bytes = maximumStateBytes
    return undefined
  }

  /** Ends the replay: changed actors wait for a checkpoint, and timers are set. */
  finish(timers: Timers): void {
    for (const cell of this.changed) {
      if (cell.unreadable === undefined) {
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
