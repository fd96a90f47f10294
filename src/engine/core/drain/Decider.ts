/**
 * Decides one command, signal or wake after the other against the drafts of a drain (docs/architecture.md, rules 5, 8,
 * 10, 12, 13, 17). It checks a rule's answer before the answer counts, and a command whose rule breaks fails alone.
 * Decided entries wait here for the frame, or are answered before it.
 */
import { type Decision, type Touched, WakeAgain } from "../../Actor.ts"
import type { ActorAddress } from "../../address.ts"
import { describe } from "../../describe.ts"
import {
  CommandFailed,
  CommandInvalid,
  DecisionTooLarge,
  isAnAskError,
  Overloaded,
  PartitionUnavailable,
  ReplyTooLarge,
  StateTooLarge
} from "../../errors.ts"
import type { Head, IngestPlaces } from "../../frame.ts"
import {
  frameOverheadBytes,
  maximumDrainBytes,
  maximumDrainCommands,
  maximumFrameBytes,
  maximumStateBytes,
  retryAfterMillis
} from "../../limits.ts"
import { type Caller, Cell, type Entry } from "../actors/Organization.ts"
import { assert } from "../assert.ts"
import { guarded, type Remembrance } from "../keys/KeyGuard.ts"
import { bytesOf, remember } from "../keys/rememberKey.ts"
import type { CoreHost } from "../protocol.ts"
import {
  checkAgain,
  checkDecision,
  checkTouches,
  KeyInvalid,
  MoreThanFit,
  NotFresh,
  quarantined,
  storesAnything
} from "../ruleChecks.ts"
import { brakeOf } from "../timers/WakeBrake.ts"
import { Answers } from "./Answers.ts"
import { Draft, type EncodedDecision, IdsUsedUp } from "./Draft.ts"
import { DrainContext, TouchedCells } from "./DrainContext.ts"
import type { Mailbox } from "./Mailbox.ts"
import type { SignalQueues } from "./SignalQueues.ts"
import { TouchedActors, type TouchedActorsHost } from "./TouchedActors.ts"

/** The most bytes of records a frame takes. */
const roomBytes = maximumFrameBytes - frameOverheadBytes

/** Actors touched between two checks of the time. */
const touchedPerLook = 64

const noNames: ReadonlyArray<Touched> = []

/** Marks a command that only reads the durable state. */
export const peekCommand: unique symbol = Symbol.for("sluice/engine/peek")

/** Marks a signal that means no command: only its place counts. */
export const passedOver: unique symbol = Symbol.for("sluice/engine/passedOver")

/** The part of the partition that deciding needs. */
export interface DeciderHost extends TouchedActorsHost {
  readonly partition: number
  readonly mailbox: Mailbox
  /** The level of formats in force. */
  readonly level: () => number
  /** Asks for all actors of a command. */
  readonly prefetch: (entry: Entry) => void
  /** Makes an entry wait for an actor that was asked for. */
  readonly waitFor: (cell: Cell, entry: Entry) => void
  readonly signals: SignalQueues
  readonly poisoned: CoreHost["poisoned"]
  readonly signalFailed: CoreHost["signalFailed"]
  /** Reports an actor that is paused because it is woken too often. */
  readonly braked: (address: ActorAddress) => void
  /** Reports that memory is full and that nothing can leave it before a checkpoint. */
  readonly crowded: () => void
  /** Whether followers read the log from memory. */
  readonly wantsRecords: boolean
}

/** The result for an entry: it is decided, it waits for a state, or this frame has no more room for it. */
export type Fate = "decided" | "waits" | "no room"

export class Decider {
  readonly draft: Draft
  /** Replies that rest on no fact of this drain. */
  readonly immediate = new Answers()
  signalSequence = 0
  ingests: IngestPlaces | undefined = undefined
  /** Commands, signals and timers decided. */
  decidedCount = 0
  /** A decision was refused because the log has no room for its facts. */
  metFullLog = false
  private readonly host: DeciderHost
  private readonly gathering: TouchedActors
  /** The entries that wait for the frame, with their answers. */
  private waiting: Array<Entry> = []
  private waitingAccepted: Array<boolean> = []
  private waitingValues: Array<unknown> = []
  private tookSignals = false
  /** Whether a decision no longer fitted into the frame. */
  private full = false
  private logRoom = Number.POSITIVE_INFINITY
  /** How many decisions had asked for ids before the one in hand. */
  private idsBefore = 0
  private monotonic = 0

