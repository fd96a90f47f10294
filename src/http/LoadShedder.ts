/**
 * Refuses requests when more come than the process can handle (docs/platform.md, 8.5), which costs a tenth of an answer.
 * Requests wait in two places. All that a turn of the event loop finds have waited since the previous turn, and those
 * behind have waited for those before them. And those that were admitted wait for each other while they are worked on:
 * as many as are in work take as long as the process needs for as many answers. Needs no service.
 */
import { performance } from "node:perf_hooks"
import { Context } from "effect"

/** The class of a request: clients repeat one that reads more readily than one that changes something. */
export type RequestClass = "read" | "write"

/**
 * Milliseconds that a request may have waited: beyond the first figure the organizations with the largest shares are
 * refused, beyond the second all.
 */
export const patienceMillis: Readonly<Record<RequestClass, readonly [shares: number, all: number]>> = {
  read: [300, 600],
  write: [600, 1_200]
}

/** The sentence of a refusal. */
export const tooManyMessage = "More requests come than the platform gets through; nothing was done, so repeat it later"

/** How long after a refusal the next ones are looked for before anything else is done about a request. */
const pressedMillis = 1_000

/** Requests that every turn admits. A machine that was frozen for a second is not overloaded. */
export const turnFloor = 100

/** The requests that one turn of the event loop has found. */
export class Turn {
  private readonly since: number
  private readonly admitted = new Map<string, number>()
  private total = 0

  constructor(since: number) {
    this.since = since
  }

  /** Whether a request is admitted at `now`, on the clock of `since`. */
  admits(organization: string, of: RequestClass, now: number): boolean {
    if (this.refuses(organization, of, now)) return false
    this.admitted.set(organization, this.shareOf(organization) + 1)
    this.total++
    return true
  }

  /** Whether a request would be refused. */
  refuses(organization: string, of: RequestClass, now: number): boolean {
    const [shares, all] = patienceMillis[of]
    const waited = now - this.since
    if (this.total < turnFloor || waited <= shares) return false
    return waited > all || this.shareOf(organization) > this.total / this.admitted.size
  }

  private shareOf(organization: string): number {
    return this.admitted.get(organization) ?? 0
  }
}

/** Milliseconds for which the process's pace is measured. */
export const paceMillis = 500

/** The part of the time that the event loop is busy, from which on the process counts as having too much to do. */
export const busyFrom = 0.9

/** How quickly requests are answered, and how busy the event loop is. */
export interface Pace {
  readonly answersPerSecond: number
  /** 0 to 1. */
  readonly busy: number
}

/** The requests in work, of all organizations or of the asking one. */
export interface InWork {
  readonly all: number
  readonly own: number
  readonly organizations: number
}

/**
 * Whether another request would wait too long behind those in work. A process that is not busy waits for others, for a
 * database for example, and refuses nothing: more answers are no more work for it. The second bound looks at a process
 * in which every organization has as many in work as the asking one: whoever holds requests open, with bodies that do
 * not come for example, makes nobody else wait.
 */
export const isBehind = ({ all, organizations, own }: InWork, { answersPerSecond, busy }: Pace, of: RequestClass) => {
  if (busy < busyFrom || all < turnFloor) return false
  const [shares, everyone] = patienceMillis[of]
  const waitOf = (requests: number) => (requests / answersPerSecond) * 1_000
  return waitOf(all) > shares && (own > all / organizations || waitOf((own + 1) * organizations) > everyone)
}

/** Total time of the event loop so far, in milliseconds. */
export interface LoopTimes {
  readonly active: number
  readonly idle: number
}

const idle: Pace = { answersPerSecond: 0, busy: 0 }

/** Measures the pace in periods. Two are kept, so that one stall, of a machine that was frozen, refuses nothing. */
class PaceMeter {
  private readonly look: () => LoopTimes
  private since: number | undefined = undefined
  private times: LoopTimes = { active: 0, idle: 0 }
  private answers = 0
  private last = idle
  private beforeLast = idle

  constructor(look: () => LoopTimes) {
    this.look = look
  }

  answered(): void {
    this.answers++
  }

  /** The pace at `now`: the quicker and the less busy of the last two periods. */
  at(now: number): Pace {
    if (this.since === undefined) this.begin(now)
    else if (now - this.since >= paceMillis) {
      const { active, idle } = this.look()
      const worked = active - this.times.active
      const all = worked + idle - this.times.idle
      this.beforeLast = this.last
      this.last = {
        answersPerSecond: (this.answers / (now - this.since)) * 1_000,
        busy: all === 0 ? 0 : worked / all
      }
      this.begin(now)
    }
    return {
      answersPerSecond: Math.max(this.last.answersPerSecond, this.beforeLast.answersPerSecond),
      busy: Math.min(this.last.busy, this.beforeLast.busy)
    }
  }

  private begin(now: number): void {
    this.since = now
    this.times = this.look()
    this.answers = 0
  }
}

/** The turns of this process's event loop, and its requests in work. */
export class LoadShedder {
  private turn: Turn | undefined = undefined
  private readonly pace: PaceMeter
  private readonly inWork = new Map<string, number>()
  private total = 0
  /** When a request was refused last. */
  private refusedAt = Number.NEGATIVE_INFINITY

  constructor(look: () => LoopTimes = () => performance.eventLoopUtilization()) {
    this.pace = new PaceMeter(look)
  }

  /**
   * Whether a request is admitted at `now`, in milliseconds of a monotonic clock. One that is admitted is in work until
   * `answered` is called for it.
   */
  admits(organization: string, of: RequestClass, now: number): boolean {
    if (this.isOverdue(organization, of, now) || !this.turnAt(now).admits(organization, of, now)) {
      this.refusedAt = now
      return false
    }
    this.inWork.set(organization, (this.inWork.get(organization) ?? 0) + 1)
    this.total++
    return true
  }

  /** Whether others were refused a moment ago, so that it is worth while to ask `refuses` first. */
  isPressed(now: number): boolean {
    return now - this.refusedAt <= pressedMillis
  }

  /** Whether a request would not be admitted. Notes nothing of it. */
  refuses(organization: string, of: RequestClass, now: number): boolean {
    const isRefused = this.isOverdue(organization, of, now) || this.turn?.refuses(organization, of, now) === true
    if (isRefused) this.refusedAt = now
    return isRefused
  }

  /** Requests in work. */
  get requests(): number {
    return this.total
  }

  /** Notes that a request is answered, or given up. Does nothing for one that was not admitted, or was noted before. */
  answered(state: { admitted: string | undefined }): void {
    const { admitted: organization } = state
    if (organization === undefined) return
    state.admitted = undefined
    const own = this.inWork.get(organization) ?? 0
    if (own <= 1) this.inWork.delete(organization)
    else this.inWork.set(organization, own - 1)
    this.total--
    this.pace.answered()
  }

  /** Whether a request would wait too long behind those in work. */
  private isOverdue(organization: string, of: RequestClass, now: number): boolean {
    const own = this.inWork.get(organization) ?? 0
    const organizations = this.inWork.size + (own === 0 ? 1 : 0)
    return isBehind({ all: this.total, own, organizations }, this.pace.at(now), of)
  }

  private turnAt(now: number): Turn {
    if (this.turn === undefined) {
      this.turn = new Turn(now)
      // Runs when all waiting requests of this turn were read.
      setImmediate(() => {
        this.turn = undefined
      })
    }
    return this.turn
  }
}

/** The load shedder of this process. */
export const CurrentLoadShedder = Context.Reference<LoadShedder>("sluice/http/LoadShedder", {
  defaultValue: () => new LoadShedder()
})
