/**
 * Holds the changes of a drain until they are stored: the actors' draft states, the frame being built, and its records
 * as followers will see them (docs/architecture.md, rule 5). The durable states do not change before `commit`.
 */
import type { Decision, Message, PublicEvent } from "../../Actor.ts"
import { isSubjectToken } from "../../address.ts"
import {
  encodeEvent,
  encodeMessage,
  FrameBuilder,
  type FrameHeader,
  type FrameMessage,
  type Head
} from "../../frame.ts"
import { eventId, maximumIdCommands } from "../../ids.ts"
import {
  maximumDrainCommands,
  maximumMessageBytes,
  maximumMessages,
  maximumStateBytes,
  stateSlackBytes
} from "../../limits.ts"
import type { MessageRecord } from "../../outbox.ts"
import type { LogRecord } from "../../records.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import type { Cell, Registry } from "../actors/Organization.ts"
import { assert } from "../assert.ts"
import { checkKey, checkState, NotFresh, RuleBroken, wakeAtOf } from "../ruleChecks.ts"
import type { Timers } from "../timers/Timers.ts"
import type { DecidingDraft, TouchedCells } from "./DrainContext.ts"

// Encodes a decision's messages to other organizations, checked by the receiver's schema before anything is appended
// (docs/architecture.md, rule 17). A faulty message is the fault of the rule that decided it.

/** A message as text, stringified once. */
export interface EncodedMessage {
  readonly message: FrameMessage
  readonly text: string
  readonly bytes: number
}

const none: ReadonlyArray<EncodedMessage> = []

/** Checks and encodes a decision's messages. Throws a description of the fault. */
export const encodeMessages = (
  registry: Registry,
  messages: ReadonlyArray<Message>,
  level: number
): ReadonlyArray<EncodedMessage> => {
  if (messages.length === 0) return none
  if (messages.length > maximumMessages)
    throw new RuleBroken(`it sends ${messages.length} messages, at most ${maximumMessages} are allowed`)
  return messages.map((message) => encodeOne(registry, message, level))
}

const encodeOne = (
  registry: Registry,
  { actor: named, command, key, organization }: Message,
  level: number
): EncodedMessage => {
  const actor = registry.actors[registry.actorIndex(named.kind)]
  if (actor === undefined || actor.internal !== undefined)
    throw new RuleBroken(`it sends a message to ${named.kind}, which is not an actor of this engine`)
  if (actor.isStateless) throw new RuleBroken(`it sends a message to ${actor.kind}, which has no state`)
  if (typeof organization !== "string" || !isSubjectToken(organization))
    throw new RuleBroken(
      `it sends a message to "${String(organization).slice(0, 64)}", which cannot name an organization`
    )
  try {
    checkKey(key)
  } catch (cause) {
    throw new RuleBroken(`it sends a message to ${actor.kind}: ${cause instanceof Error ? cause.message : "its key"}`)
  }
  const encoded = actor.encodeCommand(command)
  if (encoded === undefined) throw new RuleBroken(`a message to ${actor.kind} has no JSON form`)
  const receiver = { organization, kind: actor.kind, key, version: actor.written(level).version }
  const text = encodeMessage({ ...receiver, command: encoded })
  // Read back, because an encoded value may still hold parts that JSON drops.
  const message = { ...receiver, command: (JSON.parse(text) as ReadonlyArray<unknown>)[4] }
  const bytes = Buffer.byteLength(text)
  if (bytes > maximumMessageBytes)
    throw new RuleBroken(`a message to ${actor.kind} takes ${bytes} bytes, at most ${maximumMessageBytes} are allowed`)
  return { message, text, bytes }
}

/** Bytes a record takes in a frame besides its text, and a message. */
const recordOverheadBytes = 16
const messageOverheadBytes = 24

/** Bytes an actor takes in a frame's table besides its names, and the most bytes of one character of them as JSON. */
const actorOverheadBytes = 24
const maximumCharacterBytes = 6