  constructor(host: DeciderHost) {
    this.host = host
    this.draft = new Draft(host.partition, host.memory.registry, host.wantsRecords)
    this.gathering = new TouchedActors(host, this.draft)
  }

  /** Begins a frame after `head`. `logRoom`: bytes that the log takes for facts. */
  begin(head: Head, now: number, monotonic: number, logRoom: number): void {
    assert(this.waiting.length === 0, "a frame begins with entries of another one")
    this.draft.begin(head, now, this.host.level())
    this.monotonic = monotonic
    this.gathering.begin(monotonic)
    this.logRoom = logRoom
    this.signalSequence = head.signalSequence
    this.ingests = head.ingests
    this.decidedCount = 0
    this.tookSignals = false
    this.full = false
    this.metFullLog = false
  }

  /** Whether a frame must be appended before what waits is answered. */
  get hasFrame(): boolean {
    return this.draft.builder.count > 0 || this.tookSignals || this.draft.hasFewIdsLeft
  }

  /** Whether the frame takes more. Some entries may fill only a `share` of it. */
  hasRoom(share: number): boolean {
    return (
      !this.full && this.decidedCount < maximumDrainCommands && this.draft.builder.bytes < share * maximumDrainBytes
    )
  }

  /** A count that rises with slow work: states that were measured, and every 64 actors that were touched. */
  get slowWork(): number {
    return this.draft.measured + Math.floor(this.gathering.touchedCount / touchedPerLook)
  }

  /** Callers that wait for the frame. */
  get callers(): ReadonlyArray<Caller> {
    return this.waiting.flatMap(({ caller }) => caller ?? [])
  }

  /** Takes the answers that waited for the frame, which is stored now. */
  takeAnswers(): Answers {
    const answers = new Answers()
    const { waiting, waitingAccepted, waitingValues } = this
    for (let index = 0; index < waiting.length; index++) {
      const { caller } = waiting[index]!
      if (caller !== undefined) answers.add(caller, waitingAccepted[index]!, waitingValues[index])
    }
    this.takeWaiting()
    return answers
  }

  /** Takes out the entries that wait for the frame and are no longer part of it. */
  takeWaiting(): ReadonlyArray<Entry> {
    const entries = this.waiting
    this.waiting = []
    this.waitingAccepted = []
    this.waitingValues = []
    return entries
  }

  /** Decides an entry. Throws `DecideAgain`, with the entry among those that wait. */
  decide(entry: Entry): Fate {
    if (entry.refusal !== undefined) return this.settle(entry, false, entry.refusal)
    const { gathering } = this
    const { organization } = entry
    if (organization.quarantine !== undefined)
      return this.settle(entry, false, quarantined(organization.name, organization.quarantine))
    const { options } = entry.actor
    const isWake = entry.wakeAt !== undefined
    let cell: Cell
    let touched: TouchedCells
    let decision: Decision<unknown, unknown, unknown>
    let remembrance: Remembrance | undefined
    try {
      const found = gathering.self(entry)
      if (found === "no room") return this.crowded(entry)
      cell = found
      if (entry.command === peekCommand) {
        if (!this.host.load(cell)) return this.stall(entry, cell)
        return this.answerNow(entry, cell.state)
      }
      if (!gathering.bring(cell, entry.isFresh)) {
        // The other actors that the command touches are loaded too; those of a wake are not known before.
        if (!isWake) this.host.prefetch(entry)
        return this.stall(entry, cell)
      }
      if (isWake && (this.draft.dueAtOf(cell) !== entry.wakeAt || cell.suspendedWakeAt === entry.wakeAt))
        return this.moved(entry)
      const beside = entry.guard === undefined ? undefined : gathering.beside(entry, entry.guard, cell)
      if (beside === "no room") return this.crowded(entry)
      if (beside !== undefined && !gathering.bring(beside)) {
        this.host.prefetch(entry)
        return this.stall(entry, beside)
      }
      const known =
        entry.keyGuard === undefined
          ? beside && entry.guard?.recall(this.draft.stateOf(beside), this.draft.now)
          : gathering.recalled(entry, entry.keyGuard, cell)
      if (known === "no room") return this.crowded(entry)
      if (known instanceof Cell) {
        this.host.prefetch(entry)
        return this.stall(entry, known)
      }
      if (known !== undefined) return this.settle(entry, known.accepted, known.value)
      const touches = isWake ? options.wakeTouches : options.touches
      const names: unknown =
        touches === undefined ? noNames : touches(isWake ? this.draft.stateOf(cell) : entry.command, cell.address)
      checkTouches(entry.actor, names)
      const all = gathering.touched(entry, cell, names)
      if (all === "no room") return this.crowded(entry)
      if (!(all instanceof TouchedCells)) return this.stall(entry, all)
      touched = all
      if (beside !== undefined) touched = touched.and(beside)
      const context = new DrainContext(this.draft, touched)
      const state = this.draft.stateOf(cell)
      if (isWake && !brakeOf(cell).admits(this.draft.now, this.monotonic)) {
        this.host.braked(cell.address)
        return "decided"
      }
      this.idsBefore = this.draft.idsGiven
      const answer: unknown = isWake ? options.wake!(state, context) : options.decide(state, entry.command, context)
      if (isWake && answer instanceof WakeAgain) {
        brakeOf(cell).againAt = checkAgain(entry.actor, answer, this.draft.now)
        return this.settle(entry, true, undefined)
      }
      checkDecision(entry.actor, isWake ? "wake" : "decide", answer)
      decision = answer as Decision<unknown, unknown, unknown>
      if (entry.guard !== undefined) decision = guarded(entry.guard, decision, this.draft.now)
      if (decision.accepted) remembrance = entry.keyGuard?.remember(decision.reply, this.draft.now)
    } catch (cause) {
      return this.poison(entry, cause)
    }
    if (!decision.accepted) return this.unchanged(entry, cell, false, decision.rejection)
    if (remembrance === undefined && !storesAnything(decision)) return this.unchanged(entry, cell, true, decision.reply)
    return this.accept(entry, touched, decision, remembrance)
  }

