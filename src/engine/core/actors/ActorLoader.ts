/**
 * Brings actors into a partition's memory beside its drains (docs/architecture.md, rules 10 and 16). It asks for them
 * in batches and keeps the entries that wait for each of them in order. A store that fails or hangs affects only those
 * entries.
 */

import { PartitionUnavailable } from "../../errors.ts"
import { loadHoldMillis, maximumTouchedActors, retryAfterMillis } from "../../limits.ts"
import type { ActorRow, CheckpointRecord } from "../../ports/Checkpoints.ts"
import type { Mailbox } from "../drain/Mailbox.ts"
import type { CoreHost } from "../protocol.ts"
import { checkTouches, quarantined } from "../ruleChecks.ts"
import type { Timers } from "../timers/Timers.ts"
import { brakeOf } from "../timers/WakeBrake.ts"
import type { ActorMemory } from "./ActorMemory.ts"
import { fill } from "./actorRows.ts"
import { type LoadBatch, Loads } from "./Loads.ts"
import { type Cell, type ColdTimer, Entry, type LaneAsk } from "./Organization.ts"

/** How long a due timer waits when there is no room for its actor, milliseconds. */
const deferMillis = 100

const nameOf = ({ key, kind, organization }: Cell["address"]): string => `${organization}\n${kind}\n${key}`

export interface LoaderOptions {
  readonly partition: number
  readonly memory: ActorMemory
  readonly mailbox: Mailbox
  readonly host: CoreHost
  /** Ends the wait of a lane's ask: it is tried again, or answered with the error. */
  readonly laneResumed: (ask: LaneAsk, error: unknown) => void
}

export class ActorLoader {
  private readonly options: LoaderOptions
  private readonly loads = new Loads()
  private readonly timers: Timers
  /** The checkpoint from whose rows actors are loaded; undefined while there is none. */
  private base: CheckpointRecord | undefined = undefined
  /** Whether the base was taken before any actor had a state, so that there is nothing to load. */
  private isBaseEmpty = false
  private heldUntil = 0
  private monotonic = 0
  /** Due timers whose actors could not be loaded; they come back when loads are allowed again. */
  private deferred: Array<ColdTimer> = []
  /** Actors that entries wait for. */
  private readonly awaited = new Set<Cell>()

  constructor(options: LoaderOptions, timers: Timers) {
    this.options = options
    this.timers = timers
  }

  /** Whether something waits for an actor. */
  get hasWaiters(): boolean {
    return this.awaited.size > 0
  }

  /** Reads rows as of this checkpoint from now on. */
  useBase(base: CheckpointRecord | undefined, isEmpty: boolean): void {
    this.base = base
    this.isBaseEmpty = isEmpty
  }

  get newestCheckpoint(): CheckpointRecord | undefined {
    return this.base
  }

  /** Whether timers and signals may ask for loads; they may not for a while after a load has failed. */
  get mayLoad(): boolean {
    return this.monotonic >= this.heldUntil
  }

  get heldTo(): number {
    return this.heldUntil
  }

  /** Puts off a due timer whose actor cannot be loaded now, until it may be tried again. */
  defer({ isAgain, key, kind, organization, wakeAt }: ColdTimer): void {
    this.deferred.push({ organization, kind, key, wakeAt, isAgain })
    this.heldUntil = Math.max(this.heldUntil, this.monotonic + deferMillis)
  }

  /** Brings back the timers whose put-off time is over at this monotonic time. */
  at(monotonic: number): void {
    this.monotonic = monotonic
    if (this.deferred.length > 0 && this.mayLoad) for (const row of this.deferred.splice(0)) this.restore(row)
  }

  /**
   * Loads an actor's state: true when it is there immediately, false when it was asked for. An actor that is claimed to
   * be fresh has its initial state for the running drain, and counts as not loaded until the drain has stored facts of
   * it. Throws when the state cannot be had.
   */
  load(cell: Cell, isFresh = false): boolean {
    if (cell.loaded) return true
    if (cell.unreadable !== undefined) throw quarantined(cell.organization.name, cell.unreadable.reason)
    if (cell.actor.isStateless) return this.pass(cell)
    if (this.base === undefined || this.isBaseEmpty || cell.isNew) {
      this.initialize(cell)
      return true
    }
    if (cell.requested) return false
    if (isFresh) {
      this.options.memory.passes(cell)
      cell.state = cell.actor.options.initial(cell.key)
      return true
    }
    this.loads.request(cell)
    this.options.host.readsWanted()
    return false
  }