/** The most bytes of a name as JSON. Plain ASCII keeps its length. */
const nameBytes = (name: string): number => (/^[ !#-[\]-~]*$/.test(name) ? 1 : maximumCharacterBytes) * name.length

/**
 * Thrown when a decision has changed a state in place and so cannot be undone alone. The drain is decided again, with
 * copies for that organization.
 */
export class DecideAgain extends Error {}

/**
 * Thrown to a rule that asks for an id when this frame's number has no more: no frame could be stored for a long time.
 */
export class IdsUsedUp extends Error {}

/** A decision's facts, events and messages as text, each stringified once, with the actors that the facts belong to. */
export interface EncodedDecision {
  readonly cells: ReadonlyArray<Cell>
  readonly facts: ReadonlyArray<unknown>
  readonly events: ReadonlyArray<PublicEvent>
  /** The texts of the facts, then those of the events. */
  readonly texts: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
  readonly messages: ReadonlyArray<EncodedMessage>
  /** Upper bound of the bytes they take in a frame. */
  readonly bytes: number
}

/** Why a decision was not applied, with everything as before. */
export type NotApplied =
  | { readonly _tag: "Threw"; readonly cause: unknown }
  | { readonly _tag: "Outgrown"; readonly bytes: number }

/** The step that restores a draft to its state before a decision. */
interface Undo {
  readonly cell: Cell
  readonly draft: unknown
  readonly wakeAt: number
  readonly bytes: number
  readonly isNew: boolean
  /** The step before it, of another actor. */
  readonly before: Undo | undefined
}

export class Draft implements DecidingDraft {
  readonly partition: number
  builder = new FrameBuilder()
  records: Array<LogRecord> = []
  messages: Array<MessageRecord> = []
  now = 0
  /** The level of formats in force when it began. */
  level = Number.POSITIVE_INFINITY
  epoch = 0
  frameNumber = 0
  /** How many states were encoded to measure them. That is costly, so the drain checks the time by this count. */
  measured = 0
  private readonly registry: Registry
  private readonly wantsRecords: boolean
  /** The draft's number. States and frame indexes with another number are void. */
  private stamp = 0
  private sequence = 0
  private changed: Array<Cell> = []
  private idCommands = 0
  private applied = 0

  constructor(partition: number, registry: Registry, wantsRecords: boolean) {
    this.partition = partition
    this.registry = registry
    this.wantsRecords = wantsRecords
  }

  /** Starts a new draft after `head`; the previous draft is void. */
  begin(head: Head, now: number, level: number): void {
    this.discard()
    if (this.epoch !== head.epoch || this.frameNumber !== head.number + 1) this.idCommands = 0
    this.now = now
    this.level = level
    this.epoch = head.epoch
    this.frameNumber = head.number + 1
    this.sequence = head.sequence + 1
  }

  discard(): void {
    this.stamp++
    this.builder = new FrameBuilder()
    this.records = []
    this.messages = []
    this.changed = []
  }

  /** Encodes an empty frame. */
  fence(header: FrameHeader): Uint8Array {
    return new FrameBuilder().encode(header)
  }

  readonly nextIdCommand = (): number => {
    if (this.idCommands >= maximumIdCommands) throw new IdsUsedUp()
    return this.idCommands++
  }

  /**
   * Whether this frame's number has nearly run out of ids. A frame must then be stored, so that the next drain gets a
   * new number.
   */
  get hasFewIdsLeft(): boolean {
    return this.idCommands > maximumIdCommands - maximumDrainCommands
  }

  /** Decisions that have asked for ids. */
  get idsGiven(): number {
    return this.idCommands
  }

  /**
   * Takes back the ids given since `idsGiven` was `given`. Only a rule has seen them, and its decision is not stored.
   */
  forgetIds(given: number): void {
    this.idCommands = given
  }

  stateOf = (cell: Cell): unknown => (cell.draftOf === this.stamp ? cell.draft : cell.state)

  /** Whether this drain has facts of the actor. Then its draft is known, even if its durable state is not. */
  hasChanged(cell: Cell): boolean {
    return cell.draftOf === this.stamp
  }

  /** When an actor is due to be woken; infinity for never. */
  dueAtOf(cell: Cell): number {
    if (cell.draftOf !== this.stamp) return cell.dueAt
    return cell.brake === undefined ? cell.draftWakeAt : cell.brake.dueAnew(cell.draftWakeAt)
  }

  /**
   * Encodes and measures a decision, changing nothing. Throws an encoder's error, and when facts are for an actor that
   * is not touched.
   */
  encode(touched: TouchedCells, decision: Decision<unknown, unknown, unknown>): EncodedDecision {
    const cell = touched.self
    const { events, others } = decision
    let count = decision.facts.length
    for (const other of others) count += other.facts.length
    // Arrays of the exact length: growing ones take a hundred bytes more each, for every decision.
    const facts = new Array<unknown>(count)
    const cells = new Array<Cell>(count)
    const texts = new Array<string>(count + events.length)
    const sizes = new Array<number>(count + events.length)
    let bytes = this.tableBytes(cell)
    let at = 0
    const add = (text: string | undefined) => {
      if (text === undefined) throw new TypeError("a fact has no JSON form")
      const size = Buffer.byteLength(text)
      texts[at] = text
      sizes[at] = size
      at++
      bytes += size + recordOverheadBytes
    }
    const addFacts = (target: Cell, own: ReadonlyArray<unknown>) => {
      const { encodeFact } = target.actor.written(this.level)
      for (const fact of own) {
        facts[at] = fact
        cells[at] = target
        add(JSON.stringify(encodeFact(fact)))
      }
    }
    addFacts(cell, decision.facts)
    for (const other of others) {
      checkKey(other.key)
      const target = touched.find(other.actor.kind, other.key)
      bytes += this.tableBytes(target)
      addFacts(target, other.facts)
    }
    for (const event of events) add(encodeEvent(event))
    if (at !== texts.length) throw new TypeError("its facts change while they are encoded")
    const messages = encodeMessages(this.registry, decision.messages, this.level)
    for (const message of messages) bytes += message.bytes + messageOverheadBytes
    return { cells, facts, events, texts, sizes, messages, bytes }
  }

  /**
   * Applies a decision to the drafts, and checks the states it leads to. Returns why it could not, with everything as
   * before. `isCareful` works on copies, so that it can always be undone; without it `DecideAgain` may be thrown, with
   * drafts that must be discarded.
   */
  apply(encoded: EncodedDecision, isCareful: boolean): NotApplied | undefined {
    const { cells, facts, sizes } = encoded
    let copies = isCareful
    for (let index = 0; index < cells.length && !copies; index++)
      copies = cells[index]!.bytes + encoded.bytes > maximumStateBytes
    let undo: Undo | undefined
    let inPlace = false
    const application = ++this.applied
    try {
      for (let index = 0; index < facts.length; index++) {
        const cell = cells[index]!
        const { copy, evolve } = cell.actor.options
        if (cell.actor.isStateless) continue
        if (cell.appliedOf !== application) {
          const isNew = cell.draftOf !== this.stamp
          // Before an undo is noted, because copying may throw.
          const first = isNew && copy !== undefined ? copy(cell.state) : cell.state
          const { bytes, draft, draftWakeAt: wakeAt } = cell
          undo = { cell, draft, wakeAt, bytes, isNew, before: undo }
          cell.appliedOf = application
          if (isNew) {
            cell.draft = first
            cell.draftOf = this.stamp
            cell.draftWakeAt = cell.wakeAt
            this.changed.push(cell)
          } else if (copy !== undefined) {
            if (copies) cell.draft = copy(cell.draft)
            else inPlace = true
          }
        }
        cell.draft = evolve(cell.draft, facts[index])
        cell.bytes += sizes[index]!
      }
      for (let step = undo; step !== undefined; step = step.before) {
        const { cell } = step
        checkState(cell.actor, cell.draft)
        cell.draftWakeAt = wakeAtOf(cell.actor, cell.draft)
        if (cell.bytes <= maximumStateBytes) continue
        // The estimate is over the bound; only encoding tells the real size.
        const bytes = Buffer.byteLength(JSON.stringify(cell.actor.encodeState(cell.draft)))
        this.measured++
        // So that the next facts are counted before it is encoded again.
        cell.bytes = Math.min(bytes, maximumStateBytes - stateSlackBytes)
        if (bytes <= maximumStateBytes) continue
        this.undo(undo)
        return { _tag: "Outgrown", bytes }
      }
      return undefined
    } catch (cause) {
      if (inPlace) throw new DecideAgain()
      this.undo(undo)
      return { _tag: "Threw", cause }
    }
  }

  /**
   * Throws when a decision gives facts to an actor that its command claims to be fresh and that has facts. This is
   * known only for an actor in memory; a command that leaves such an actor unchanged is a repeat that recognizes
   * itself.
   */
  checkClaims({ fresh }: TouchedCells, { cells }: EncodedDecision): void {
    if (fresh.length === 0) return
    const changed = new Set(cells)
    for (const cell of fresh)
      if (changed.has(cell) && (this.hasChanged(cell) || cell.changedAt > 0)) throw new NotFresh(cell)
  }

  /** Takes back a decision's steps, the last one first. */
  private undo(last: Undo | undefined): void {
    for (let step = last; step !== undefined; step = step.before) {
      const { bytes, cell, draft, isNew, wakeAt } = step
      cell.appliedOf = -1
      cell.draft = draft
      cell.draftWakeAt = wakeAt
      cell.bytes = bytes
      if (!isNew) continue
      cell.draftOf = -1
      const changed = this.changed.pop()
      assert(changed === cell, "a decision is undone in another order than it was applied")
    }
  }

  /** Adds the decision that was applied last to the frame. */
  add({ fresh, self: cell }: TouchedCells, { cells, events, facts, messages, sizes, texts }: EncodedDecision): void {
    for (const claimed of fresh) if (claimed.appliedOf === this.applied) claimed.freshOf = this.stamp
    for (let index = 0; index < facts.length; index++) {
      const of = cells[index]!
      const actor = this.frameIndexOf(of)
      if (this.wantsRecords && of.actor.internal === undefined)
        this.records.push({ _tag: "Fact", ...this.place(of), fact: facts[index] })
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
    for (const { bytes, message, text } of messages) {
      const actor = this.frameIndexOf(cell)
      const origin = [this.epoch, this.sequence, this.builder.count] as const
      this.messages.push({ origin, now: this.now, sender: cell.address, message, bytes })
      this.builder.addMessage(actor, text, bytes)
    }
  }

  /** Makes the drafts the durable states, since the frame is stored at `sequence`. */
  commit(sequence: number, memory: ActorMemory, timers: Timers): void {
    for (const cell of this.changed) {
      if (cell.freshOf === this.stamp) {
        cell.loaded = true
        cell.isNew = false
        cell.unreadable = undefined
        // Sets the timer that a checkpoint may have for it.
        timers.loaded(cell)
      }
      cell.state = cell.draft
      cell.draft = undefined
      cell.changedAt = sequence
      memory.changed(cell)
      cell.wakeAt = cell.draftWakeAt
      // Now that the state has changed, a wake that failed or did nothing may be tried again.
      cell.suspendedWakeAt = Number.NaN
      if (cell.brake !== undefined) cell.brake.againAt = Number.NaN
      timers.set(cell, cell.dueAt)
    }
    this.stamp++
    this.changed = []
  }

  private tableBytes(cell: Cell): number {
    return cell.frameOf === this.stamp
      ? 0
      : actorOverheadBytes + nameBytes(cell.organization.name) + nameBytes(cell.key)
  }

  private frameIndexOf(cell: Cell): number {
    if (cell.frameOf !== this.stamp) {
      cell.frameOf = this.stamp
      const { actor, key, organization } = cell
      const isFresh = cell.freshOf === this.stamp
      const keyText = key === "" ? '""' : JSON.stringify(key)
      const { version } = actor.written(this.level)
      cell.frameIndex = this.builder.addActorTexts(actor.kind, version, organization.text, keyText, isFresh)
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