  /**
   * The actor now wants to be woken at another time. If the frame that says so is not stored in the end, the timer
   * comes back.
   */
  private moved(entry: Entry): Fate {
    this.awaitFrame(entry, false, undefined)
    return "decided"
  }

  private accept(
    entry: Entry,
    touched: TouchedCells,
    decision: Decision<unknown, unknown, unknown>,
    remembrance: Remembrance | undefined
  ): Fate {
    const { draft } = this
    const { keyGuard } = entry
    const cell = touched.self
    const { kind } = entry.actor
    let encoded: EncodedDecision
    try {
      // Everything is encoded and measured before any evolve, so that a refusal leaves nothing behind.
      encoded = draft.encode(touched, decision)
      draft.checkClaims(touched, encoded)
    } catch (cause) {
      return this.poison(entry, cause)
    }
    const bytes = encoded.bytes + (remembrance === undefined ? 0 : bytesOf(entry, keyGuard!, remembrance))
    if (bytes > roomBytes) {
      const error = new DecisionTooLarge({ kind, bytes, maximumBytes: roomBytes })
      return this.unchanged(entry, cell, false, error)
    }
    if (draft.builder.bytes + bytes > Math.min(roomBytes, this.logRoom)) return this.noRoom(entry, bytes)
    try {
      const problem = draft.apply(encoded, entry.organization.isCareful)
      if (problem?._tag === "Threw") return this.poison(entry, problem.cause)
      if (problem?._tag === "Outgrown") {
        const error = new StateTooLarge({ kind, bytes: problem.bytes, maximumBytes: maximumStateBytes })
        return this.unchanged(entry, cell, false, error)
      }
    } catch (cause) {
      // A change made in place cannot be undone for this decision alone.
      entry.organization.isCareful = true
      this.awaitFrame(entry, false, undefined)
      throw cause
    }
    draft.add(touched, encoded)
    if (keyGuard === undefined || remembrance === undefined) return this.settle(entry, true, decision.reply)
    remember(this.host.memory, draft, entry, keyGuard, remembrance)
    return this.settle(entry, true, keyGuard.answerOf(decision.reply))
  }

  /** Records in the frame that the partition has passed this signal. */
  passOver(entry: Entry): void {
    this.settle(entry, true, undefined)
  }

