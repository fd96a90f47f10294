/**
 * What a drain has changed and not yet stored: the actors' draft states, the frame being built, and its records as followers will see them
 * (architecture, rule 5). The durable states are untouched until `commit`.
 */
import type { Decision, PublicEvent } from "./Actor.ts"
import { addressOf, findTouched } from "./decideContext.ts"
import { encodeEvent, FrameBuilder, type Head } from "./frame.ts"
import { eventId } from "./ids.ts"
import { maximumStateBytes } from "./limits.ts"
import type { Cell, Memory } from "./memory.ts"
import type { LogRecord } from "./records.ts"
import type { Timers } from "./timers.ts"

/** Bytes a record takes in a frame besides its text. */
const recordOverheadBytes = 16

/** Bytes an actor takes in a frame's table besides its names, and the most bytes of one character of them as JSON. */
const actorOverheadBytes = 24
const maximumCharacterBytes = 6

/** Thrown when a state changed in place would be too large: that cannot be undone alone, so the drain is decided again without it. */
export class StateOutgrown extends Error {
  readonly bytes: number
  constructor(bytes: number) {
    super("a state would be too large")
    this.bytes = bytes
  }
}

/** A decision's facts and events as text, each stringified once, with the actors they belong to. */
export interface EncodedDecision {
  readonly cells: ReadonlyArray<Cell>
  readonly facts: ReadonlyArray<unknown>
  readonly events: ReadonlyArray<PublicEvent>
  /** Of the facts, then of the events. */
  readonly texts: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
  /** Upper bound of what they take in a frame. */
  readonly bytes: number
}

export class Draft {
  builder = new FrameBuilder()
  records: Array<LogRecord> = []
  now = 0
  epoch = 0
  frameNumber = 0
  private readonly partition: number
  private readonly wantsRecords: boolean
  /** The number of the draft: states and frame indexes that bear another one are void. */
  private stamp = 0
  private sequence = 0
  private changed: Array<Cell> = []

  constructor(partition: number, wantsRecords: boolean) {
    this.partition = partition
    this.wantsRecords = wantsRecords
  }

  /** Starts anew after `head`; whatever was drafted is void. */
  begin(head: Head, now: number): void {
    this.discard()
    this.now = now
    this.epoch = head.epoch
    this.frameNumber = head.number + 1
    this.sequence = head.sequence + 1
  }

  discard(): void {
    this.stamp++
    this.builder = new FrameBuilder()
    this.records = []
    this.changed = []
  }

  /** Whether an actor is changed. */
  has(cell: Cell): boolean {
    return cell.draftOf === this.stamp
  }

  stateOf(cell: Cell): unknown {
    return cell.draftOf === this.stamp ? cell.draft : cell.state
  }

  /** When an actor wants to be woken; infinity for never. */
  wakeAtOf(cell: Cell): number {
    return cell.draftOf === this.stamp ? cell.draftWakeAt : cell.wakeAt
  }

  /** Encodes and measures a decision, changing nothing. Throws what an encoder throws, and when facts are for an actor that is not touched. */
  encode(cell: Cell, touched: ReadonlyArray<Cell>, decision: Decision<unknown, unknown, unknown>): EncodedDecision {
    const texts: Array<string> = []
    const sizes: Array<number> = []
    const cells: Array<Cell> = []
    const facts: Array<unknown> = []
    let bytes = this.tableBytes(cell)
    const add = (text: string | undefined) => {
      if (text === undefined) throw new TypeError("a fact has no JSON form")
      const size = Buffer.byteLength(text)
      texts.push(text)
      sizes.push(size)
      bytes += size + recordOverheadBytes
    }
    for (const fact of decision.facts) {
      add(JSON.stringify(cell.actor.encodeFact(fact)))
      cells.push(cell)
      facts.push(fact)
    }
    for (const other of decision.others) {
      const target = findTouched(cell, touched, other.actor.kind, other.key)
      bytes += this.tableBytes(target)
      for (const fact of other.facts) {
        add(JSON.stringify(target.actor.encodeFact(fact)))
        cells.push(target)
        facts.push(fact)
      }
    }
    for (const event of decision.events) add(encodeEvent(event))
    return { cells, facts, events: decision.events, texts, sizes, bytes }
  }

