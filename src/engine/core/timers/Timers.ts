/**
 * Holds the timers of a partition (docs/architecture.md, rule 10): at most one for each actor in memory, and the
 * earliest timers of evicted actors, in (time, name) order. Later timers of evicted actors are in the checkpoints'
 * index, from `horizon` on; those that no checkpoint has (`wakeAgain`) all stay here. A timer moves with its actor, so
 * the actors, a few pages and a bound of its own limit the number of timers.
 */
import { Heap } from "../../../common/Heap.ts"
import { type ActorAddress, compareAddresses } from "../../address.ts"
import { maximumAgainTimers, maximumTimerPage } from "../../limits.ts"
import type { TimerRow } from "../../ports/Checkpoints.ts"
import type { Cell, ColdTimer, Timer } from "../actors/Organization.ts"
import { assert } from "../assert.ts"

/** Most timers of evicted actors. The later ones are read again from the checkpoints. */
export const maximumColdTimers = 4 * maximumTimerPage

/** A timer as the heap has it. */
class HeapTimer implements Timer {
  readonly organization: string
  readonly kind: string
  readonly key: string
  wakeAt: number
  cell: Cell | undefined
  isAgain = false
  index = 0

  constructor(address: ActorAddress, wakeAt: number, cell: Cell | undefined) {
    this.organization = address.organization
    this.kind = address.kind
    this.key = address.key
    this.wakeAt = wakeAt
    this.cell = cell
  }
}

const compareTimers = (left: TimerRow, right: TimerRow): number =>
  left.wakeAt - right.wakeAt || compareAddresses(left, right)

const nameOf = ({ key, kind, organization }: ActorAddress): string => `${organization}\n${kind}\n${key}`

export class Timers {
  private readonly heap = new Heap<Timer>(compareTimers)
  /** Timers of actors that are not in memory, by name. */
  private cold = new Map<string, Timer>()
  /** Number of them that no checkpoint has. */
  private againCount = 0
  /** The last timer that was read from the checkpoints; undefined when none was. */
  private horizon: TimerRow | undefined = undefined
  /** Whether the checkpoints may hold timers after the horizon. */
  private more: boolean

  /** `more` says whether the checkpoints may hold timers at all. */
  constructor(more: boolean) {
    this.more = more
  }

  get size(): number {
    return this.heap.size
  }

  /** The earliest one. */
  get first(): Timer | undefined {
    return this.heap.first
  }

  /** Sets an actor's timer to a time; infinity removes it. */
  set(cell: Cell, wakeAt: number): void {
    const timer = cell.timer
    if (wakeAt === Number.POSITIVE_INFINITY) {
      if (timer !== undefined) this.remove(timer)
      return
    }
    if (timer === undefined) {
      this.dropCold(cell.address)
      this.push(new HeapTimer(cell.address, wakeAt, cell))
    } else if (timer.wakeAt !== wakeAt) {
      timer.wakeAt = wakeAt
      this.heap.moved(timer)
    }
  }

  /** Whether an actor may leave memory: if no checkpoint has its timer, there must be room for it here. */
  mayLeave({ timer, wakeAt }: Cell): boolean {
    return timer === undefined || timer.wakeAt === wakeAt || this.againCount < maximumAgainTimers
  }

  /** Notes that an actor has left memory. Its timer stays if the next page would not bring it. */
  evicted(cell: Cell): void {
    const { timer } = cell
    if (timer === undefined) return
    cell.timer = undefined
    timer.cell = undefined
    this.addToCold(timer, timer.wakeAt !== cell.wakeAt)
    if (timer.isAgain) return
    if (this.more && timer.wakeAt > this.horizonAt) this.remove(timer)
    else if (this.pagedCount > maximumColdTimers) this.forgetLateCold()
  }

  private addToCold(timer: Timer, isAgain: boolean): void {
    timer.isAgain = isAgain
    if (isAgain) this.againCount++
    this.cold.set(nameOf(timer), timer)
  }

  /** The timers of evicted actors that pages can bring back. */
  private get pagedCount(): number {
    return this.cold.size - this.againCount
  }

