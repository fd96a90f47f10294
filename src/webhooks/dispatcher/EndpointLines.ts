/**
 * Keeps the lines of an endpoint with an order (docs/platform.md, 7.10): of the deliveries of a line only one may be
 * under way. A line begins with its `current` delivery. Behind it are those taken from the store, then those of
 * acknowledged frames that wait for their turn, then those that are in the store. A delivery of a frame goes directly
 * only where the store has no older one of its line. This is known once a walk over the store's lines is complete.
 * Synchronous; needs no service.
 */
import type { TakenDelivery } from "../delivery/ports.ts"

/** Lines of an endpoint that are kept in memory, and lines of all endpoints of a process. */
export const maximumLines = 10_000
export const maximumAllLines = 65_536

/** Deliveries of a line in the store that are known by their ids. */
const maximumStored = 64

/** Deliveries of a line that are taken from the store together. */
const maximumRun = 16

/** Stands for deliveries in the store whose ids are not known. */
const others = "*"

/** A delivery of the store: it may be missing there until the frame is recorded, and a walk before the stamp may miss it. */
interface StoredEntry {
  readonly frame: number
  readonly stamp: number
}

interface Line {
  current: TakenDelivery | undefined
  /** Taken from the store, in order. */
  waiting: Array<TakenDelivery>
  /** Of acknowledged frames, in order. */
  behind: Array<TakenDelivery>
  readonly stored: Map<string, StoredEntry>
}

/** A line that a walk has found. */
export interface FoundLine {
  readonly line: string
  /** Its first delivery, and when that is due. */
  readonly headId: string
  readonly dueAt: number
  /** Whether it has no other. */
  readonly isAlone: boolean
}

/** A walk over the lines of the store, from its beginning. */
export interface LinesWalk {
  readonly stamp: number
  /** Frames up to here were recorded as it began. */
  readonly recorded: number
}

/** The next delivery of a line whose current one is over. */
export type NextOfLine =
  | { readonly _tag: "Taken"; readonly delivery: TakenDelivery }
  | { readonly _tag: "Offered"; readonly delivery: TakenDelivery }
  | { readonly _tag: "Stored" }
  | { readonly _tag: "None" }

/** Deliveries that must wait in the store, because an older one of their line waits there. */
export interface Blocked {
  readonly taken: ReadonlyArray<TakenDelivery>
  readonly offered: ReadonlyArray<TakenDelivery>
}

/** The lines of all endpoints of a process. */
export interface LinesInUse {
  count: number
}

const noneBlocked: Blocked = { taken: [], offered: [] }

export class EndpointLines {
  /** Lines that may have something to take from the store. */
  readonly ready = new Set<string>()
  /** Lines whose first delivery is due later, by the time. */
  readonly retrying = new Map<string, number>()
  private readonly lines = new Map<string, Line>()
  private readonly inUse: LinesInUse
  /** Set while the store may hold deliveries of any line. */
  private unsure: StoredEntry | undefined = { frame: 0, stamp: 0 }
  private stamp = 0

  constructor(inUse: LinesInUse) {
    this.inUse = inUse
  }

  /** Whether a walk would tell something. */
  get needsWalk(): boolean {
    return this.unsure !== undefined || this.lines.size > 0
  }

  get isEmpty(): boolean {
    return this.lines.size === 0
  }

  /** Notes that the store may hold deliveries of any line, of frames up to `frame`. */
  doubt(frame = 0): void {
    this.unsure = { frame: Math.max(frame, this.unsure?.frame ?? 0), stamp: ++this.stamp }
  }

  /** Takes in a delivery of an acknowledged frame: it may go, it waits behind others, or it must wait in the store. */
  offer(delivery: TakenDelivery): "go" | "behind" | "leave" {
    const line = this.lineOf(delivery.line!)
    if (line === undefined || this.unsure !== undefined || line.stored.size > 0) {
      this.store(delivery)
      return "leave"
    }
    if (line.current === undefined) {
      line.current = delivery
      return "go"
    }
    line.behind.push(delivery)
    return "behind"
  }