  /** Makes an actor without a state, which leaves memory when the drain is over. */
  private pass(cell: Cell): boolean {
    cell.state = null
    cell.loaded = true
    this.options.memory.passes(cell)
    return true
  }

  /** Makes a new actor. When its initial state cannot be made, nothing is left behind. */
  private initialize(cell: Cell): void {
    const { memory } = this.options
    try {
      cell.state = cell.actor.options.initial(cell.key)
    } catch (cause) {
      memory.remove(cell)
      throw cause
    }
    cell.loaded = true
    memory.settle(cell)
  }

  /** Makes an entry wait for an actor that was asked for. */
  waitFor(cell: Cell, waiter: Entry | LaneAsk): void {
    cell.waiters ??= []
    cell.waiters.push(waiter)
    this.awaited.add(cell)
  }

  /** Ends all waits for actors: commands go back to their queues, and asks of lanes are answered with the error. */
  dropWaiters(error: unknown): void {
    const { laneResumed, mailbox } = this.options
    for (const cell of this.awaited) {
      const waiters = cell.waiters ?? []
      cell.waiters = undefined
      for (let index = waiters.length - 1; index >= 0; index--) {
        const waiter = waiters[index]!
        if (!(waiter instanceof Entry)) laneResumed(waiter, error)
        else if (waiter.caller === undefined) this.releaseTimer(waiter, cell, true)
        else {
          mailbox.unstall(waiter)
          mailbox.putBack(waiter)
        }
      }
    }
    this.awaited.clear()
  }

  /** Asks of lanes that wait for an actor are answered with the error; commands wait on. */
  failLanes(error: unknown): void {
    for (const cell of this.awaited) {
      const asks = (cell.waiters ?? []).filter((waiter) => !(waiter instanceof Entry))
      cell.waiters = (cell.waiters ?? []).filter((waiter) => waiter instanceof Entry)
      for (const ask of asks) this.options.laneResumed(ask as LaneAsk, error)
    }
  }

  /** Asks for the actors of a signal or command before its turn, so that the actors of many entries arrive together. */
  prefetch(entry: Entry): void {
    this.askFor(entry, false)
  }

  /** Asks for the actors of a command that may come, within its organization's share of such loads. */
  prefetchAhead(entry: Entry): void {
    if (this.base !== undefined && !this.isBaseEmpty) this.askFor(entry, true)
  }

  private askFor(entry: Entry, isAhead: boolean): void {
    if (!this.mayLoad) return
    const { memory } = this.options
    const { organization } = entry
    const want = (index: number, key: string) => {
      if (memory.registry.actors[index]?.isStateless !== false) return
      const known = organization.cell(index, key)
      if (known === undefined && ((isAhead && !this.loads.admitsAhead(organization)) || !memory.admitsActor())) return
      const cell = known ?? memory.cell(organization, index, key)
      memory.use(cell, this.monotonic)
      if (cell.loaded || cell.requested || cell.unreadable !== undefined) return
      if (!this.load(cell) && isAhead) this.loads.ahead(cell)
    }
    try {
      if (!entry.isFresh) want(entry.actorIndex, entry.key)
      if (entry.guard !== undefined) want(memory.registry.actorIndex(entry.guard.actor.kind), entry.guard.key)
      if (entry.keyGuard !== undefined && !memory.keys.isKnown(organization, entry.keyGuard.key))
        want(memory.registry.keyIndex, entry.keyGuard.key)
      const { touches } = entry.actor.options
      if (touches === undefined) return
      const self = { organization: entry.organization.name, kind: entry.actor.kind, key: entry.key }
      const names: unknown = touches(entry.command, self)
      checkTouches(entry.actor, names)
      for (const name of names.slice(0, maximumTouchedActors))
        if (name.fresh !== true) want(memory.registry.actorIndex(name.actor.kind), name.key)
    } catch {
      // The error is reported when the entry is decided.
    }
  }

