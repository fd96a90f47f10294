/**
 * Samples equal log lines (docs/operating.md): in an outage each request and each probe fails, and thousands of lines a
 * minute hide the one that says why. It writes the first lines of each kind in a window and counts the others. Pure
 * except for its own counts; bounded.
 */

export interface SamplingLimits {
  /** Lines of one kind that are written in a window. */
  readonly lines: number
  readonly windowMillis: number
  /** Most distinct kinds; all further ones count as one kind. */
  readonly kinds: number
}

export const samplingLimits: SamplingLimits = { lines: 5, windowMillis: 10_000, kinds: 256 }

/** Lines of a kind that were not written. */
export interface LeftOut {
  readonly kind: string
  readonly count: number
}

interface Window {
  readonly startedAt: number
  written: number
  leftOut: number
}

/** The kind of all lines beyond the distinct kinds. */
export const otherKind = "others"

export class LogSampler {
  private readonly limits: SamplingLimits
  private readonly windows = new Map<string, Window>()

  constructor(limits: SamplingLimits = samplingLimits) {
    this.limits = limits
  }

  /**
   * Whether a line of this kind is written now. A window begins with its first line. Lines that it left out stay for
   * `due`.
   */
  take(given: string, now: number): boolean {
    const kind = this.windows.has(given) || this.windows.size < this.limits.kinds ? given : otherKind
    const before = this.windows.get(kind)
    const isOver = before !== undefined && now - before.startedAt >= this.limits.windowMillis
    const window =
      before === undefined || isOver ? { startedAt: now, written: 0, leftOut: before?.leftOut ?? 0 } : before
    this.windows.set(kind, window)
    if (window.written < this.limits.lines) {
      window.written++
      return true
    }
    window.leftOut++
    return false
  }

  /** The omitted lines that are not reported yet, each kind once. Forgets kinds whose window is over. */
  due(now: number): ReadonlyArray<LeftOut> {
    const due: Array<LeftOut> = []
    for (const [kind, window] of this.windows) {
      if (window.leftOut > 0) due.push({ kind, count: window.leftOut })
      window.leftOut = 0
      if (now - window.startedAt >= this.limits.windowMillis) this.windows.delete(kind)
    }
    return due
  }
}