  /**
   * Makes room for a line that is to be taken from; answers how many of it may be taken. Of a line that is not kept it
   * is one, and the store lets no other go meanwhile.
   */
  claim(name: string): number {
    this.ready.delete(name)
    const line = this.lineOf(name)
    if (line === undefined) return 1
    if (line.stored.size === 0) this.storeOthers(line)
    return maximumRun
  }

  /** Whether a line is kept here. */
  has(name: string): boolean {
    return this.lines.has(name)
  }

  /** Takes in a delivery of the store; false where it waits for its turn. */
  take(delivery: TakenDelivery): boolean {
    const line = this.lineOf(delivery.line!)
    if (line === undefined) return true
    line.stored.delete(delivery.id)
    this.retrying.delete(delivery.line!)
    if (line.current === undefined) {
      line.current = delivery
      return true
    }
    if (line.current !== delivery && !line.waiting.includes(delivery)) line.waiting.push(delivery)
    return false
  }

  /**
   * Notes how many of a line were taken: with as many as were asked for, there may be more. With fewer there may be too,
   * since a process that is gone may have the next one; only a walk tells that there are none.
   */
  taken(name: string, count: number, limit: number): void {
    const line = this.lines.get(name)
    if (line === undefined) return
    if (count === limit && line.stored.size === 0) this.storeOthers(line)
    this.forgetEmpty(name, line)
  }

  /** Notes that a delivery is in the store, or will be once its frame is recorded. */
  store(delivery: TakenDelivery): void {
    this.storeId(delivery.line!, delivery.id, delivery.frame ?? 0)
  }

  storeId(name: string, id: string, frame = 0): void {
    const line = this.lineOf(name)
    if (line === undefined) {
      this.doubt(frame)
      return
    }
    line.stored.set(id, { frame, stamp: ++this.stamp })
    if (line.stored.size > maximumStored) this.storeOthers(line)
  }

  /**
   * Notes a delivery that the reactor has put into the store. If it waits here for its turn, it and those behind it must
   * wait in the store: else a later one would go first, or it would wait for room that those of the store have taken.
   */
  queued(name: string, id: string): Blocked {
    this.storeId(name, id)
    const line = this.lines.get(name)
    if (line?.current?.id === id) return this.block(line.current)
    if (line?.current === undefined) this.ready.add(name)
    const at = line?.behind.findIndex((one) => one.id === id) ?? -1
    if (line === undefined || at < 0) return noneBlocked
    const offered = line.behind.splice(at)
    for (const one of offered) this.store(one)
    return { taken: [], offered }
  }

  /**
   * The current delivery of a line, if this one is to be repeated before it: the reactor has put it into the store, and
   * nobody knows it here. It was thought over, and its outcome was lost with the life of its partition. Where the line
   * has others in the store, it may be one of those.
   */
  beginsTooSoon(name: string, id: string): TakenDelivery | undefined {
    const line = this.lines.get(name)
    if (line?.current === undefined || line.stored.has(id) || line.stored.has(others)) return undefined
    return [line.current, ...line.waiting, ...line.behind].some((one) => one.id === id) ? undefined : line.current
  }

  /** The current delivery of a line is over: what comes next. */
  over(delivery: TakenDelivery): NextOfLine {
    const name = delivery.line!
    const line = this.lines.get(name)
    if (line === undefined) return { _tag: "None" }
    if (line.current !== delivery) {
      line.waiting = line.waiting.filter((one) => one !== delivery)
      return { _tag: "None" }
    }
    const taken = line.waiting.shift()
    if (taken !== undefined) {
      line.current = taken
      return { _tag: "Taken", delivery: taken }
    }
    const offered = line.behind.shift()
    line.current = offered
    if (offered !== undefined) return { _tag: "Offered", delivery: offered }
    if (line.stored.size > 0) {
      this.ready.add(name)
      return { _tag: "Stored" }
    }
    this.forgetEmpty(name, line)
    return { _tag: "None" }
  }