  /** Takes the next batch to read, if one may be read. */
  take(): LoadBatch | undefined {
    return this.loads.take(this.base?.sequence ?? 0)
  }

  /** Stores the rows of a batch in their actors. */
  loaded(batch: LoadBatch, rows: ReadonlyArray<ActorRow>): void {
    if (!this.loads.ended(batch)) return
    this.fillAll(batch.cells, rows, false)
    for (const cell of batch.cells) this.release(cell, undefined)
    this.options.host.wake()
  }

  /** Tells the waiting entries that a batch could not be read; timers and signals ask again later. */
  failed(batch: LoadBatch): void {
    if (!this.loads.ended(batch)) return
    const { host, memory, partition } = this.options
    this.heldUntil = this.monotonic + loadHoldMillis
    const reason = "actors cannot be loaded, the checkpoints are away"
    const error = new PartitionUnavailable({ partition, reason, retryAfterMillis })
    for (const cell of batch.cells) {
      if (cell.loaded) continue
      this.release(cell, error)
      // The running drain may have made it fresh.
      if (!memory.isPassing(cell)) memory.remove(cell)
    }
    host.wake()
  }

  /**
   * Puts rows into their actors; those without one get their initial state. `hasFacts`: the log has facts of all of
   * them.
   */
  fillAll(cells: ReadonlyArray<Cell>, rows: ReadonlyArray<ActorRow>, hasFacts: boolean): void {
    const { host, memory } = this.options
    const byName = new Map(rows.map((row) => [nameOf(row), row]))
    for (const cell of cells) {
      if (cell.loaded) continue
      fill(cell, byName.get(nameOf(cell.address)), hasFacts)
      const againAt = this.timers.loaded(cell)
      // The next ask for this actor learns why it cannot be made.
      if (cell.isNew) continue
      if (cell.unreadable !== undefined) {
        const { organization } = cell
        if (organization.quarantine !== undefined) continue
        organization.quarantine = cell.unreadable.reason
        host.quarantined(organization.name, cell.unreadable.reason)
        continue
      }
      if (!Number.isNaN(againAt)) brakeOf(cell).againAt = againAt
      this.timers.set(cell, cell.dueAt)
      memory.settle(cell)
    }
  }

  /** Ends the wait of everything that waits for an actor, with its state or with the error. */
  private release(cell: Cell, error: PartitionUnavailable | undefined): void {
    const waiters = cell.waiters ?? []
    cell.waiters = undefined
    this.awaited.delete(cell)
    const { host, laneResumed, mailbox } = this.options
    for (let index = waiters.length - 1; index >= 0; index--) {
      const waiter = waiters[index]!
      if (!(waiter instanceof Entry)) continue
      if (waiter.caller === undefined) this.releaseTimer(waiter, cell, error !== undefined)
      else {
        mailbox.unstall(waiter)
        if (error === undefined) mailbox.putBack(waiter)
        else host.reply(waiter.caller, false, error)
      }
    }
    for (const waiter of waiters) if (!(waiter instanceof Entry)) laneResumed(waiter, error)
  }

  /** Ends the wait of a wake, for its own actor or for one that it touches. */
  private releaseTimer({ actor, isAgain, key, organization, wakeAt }: Entry, cell: Cell, isFailed: boolean): void {
    const row: ColdTimer = { organization: organization.name, kind: actor.kind, key, wakeAt: wakeAt!, isAgain }
    if (isFailed) this.deferred.push(row)
    else if (cell.actor !== actor || cell.key !== key) this.restore(row)
  }

  /**
   * Sets a timer again that was taken so that its actor could be loaded. An actor in memory decides the time itself.
   */
  private restore(row: ColdTimer): void {
    const { memory } = this.options
    const index = memory.registry.actorIndex(row.kind)
    const cell = memory.organizations.get(row.organization)?.cell(index, row.key)
    if (cell === undefined) this.timers.addPutOff(row)
    // We soon learn whether it can be loaded; until then the timer must be kept.
    else if (cell.requested) this.deferred.push(row)
    else if (cell.loaded && cell.suspendedWakeAt !== cell.dueAt) this.timers.set(cell, cell.dueAt)
  }
}
