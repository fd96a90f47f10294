/**
 * Runs one drain of a partition: takes timers, signals and commands by their shares, has them decided, and leaves one
 * frame's worth of facts with the replies that wait for it (docs/architecture.md, rules 8, 10, 13, 19). Synchronous;
 * afterwards `end`, `commit` or `abandon` ends it.
 */
import { describe } from "../../describe.ts"
import { CommandFailed } from "../../errors.ts"
import { type Head, placesOf } from "../../frame.ts"
import { maximumSignalsPerDrain, maximumTimersPerDrain, signalsShare, timersShare } from "../../limits.ts"
import { type Caller, type Cell, Entry, type Timer } from "../actors/Organization.ts"
import { assert } from "../assert.ts"
import type { DraftedFrame } from "../protocol.ts"
import type { Timers } from "../timers/Timers.ts"
import type { Answers } from "./Answers.ts"
import { Decider, type DeciderHost, type Fate, passedOver } from "./Decider.ts"
import { DecideAgain } from "./Draft.ts"
import type { SignalQueue } from "./SignalQueue.ts"
import type { SignalQueues } from "./SignalQueues.ts"

/** Decisions between two checks of the time. */
const timeStride = 16

/** The part of its partition that a drain needs. */
export interface DrainHost extends DeciderHost {
  readonly signals: SignalQueues
  /** Whether loads for timers and signals may be asked for now. */
  readonly mayLoad: () => boolean
  /** Puts off a due timer whose actor cannot be loaded now. */
  readonly defer: (timer: Timer) => void
  /** Whether a due timer must wait for a page that is being read, because that page may hold earlier ones. */
  readonly waitsForPage: (timer: Timer) => boolean
}

/** The bounds of one run. */
export interface Turn {
  /** Monotonic milliseconds of its beginning. */
  readonly monotonic: number
  /** The elapsed part of its time, from 0. */
  readonly spent: () => number
}

export class Drain {
  readonly decider: Decider
  private readonly host: DrainHost
  private readonly timers: Timers
  private turn: Turn = { monotonic: 0, spent: () => 0 }
  /** The entry that is being decided. */
  private inHand: Entry | undefined = undefined

  constructor(host: DrainHost, timers: Timers) {
    this.host = host
    this.timers = timers
    this.decider = new Decider(host)
  }

  /** Replies that rest on no fact of this drain. */
  get immediate(): Answers {
    return this.decider.immediate
  }

  /**
   * Decides waiting entries, within the bounds of one drain. `logRoom` is how many bytes of facts the log takes, 0
   * while it is full; `held` leaves timers and signals for later.
   */
  run(head: Head, now: number, turn: Turn, logRoom: number, held: boolean): void {
    assert(this.immediate.size === 0, "a drain begins with answers of another one")
    const { decider } = this
    let idsGiven = 0
    this.turn = turn
    for (let attempt = 0; ; attempt++) {
      this.host.memory.drain++
      decider.begin(head, now, turn.monotonic, logRoom)
      if (attempt === 0) idsGiven = decider.draft.idsGiven
      else decider.draft.forgetIds(idsGiven)
      try {
        this.fill(held)
        return
      } catch (error) {
        const waiting = decider.takeWaiting()
        const inHand = this.inHand
        this.inHand = undefined
        if (!(error instanceof DecideAgain) && inHand !== undefined && !waiting.includes(inHand)) {
          // Its caller would get no answer, and decided again it would end the next life too.
          inHand.refusal = new CommandFailed({ kind: inHand.actor.kind, reason: describe(error) })
          this.putBack(inHand)
        }
        for (const entry of waiting.toReversed()) this.putBack(entry)
        this.discard()
        if (!(error instanceof DecideAgain)) throw error
      }
    }
  }

  /** Drafts a frame without any decision. */
  mark(head: Head, now: number): void {
    this.decider.begin(head, now, this.turn.monotonic, 0)
  }

