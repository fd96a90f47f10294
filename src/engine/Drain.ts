/**
 * One partition's synchronous heart: takes timers, signals and commands, decides them against drafts, and leaves one frame's worth of
 * facts with the replies that wait for it (architecture, rules 5, 8, 10, 12, 13). No Effect inside; the partition's fiber appends what
 * a drain built and then calls `commit` or `abandon`.
 */
import { Exit } from "effect"
import type { AnyActor, Decision } from "./Actor.ts"
import { Draft, type EncodedDecision, StateOutgrown } from "./Draft.ts"
import { addressOf, DrainContext } from "./decideContext.ts"
import { type AskError, CommandFailed, CommandInvalid, DecisionTooLarge, Overloaded, StateTooLarge } from "./errors.ts"
import { entryOf, requestActorsOf } from "./firing.ts"
import type { Head } from "./frame.ts"
import {
  frameOverheadBytes,
  maximumDrainBytes,
  maximumDrainCommands,
  maximumDrainMillis,
  maximumFrameBytes,
  maximumSignalsPerDrain,
  maximumStateBytes,
  maximumTimersPerDrain,
  maximumTouchedActors
} from "./limits.ts"
import type { Mailbox } from "./Mailbox.ts"
import type { Cell, Entry, Memory, Resume } from "./memory.ts"
import { describe, EvolveFailed, type Poisoned } from "./poison.ts"
import type { Sabotage } from "./sabotage.ts"
import type { SignalQueue } from "./signalQueue.ts"
import type { Timers } from "./timers.ts"

/** The most bytes of records a frame takes. */
const roomBytes = maximumFrameBytes - frameOverheadBytes

/** Commands between two looks at the clock. */
const clockStride = 16

/** How soon an overloaded partition is worth asking again, milliseconds. */
const retryAfterMillis = 1_000

const noCells: ReadonlyArray<Cell> = []

/** Stands for a command that only reads the durable state. */
export const peekCommand: unique symbol = Symbol.for("sluice/engine/peek")

/** A state changed in place would be too large: the drain is decided again with that entry refused. */
class DecideAgain extends Error {}

export interface DrainDependencies {
  readonly partition: number
  readonly memory: Memory
  readonly mailbox: Mailbox
  readonly signals: SignalQueue
  readonly timers: Timers
  readonly sabotage: ReadonlySet<Sabotage>
  readonly maximumActors: number
  readonly poisoned: Poisoned
  /** Monotonic nanoseconds. */
  readonly nanos: () => bigint
  /** Loads a cell at once and answers true, or asks for its checkpoint row, lets its organization wait, and answers false. */
  readonly load: (cell: Cell) => boolean
  readonly onPoison: (kind: string, reason: string) => void
  /** Memory is full: a new actor was refused. */
  readonly onCrowded: () => void
  /** Whether anybody follows the log from memory. */
  readonly wantsRecords: boolean
}

export class Drain {
  readonly partition: number
  /** What is decided and not yet stored. */
  readonly draft: Draft
  /** The replies that wait for the frame. */
  waiting: Array<Entry> = []
  waitingExits: Array<Exit.Exit<unknown, unknown>> = []
  /** Replies that rest on no fact of this drain. */
  immediate: Array<Resume> = []
  immediateExits: Array<Exit.Exit<unknown, unknown>> = []
  signalSequence = 0
  /** Commands, signals and timers decided. */
  decidedCount = 0
  private readonly deps: DrainDependencies
  private tookSignals = false
  /** A decision did not fit into the frame any more. */
  private full = false

  constructor(deps: DrainDependencies) {
    this.deps = deps
    this.partition = deps.partition
    this.draft = new Draft(deps.partition, deps.wantsRecords)
  }

  /** Whether a frame must be appended before `waiting` is answered. */
  get hasFrame(): boolean {
    return this.draft.builder.count > 0 || this.tookSignals
  }

  /**
   * Decides what is there, within the bounds of one drain. Afterwards `hasFrame`, `immediate` and `waiting` say what to do. `held`
   * leaves timers and signals for later. Throws `EvolveFailed`.
   */
  run(head: Head, now: number, held: boolean): void {
    this.immediate = []
    this.immediateExits = []
    while (true) {
      this.draft.begin(head, now)
      this.waiting = []
      this.waitingExits = []
      this.signalSequence = head.signalSequence
      this.decidedCount = 0
      this.tookSignals = false
      this.full = false
      try {
        this.fill(held)
        return
      } catch (error) {
        this.putBackWaiting()
        this.draft.discard()
        if (!(error instanceof DecideAgain)) throw error
      }
    }
  }

  /** The frame is not stored: drafts are void; callers get `error`, signals and timers are there again. */
  abandon(error: AskError): void {
    const entries = this.waiting
    this.waiting = []
    this.draft.discard()
    for (let index = entries.length - 1; index >= 0; index--) {
      const entry = entries[index]!
      if (entry.resume === undefined) this.putBack(entry)
    }
    for (const entry of entries) entry.fail(error)
  }