  /**
   * A delivery of a line waits in the store, again or for the first time: what is behind it must too. `dueAt` is when it
   * is due, if it is known.
   */
  block(delivery: TakenDelivery, dueAt?: number): Blocked {
    const name = delivery.line!
    const line = this.lines.get(name)
    if (line === undefined) return noneBlocked
    const at = line.waiting.indexOf(delivery)
    if (line.current !== delivery && at < 0) return noneBlocked
    const taken = line.waiting.splice(at < 0 ? 0 : at)
    const offered = line.behind.splice(0)
    if (line.current === delivery) line.current = undefined
    const all = new Set([delivery, ...taken, ...offered])
    for (const one of all) this.store(one)
    if (dueAt === undefined) this.ready.add(name)
    else this.retrying.set(name, dueAt)
    all.delete(delivery)
    return { taken: taken.filter((one) => all.has(one)), offered }
  }

  /** Removes everything; returns what was held here. */
  clear(): Blocked {
    const lines = [...this.lines.values()]
    this.inUse.count -= this.lines.size
    this.lines.clear()
    this.ready.clear()
    this.retrying.clear()
    this.doubt()
    return { taken: lines.flatMap(({ waiting }) => waiting), offered: lines.flatMap(({ behind }) => behind) }
  }

  /** Makes lines ready whose first delivery is due by `now`; undefined where none is known to be due later. */
  due(now: number): number | undefined {
    let next: number | undefined
    for (const [name, at] of this.retrying) {
      if (at > now) {
        next = Math.min(next ?? at, at)
        continue
      }
      this.retrying.delete(name)
      this.ready.add(name)
    }
    return next
  }

  beginWalk(recorded: number): LinesWalk {
    return { stamp: this.stamp, recorded }
  }

  /**
   * Takes in what a walk has found: lines that may be taken from, and that others have nothing in the store. `isWhole`:
   * it has seen all lines, and no replay is being queued. `isHeld` tells the deliveries that this process has.
   */
  walked(
    walk: LinesWalk,
    found: ReadonlyArray<FoundLine>,
    {
      isHeld,
      isWhole,
      now
    }: { readonly isHeld: (id: string) => boolean; readonly isWhole: boolean; readonly now: number }
  ): void {
    const names = new Set<string>()
    for (const { dueAt, headId, isAlone, line: name } of found) {
      names.add(name)
      const isOwn = isHeld(headId)
      if (this.unsure !== undefined && !(isOwn && isAlone)) {
        const line = this.lineOf(name)
        // The known deliveries may be the line's first ones alone, and a later one that nobody knows may be due later.
        if (line !== undefined && (!isAlone || line.stored.size === 0)) this.storeOthers(line)
      }
      if (isOwn) continue
      if (dueAt <= now) this.ready.add(name)
      else this.retrying.set(name, dueAt)
    }
    if (!isWhole) return
    const isSeen = ({ frame, stamp }: StoredEntry) => stamp <= walk.stamp && frame <= walk.recorded
    for (const [name, line] of this.lines) {
      if (names.has(name)) continue
      for (const [id, entry] of line.stored) if (isSeen(entry)) line.stored.delete(id)
      this.forgetEmpty(name, line)
    }
    if (this.unsure !== undefined && isSeen(this.unsure)) this.unsure = undefined
  }

  private lineOf(name: string): Line | undefined {
    const known = this.lines.get(name)
    if (known !== undefined) return known
    if (this.lines.size >= maximumLines || this.inUse.count >= maximumAllLines) return undefined
    const line: Line = { current: undefined, waiting: [], behind: [], stored: new Map() }
    this.lines.set(name, line)
    this.inUse.count++
    return line
  }

  private storeOthers(line: Line): void {
    const frame = Math.max(0, ...[...line.stored.values()].map((entry) => entry.frame))
    line.stored.clear()
    line.stored.set(others, { frame, stamp: ++this.stamp })
  }

  private forgetEmpty(name: string, line: Line): void {
    if (line.current !== undefined || line.waiting.length > 0 || line.behind.length > 0 || line.stored.size > 0) return
    this.lines.delete(name)
    this.inUse.count--
    this.retrying.delete(name)
  }
}