  /** Builds the frame of the decisions, to be appended after `head`. */
  frameAfter(head: Head): DraftedFrame {
    const { decidedCount, draft, signalSequence } = this.decider
    const { epoch, hash, number, sequence } = head
    const place = { epoch, number: number + 1, now: draft.now, previousHash: hash }
    const ingests = this.host.signals.moved(this.decider.ingests)
    const header = { ...place, ...placesOf({ signalSequence, ingests }) }
    const fenceHeader = { ...place, ...placesOf(head) }
    return {
      header,
      bytes: draft.builder.encode(header),
      fence: () => draft.fence(fenceHeader),
      expectedLast: sequence,
      decided: decidedCount,
      records: draft.builder.count,
      callers: () => this.decider.callers
    }
  }

  /** Ends a drain that has nothing to store. */
  end(): void {
    assert(!this.decider.hasFrame, "a drain with a frame ends without it")
    this.decider.takeWaiting()
    this.host.memory.endDrain()
  }

  /** Commits the drain, whose frame is stored at `sequence`. Returns the answers that waited for it. */
  commit(sequence: number): Answers {
    this.decider.draft.commit(sequence, this.host.memory, this.timers)
    this.host.memory.keys.commit(sequence)
    this.host.memory.endDrain()
    return this.decider.takeAnswers()
  }

  /**
   * Abandons the drain, whose frame is not stored, or perhaps not: its drafts are void, its signals and timers come
   * back. Returns the callers that need an answer.
   */
  abandon(): ReadonlyArray<Caller> {
    const entries = this.decider.takeWaiting()
    this.discard()
    this.host.memory.endDrain()
    for (const entry of entries.toReversed()) if (entry.caller === undefined) this.putBack(entry)
    return entries.flatMap(({ caller }) => caller ?? [])
  }

  private discard(): void {
    this.decider.draft.discard()
    this.host.memory.keys.discard()
  }

  private decide(entry: Entry): Fate {
    this.inHand = entry
    const fate = this.decider.decide(entry)
    this.inHand = undefined
    return fate
  }

  private fill(held: boolean): void {
    const { decider } = this
    const { mailbox, signals } = this.host
    if (!held) {
      // While commands wait, timers and signals leave them the rest of the frame's bytes and of the time.
      const timersMay = signals.isReady || mailbox.hasRunnable ? timersShare : 1
      this.fireTimers(timersMay)
      this.takeSignals(mailbox.hasRunnable ? signalsShare : 1)
    }
    let sinceLook = 0
    let work = decider.slowWork
    while (this.decider.hasRoom(1)) {
      const entry = mailbox.take()
      if (entry === undefined) break
      if (this.decide(entry) === "no room") mailbox.putBack(entry)
      if (++sinceLook < timeStride && decider.slowWork === work) continue
      sinceLook = 0
      work = decider.slowWork
      if (this.turn.spent() > 1) return
    }
  }

  /**
   * Fires due timers in their order. Actors that are not in memory are asked for, and their timers hold up no others.
   */
  private fireTimers(share: number): void {
    const { host, timers } = this
    let taken = 0
    while (taken < maximumTimersPerDrain && this.decider.hasRoom(share) && this.turn.spent() <= share) {
      const timer = timers.first
      if (timer === undefined || timer.wakeAt > this.decider.draft.now || host.waitsForPage(timer)) return
      const { cell } = timer
      if (cell === undefined && !host.mayLoad()) {
        // This timer steps aside, so that it does not hold up timers whose actor is in memory.
        timers.take(timer)
        host.defer(timer)
        continue
      }
      taken++
      const fate =
        cell === undefined
          ? this.loadForTimer(timer)
          : this.decide(wakeOf(cell, timer.wakeAt, timer.wakeAt !== cell.wakeAt))
      if (fate === "no room") return
      const { now } = this.decider.draft
      if (cell?.timer !== timer || timer.wakeAt > now) continue
      // A wake that changed nothing is not tried again at this time.
      timers.set(cell, cell.dueAt > now ? cell.dueAt : Number.POSITIVE_INFINITY)
    }
  }