  private fill(held: boolean): void {
    const { mailbox, memory, nanos, signals, timers } = this.deps
    const deadline = nanos() + BigInt(maximumDrainMillis) * 1_000_000n
    if (!held) {
      if (!timers.needsPage(this.draft.now)) this.fireTimers()
      for (let taken = 0; taken < maximumSignalsPerDrain && this.hasRoom(); taken++) {
        const entry = signals.first
        if (entry === undefined) break
        entry.organization = memory.organization(entry.organization.name) ?? entry.organization
        if (entry.organization.loading > 0) break
        signals.take()
        if (!this.decide(entry)) {
          signals.putBack(entry)
          break
        }
      }
    }
    while (this.hasRoom()) {
      const entry = mailbox.take()
      if (entry === undefined) break
      if (!this.decide(entry)) {
        mailbox.putBack(entry)
        continue
      }
      // refused without a trace: its organization must not stay behind either
      if (entry.organization.cellCount === 0) memory.releaseOrganization(entry.organization)
      if (this.decidedCount % clockStride === 0 && nanos() > deadline) break
    }
  }

  private hasRoom(): boolean {
    return this.decidedCount < maximumDrainCommands && this.draft.builder.bytes < maximumDrainBytes && !this.full
  }

  /** Fires due timers in their order; the first whose actor is not there yet holds the later ones, not the commands. */
  private fireTimers(): void {
    const { memory, timers } = this.deps
    const due = timers.takeDue(this.draft.now, maximumTimersPerDrain)
    requestActorsOf(memory, due, this.deps.load)
    let count = 0
    try {
      for (; count < due.length && this.hasRoom(); count++) {
        const entry = entryOf(memory, due[count]!)
        if (entry === undefined) continue
        if (entry.organization.loading > 0 || !this.decide(entry)) break
      }
    } catch (error) {
      // the one that failed is put back, or refused, by whoever catches this
      timers.fired(count + 1)
      throw error
    }
    timers.fired(count)
  }

  /** Decides an entry. False when it has to wait: for loading, or for the next frame. Throws `EvolveFailed` and `DecideAgain`. */
  private decide(entry: Entry): boolean {
    if (entry.refusal !== undefined) return this.settle(entry, Exit.fail(entry.refusal))
    const { deps } = this
    const options = entry.actor.options
    let cell: Cell
    let touched = noCells
    let decision: Decision<unknown, unknown, unknown>
    try {
      if (entry.resume === undefined && deps.poisoned.has(entry)) {
        return this.settle(entry, Exit.fail(new CommandFailed({ kind: entry.actor.kind, reason: "refused before" })))
      }
      const known = entry.organization.cell(entry.actorIndex, entry.key)
      if (known === undefined && entry.resume !== undefined && this.isCrowded()) return this.refuseCrowded(entry)
      cell = known ?? deps.memory.cell(entry.organization, entry.actorIndex, entry.key)
      cell.used = true
      if (!cell.loaded && !deps.load(cell)) return false
      if (
        entry.wakeAt !== undefined &&
        (this.draft.wakeAtOf(cell) !== entry.wakeAt || cell.suspendedWakeAt === entry.wakeAt)
      ) {
        return true
      }
      if (entry.command === peekCommand) return this.answerNow(entry, Exit.succeed(cell.state))
      const touches = entry.wakeAt === undefined ? options.touches : options.wakeTouches
      if (touches !== undefined) {
        const subject = entry.wakeAt === undefined ? entry.command : this.draft.stateOf(cell)
        const cells = this.touchedCells(entry, touches(subject, addressOf(cell)))
        if (cells === undefined) return false
        touched = cells
      }
      const state = this.draft.stateOf(cell)
      const context = new DrainContext(this.partition, this.draft, this.decidedCount, cell, touched)
      decision =
        entry.wakeAt === undefined ? options.decide(state, entry.command, context) : options.wake!(state, context)
    } catch (cause) {
      return this.poison(entry, cause)
    }
    if (
      !decision.accepted ||
      (decision.facts.length === 0 && decision.others.length === 0 && decision.events.length === 0)
    ) {
      if (entry.wakeAt !== undefined) cell.suspendedWakeAt = entry.wakeAt
      return this.settle(entry, decision.accepted ? Exit.succeed(decision.reply) : Exit.fail(decision.rejection))
    }
    return this.accept(entry, cell, touched, decision)
  }

  /** The cells a command names, all loaded; undefined when some are being loaded. */
  private touchedCells(
    entry: Entry,
    names: ReadonlyArray<{ readonly actor: AnyActor; readonly key: string }>
  ): ReadonlyArray<Cell> | undefined {
    const { deps } = this
    if (names.length > maximumTouchedActors)
      throw new RangeError(`it names ${names.length} actors, at most ${maximumTouchedActors} are allowed`)
    const cells: Array<Cell> = []
    let allLoaded = true
    for (const name of names) {
      const index = deps.memory.registry.actorIndex(name.actor.kind)
      if (index < 0) throw new Error(`${name.actor.kind} is not an actor of this engine`)
      const cell = deps.memory.cell(entry.organization, index, name.key)
      cell.used = true
      if (!cell.loaded && !deps.load(cell)) allLoaded = false
      cells.push(cell)
    }
    return allLoaded ? cells : undefined
  }