  /**
   * Applies a decision to the drafts. Answers the size of a state that would be too large, with everything as before; throws what
   * `evolve` or `wakeAt` throws, and `StateOutgrown`, with drafts that must be discarded.
   */
  apply({ cells, facts, sizes }: EncodedDecision): number | undefined {
    const undo: Array<{
      readonly cell: Cell
      readonly draft: unknown
      readonly wakeAt: number
      readonly isNew: boolean
    }> = []
    for (let index = 0; index < facts.length; index++) {
      const cell = cells[index]!
      const options = cell.actor.options
      const isNew = cell.draftOf !== this.stamp
      if (isNew) {
        cell.draft = options.copy === undefined ? cell.state : options.copy(cell.state)
        cell.draftOf = this.stamp
        cell.draftWakeAt = cell.wakeAt
        this.changed.push(cell)
      }
      undo.push({ cell, draft: cell.draft, wakeAt: cell.draftWakeAt, isNew })
      cell.draft = options.evolve(cell.draft, facts[index])
      if (options.wakeAt !== undefined) cell.draftWakeAt = options.wakeAt(cell.draft) ?? Number.POSITIVE_INFINITY
      cell.bytes += sizes[index]!
      if (cell.bytes <= maximumStateBytes) continue
      // the estimate has passed the bound: only encoding tells
      const bytes = Buffer.byteLength(JSON.stringify(cell.actor.encodeState(cell.draft)))
      cell.bytes = Math.min(bytes, maximumStateBytes)
      if (bytes <= maximumStateBytes) continue
      if (undo.some((step) => step.cell.actor.options.copy !== undefined)) throw new StateOutgrown(bytes)
      for (const step of undo.reverse()) {
        step.cell.draft = step.draft
        step.cell.draftWakeAt = step.wakeAt
        if (!step.isNew) continue
        step.cell.draftOf = -1
        this.changed.splice(this.changed.indexOf(step.cell), 1)
      }
      return bytes
    }
    return undefined
  }

  /** Adds an applied decision to the frame. */
  add(cell: Cell, { cells, events, facts, sizes, texts }: EncodedDecision): void {
    for (let index = 0; index < facts.length; index++) {
      const of = cells[index]!
      const actor = this.frameIndexOf(of)
      if (this.wantsRecords) this.records.push({ _tag: "Fact", ...this.place(of), fact: facts[index] })
      this.builder.addFact(actor, texts[index]!, sizes[index]!)
    }
    for (let index = 0; index < events.length; index++) {
      const at = facts.length + index
      const actor = this.frameIndexOf(cell)
      if (this.wantsRecords) {
        const id = eventId(this.partition, this.epoch, this.frameNumber, this.builder.count)
        this.records.push({ _tag: "Event", ...this.place(cell), id, event: events[index]! })
      }
      this.builder.addEvent(actor, texts[at]!, sizes[at]!)
    }
  }

  /** The frame is stored at `sequence`: the drafts are the durable states now. */
  commit(sequence: number, memory: Memory, timers: Timers): void {
    for (const cell of this.changed) {
      cell.state = cell.draft
      cell.draft = undefined
      cell.changedAt = sequence
      memory.dirty.add(cell)
      const moved = cell.draftWakeAt !== cell.wakeAt
      cell.wakeAt = cell.draftWakeAt
      // a timer that failed or did nothing is set again when the state has changed
      if ((moved || cell.suspendedWakeAt === cell.wakeAt) && cell.wakeAt !== Number.POSITIVE_INFINITY) {
        timers.add(addressOf(cell), cell.wakeAt)
      }
      cell.suspendedWakeAt = Number.NaN
    }
    this.stamp++
    this.changed = []
  }

  private tableBytes(cell: Cell): number {
    return cell.frameOf === this.stamp
      ? 0
      : actorOverheadBytes + maximumCharacterBytes * (cell.organization.name.length + cell.key.length)
  }

  private frameIndexOf(cell: Cell): number {
    if (cell.frameOf !== this.stamp) {
      cell.frameOf = this.stamp
      cell.frameIndex = this.builder.addActor(cell.actor.kind, cell.actor.version, cell.organization.name, cell.key)
    }
    return cell.frameIndex
  }

  private place(cell: Cell) {
    return {
      partition: this.partition,
      sequence: this.sequence,
      index: this.builder.count,
      now: this.now,
      organization: cell.organization.name,
      kind: cell.actor.kind,
      key: cell.key
    }
  }
}