  /** Asks for the actor of a due timer. Its row brings the timer back. */
  private loadForTimer(timer: Timer): Fate {
    const { host, timers } = this
    const { memory } = host
    const actorIndex = memory.registry.actorIndex(timer.kind)
    // A kind that no longer has a state has no wakes.
    const isKnown = memory.registry.actors[actorIndex]?.isStateless === false
    const organization = isKnown ? memory.organization(timer.organization) : undefined
    if (organization === undefined) {
      timers.take(timer)
      return "decided"
    }
    const known = organization.cell(actorIndex, timer.key)
    if (known?.unreadable !== undefined) {
      timers.take(timer)
      return "decided"
    }
    timers.take(timer)
    if (known === undefined && !memory.admitsActor()) {
      host.crowded()
      host.defer(timer)
      return "waits"
    }
    const cell = known ?? memory.cell(organization, actorIndex, timer.key)
    memory.use(cell, this.turn.monotonic)
    try {
      if (!cell.loaded && !host.load(cell)) host.waitFor(cell, wakeOf(cell, timer.wakeAt, timer.isAgain))
      else timers.set(cell, cell.dueAt)
    } catch (cause) {
      host.poisoned(cell.actor.kind, describe(cause))
    }
    return "waits"
  }

  /** Takes signals and the messages of ingests, one of each in turn. A queue whose first entry waits is left out. */
  private takeSignals(share: number): void {
    const queues = this.host.signals.inTurn()
    let at = 0
    for (let taken = 0; taken < maximumSignalsPerDrain && this.decider.hasRoom(share); taken++) {
      if (queues.length === 0 || this.turn.spent() > share) return
      if (at >= queues.length) at = 0
      if (this.takeSignal(queues[at]!)) at++
      else queues.splice(at, 1)
    }
  }

  /** Decides the first entry of a queue; returns whether it did. */
  private takeSignal(queue: SignalQueue): boolean {
    const { memory } = this.host
    const entry = queue.first
    if (entry === undefined) return false
    if (entry.command === passedOver) {
      queue.take()
      this.decider.passOver(entry)
      return true
    }
    entry.organization = memory.organization(entry.organization.name) ?? entry.organization
    const cell = entry.organization.cell(entry.actorIndex, entry.key)
    const isThere = cell?.loaded === true || entry.actor.isStateless
    if (!isThere && !this.host.mayLoad()) return false
    queue.take()
    if (this.decide(entry) === "decided") return true
    queue.putBack(entry)
    return false
  }

  private putBack(entry: Entry): void {
    const { mailbox, memory, signals } = this.host
    // The organization may have left memory meanwhile.
    entry.organization = memory.organization(entry.organization.name) ?? entry.organization
    if (entry.signalSequence >= 0) signals.of(entry.ingest).putBack(entry)
    else if (entry.wakeAt === undefined) mailbox.putBack(entry)
    else this.putBackTimer(entry, entry.wakeAt)
  }

  private putBackTimer(entry: Entry, wakeAt: number): void {
    const cell = entry.organization.cell(entry.actorIndex, entry.key)
    const { isAgain, key } = entry
    if (cell?.loaded === true) {
      cell.suspendedWakeAt = Number.NaN
      // The time named by the wake may depend on a draft that is void.
      if (cell.brake !== undefined) cell.brake.againAt = isAgain ? wakeAt : Number.NaN
      this.timers.set(cell, cell.dueAt)
    } else if (cell === undefined) {
      this.timers.addCold({ organization: entry.organization.name, kind: entry.actor.kind, key, wakeAt, isAgain })
    }
  }
}

const wakeOf = (cell: Cell, wakeAt: number, isAgain: boolean): Entry => {
  const entry = new Entry(cell.organization, cell.actor, cell.actorIndex, cell.key, undefined, undefined)
  entry.wakeAt = wakeAt
  entry.isAgain = isAgain
  return entry
}