  private accept(
    entry: Entry,
    cell: Cell,
    touched: ReadonlyArray<Cell>,
    decision: Decision<unknown, unknown, unknown>
  ): boolean {
    const { draft } = this
    let encoded: EncodedDecision
    try {
      // everything is encoded and measured before any evolve, so that a refusal leaves nothing behind
      encoded = draft.encode(cell, touched, decision)
    } catch (cause) {
      return this.poison(entry, cause)
    }
    const { kind } = entry.actor
    if (encoded.bytes > roomBytes) {
      return this.settle(
        entry,
        Exit.fail(new DecisionTooLarge({ kind, bytes: encoded.bytes, maximumBytes: roomBytes }))
      )
    }
    if (draft.builder.bytes + encoded.bytes > roomBytes) {
      this.full = true
      return false
    }
    let outgrown: number | undefined
    try {
      outgrown = draft.apply(encoded)
    } catch (cause) {
      if (!(cause instanceof StateOutgrown)) throw new EvolveFailed(entry, cause)
      entry.refusal = new StateTooLarge({ kind, bytes: cause.bytes, maximumBytes: maximumStateBytes })
      if (entry.wakeAt !== undefined) cell.suspendedWakeAt = entry.wakeAt
      this.waiting.push(entry)
      throw new DecideAgain()
    }
    if (outgrown !== undefined) {
      if (entry.wakeAt !== undefined) cell.suspendedWakeAt = entry.wakeAt
      return this.settle(
        entry,
        Exit.fail(new StateTooLarge({ kind, bytes: outgrown, maximumBytes: maximumStateBytes }))
      )
    }
    draft.add(cell, encoded)
    // if it wants to be woken at the same time again, the timer has to be set again with the frame
    if (entry.wakeAt !== undefined) cell.suspendedWakeAt = entry.wakeAt
    return this.settle(entry, Exit.succeed(decision.reply))
  }

  /** Counts an entry as decided. What rests on a fact of this drain, or has no caller, waits for the frame (rule 5). */
  private settle(entry: Entry, exit: Exit.Exit<unknown, unknown>): true {
    this.decidedCount++
    if (entry.signalSequence > 0) {
      this.signalSequence = entry.signalSequence
      this.tookSignals = true
    }
    const waits =
      this.draft.builder.count > 0 && !(exit._tag === "Failure" && this.deps.sabotage.has("rejection-does-not-wait"))
    if (waits || entry.resume === undefined) {
      this.waiting.push(entry)
      this.waitingExits.push(exit)
    } else {
      this.immediate.push(entry.resume)
      this.immediateExits.push(exit)
    }
    return true
  }

  /** For what rests on the durable state alone, whatever this drain has decided. */
  private answerNow(entry: Entry, exit: Exit.Exit<unknown, unknown>): true {
    this.decidedCount++
    this.immediate.push(entry.resume!)
    this.immediateExits.push(exit)
    return true
  }

  private poison(entry: Entry, cause: unknown): true {
    const reason = describe(cause)
    this.deps.onPoison(entry.actor.kind, reason)
    if (entry.wakeAt !== undefined) {
      const cell = entry.organization.cell(entry.actorIndex, entry.key)
      if (cell !== undefined) cell.suspendedWakeAt = entry.wakeAt
    }
    return this.settle(
      entry,
      Exit.fail(
        cause instanceof RangeError && entry.organization.cell(entry.actorIndex, entry.key) === undefined
          ? new CommandInvalid({ kind: entry.actor.kind, reason })
          : new CommandFailed({ kind: entry.actor.kind, reason })
      )
    )
  }

  private isCrowded(): boolean {
    return this.deps.memory.cellCount >= this.deps.maximumActors
  }

  private refuseCrowded(entry: Entry): true {
    this.deps.onCrowded()
    return this.settle(entry, Exit.fail(new Overloaded({ partition: this.partition, retryAfterMillis })))
  }

  private putBackWaiting(): void {
    for (let index = this.waiting.length - 1; index >= 0; index--) this.putBack(this.waiting[index]!)
    this.waiting = []
  }

  private putBack(entry: Entry): void {
    if (entry.signalSequence > 0) this.deps.signals.putBack(entry)
    else if (entry.wakeAt !== undefined) {
      const cell = entry.organization.cell(entry.actorIndex, entry.key)
      if (cell !== undefined && entry.refusal === undefined) cell.suspendedWakeAt = Number.NaN
      this.deps.timers.putBack({
        organization: entry.organization.name,
        kind: entry.actor.kind,
        key: entry.key,
        wakeAt: entry.wakeAt
      })
    } else this.deps.mailbox.putBack(entry)
  }
}