  /** The facts do not fit: into this frame, which has others already, or into the log. */
  private noRoom(entry: Entry, bytes: number): Fate {
    // While the log is full, its frame keeps its number, and refused decisions would use up all ids of it.
    this.draft.forgetIds(this.idsBefore)
    if (this.draft.builder.count > 0 || bytes <= this.logRoom) {
      this.full = true
      return "no room"
    }
    this.metFullLog = true
    if (entry.caller === undefined) return "no room"
    const error = new PartitionUnavailable({
      partition: this.host.partition,
      reason: "its log is full",
      retryAfterMillis
    })
    return this.settle(entry, false, error)
  }

  /** Settles an entry without facts. A wake that did nothing is not tried again before the state changes. */
  private unchanged(entry: Entry, cell: Cell, accepted: boolean, value: unknown): Fate {
    if (entry.wakeAt !== undefined) cell.suspendedWakeAt = entry.wakeAt
    return this.settle(entry, accepted, value)
  }

  /**
   * Counts an entry as decided. An answer that rests on a fact of this drain, or an entry without a caller, waits for
   * the frame (docs/architecture.md, rule 5).
   */
  private settle(entry: Entry, accepted: boolean, value: unknown): Fate {
    this.decidedCount++
    if (entry.signalSequence >= 0) {
      if (entry.ingest === undefined) this.signalSequence = entry.signalSequence
      else this.ingests = this.host.signals.place(this.ingests, entry.ingest, entry.signalSequence)
      this.tookSignals = true
      // A rejection by the rule is a decision.
      if (!accepted && isAnAskError(value)) this.reportFailed(entry, describe(value))
    }
    if (this.draft.builder.count > 0 || entry.caller === undefined) this.awaitFrame(entry, accepted, value)
    else this.immediate.add(entry.caller, accepted, value)
    this.host.memory.noteEmptied(entry.organization)
    return "decided"
  }

  private reportFailed({ actor, command, ingest, key, organization, signalSequence }: Entry, reason: string): void {
    const address = { organization: organization.name, kind: actor.kind, key }
    this.host.signalFailed({ ...address, ingest, sequence: signalSequence, command, reason })
  }

  /** Answers from the durable state only, whatever this drain has decided. */
  private answerNow(entry: Entry, value: unknown): Fate {
    this.decidedCount++
    this.immediate.add(entry.caller!, true, value)
    return "decided"
  }

  private awaitFrame(entry: Entry, accepted: boolean, value: unknown): void {
    this.waiting.push(entry)
    this.waitingAccepted.push(accepted)
    this.waitingValues.push(value)
  }

  private poison(entry: Entry, cause: unknown): Fate {
    // The rule is not to blame: the log takes no frame, or this one is stored and the next has ids again.
    if (cause instanceof IdsUsedUp) return this.noRoom(entry, 1)
    const { kind } = entry.actor
    const reason = describe(cause)
    const cell = entry.organization.cell(entry.actorIndex, entry.key)
    if (entry.wakeAt !== undefined && cell !== undefined) cell.suspendedWakeAt = entry.wakeAt
    // An actor that could not be made is removed.
    if (cell?.isEmpty === true && !this.draft.hasChanged(cell)) this.host.memory.remove(cell)
    const isRefusable = cause instanceof NotFresh || cause instanceof MoreThanFit
    if (cause instanceof KeyInvalid || (isRefusable && entry.caller !== undefined))
      return this.settle(entry, false, new CommandInvalid({ kind, reason: cause.message }))
    if (cause instanceof ReplyTooLarge) return this.settle(entry, false, cause)
    this.host.poisoned(kind, reason)
    return this.settle(entry, false, new CommandFailed({ kind, reason }))
  }

  /** Makes an entry wait for an actor's state. An entry with a caller needs room among the waiting commands. */
  private stall(entry: Entry, cell: Cell): Fate {
    if (entry.caller === undefined) {
      if (entry.wakeAt !== undefined) this.host.waitFor(cell, entry)
      return "waits"
    }
    if (!this.host.mailbox.admitsStalled) {
      const error = new Overloaded({ partition: this.host.partition, retryAfterMillis })
      return this.settle(entry, false, error)
    }
    this.host.mailbox.stall(entry)
    this.host.waitFor(cell, entry)
    return "waits"
  }

  private crowded(entry: Entry): Fate {
    this.host.crowded()
    if (entry.caller === undefined) return "no room"
    return this.settle(entry, false, new Overloaded({ partition: this.host.partition, retryAfterMillis }))
  }
}