  /** Takes a timer of an actor that is not in memory, so that it can be loaded. */
  take(timer: Timer): void {
    this.remove(timer)
  }

  /** Puts back the timer of an actor that is not in memory: it could not be loaded, or what it did was not stored. */
  addCold(row: ColdTimer): void {
    this.dropCold(row)
    const timer = new HeapTimer(row, row.wakeAt, undefined)
    this.addToCold(timer, row.isAgain)
    this.push(timer)
  }

  /** The next time to check: the earliest timer or, if the checkpoints hold more, the horizon. */
  nextAt(): number {
    const first = this.heap.first?.wakeAt ?? Number.POSITIVE_INFINITY
    return this.hasRoomForPage ? Math.min(first, this.horizonAt) : first
  }

  /** Whether a page must be read from the checkpoints before the timers due at `now` can be fired in order. */
  needsPage(now: number): boolean {
    return this.hasRoomForPage && this.horizonAt <= now
  }

  /** Whether a timer may come after one that is still in the checkpoints. */
  isBeyondHorizon(timer: TimerRow): boolean {
    return this.more && timer.wakeAt >= this.horizonAt
  }

  private get hasRoomForPage(): boolean {
    return this.more && this.pagedCount <= maximumColdTimers - 2 * maximumTimerPage
  }

  /** The beginning of the next page. */
  get pageAfter(): TimerRow | undefined {
    return this.horizon
  }

  /**
   * Adds a page. `isInMemory` says which actors have timers of their own, which count instead; `full` says that there
   * may be more behind the page.
   */
  addPage(rows: ReadonlyArray<TimerRow>, full: boolean, isInMemory: (row: TimerRow) => boolean): void {
    for (const row of rows) {
      // The row of an actor that asked to be woken again has an older time.
      if (isInMemory(row) || this.cold.get(nameOf(row))?.isAgain === true) continue
      this.addCold({ ...row, isAgain: false })
    }
    // The last row in the store's own order of names.
    this.horizon = rows[rows.length - 1] ?? this.horizon
    this.more = full
  }

  private get horizonAt(): number {
    return this.horizon?.wakeAt ?? Number.NEGATIVE_INFINITY
  }

  /** Keeps the earliest page of the cold timers. Later ones are read again from the checkpoints. */
  private forgetLateCold(): void {
    const cold = [...this.cold.values()].filter(({ isAgain }) => !isAgain).sort(compareTimers)
    const { wakeAt } = cold[maximumTimerPage]!
    for (const timer of cold.slice(maximumTimerPage)) this.remove(timer)
    // Before all timers of that time, since the store may order their names differently; a timer that comes twice
    // counts once.
    this.horizon = { organization: "", kind: "", key: "", wakeAt }
    this.more = true
  }

  /**
   * Puts back a timer that was put off. If the actor has one already, it has been in memory meanwhile, and that timer
   * is newer.
   */
  addPutOff(row: ColdTimer): void {
    if (!this.cold.has(nameOf(row))) this.addCold(row)
  }

  private dropCold(address: ActorAddress): void {
    if (this.cold.size === 0) return
    const timer = this.cold.get(nameOf(address))
    if (timer !== undefined) this.remove(timer)
  }

  /**
   * Drops the cold timer of an actor that is now in memory with a timer of its own. Returns the time that `wakeAgain`
   * has named; NaN for none.
   */
  loaded(cell: Cell): number {
    const timer = this.cold.size === 0 ? undefined : this.cold.get(nameOf(cell.address))
    if (timer === undefined) return Number.NaN
    this.remove(timer)
    return timer.isAgain ? timer.wakeAt : Number.NaN
  }

  private push(timer: Timer): void {
    if (timer.cell !== undefined) timer.cell.timer = timer
    this.heap.push(timer)
  }

  private remove(timer: Timer): void {
    assert(this.heap.has(timer), "a timer is not where it is kept")
    if (timer.cell !== undefined) timer.cell.timer = undefined
    else {
      this.cold.delete(nameOf(timer))
      if (timer.isAgain) this.againCount--
    }
    this.heap.remove(timer)
  }
}
