/**
 * Limits the connections of each caller of a listener, and its events per minute: mails, or failed logins. A caller is
 * an address or an organization. Pure: the time is an argument, in Unix milliseconds.
 */
import { BoundedMap } from "../../common/BoundedMap.ts"

/** Callers whose events are counted. */
const countedCallers = 10_000

export interface CallerLimitsOptions {
  /** Most concurrent connections of a caller. */
  readonly connections: number
  /** Most events of a caller in a clock minute. */
  readonly perMinute: number
}

export class CallerLimits {
  private readonly events = new BoundedMap<string, { readonly minute: number; count: number }>(countedCallers)
  private readonly connections = new Map<string, number>()
  private readonly limits: CallerLimitsOptions

  constructor(limits: CallerLimitsOptions) {
    this.limits = limits
  }

  /** Takes one more connection, if the caller may have it. */
  connect(caller: string): boolean {
    const count = (this.connections.get(caller) ?? 0) + 1
    if (count > this.limits.connections) return false
    this.connections.set(caller, count)
    return true
  }

  /** Gives a connection back. */
  close(caller: string): void {
    const count = (this.connections.get(caller) ?? 0) - 1
    if (count > 0) this.connections.set(caller, count)
    else this.connections.delete(caller)
  }

  /** Counts an event, and says whether it is within the limit. */
  count(caller: string, now: number): boolean {
    const minute = Math.floor(now / 60_000)
    const before = this.events.get(caller)
    const current = before?.minute === minute ? before : { minute, count: 0 }
    current.count++
    this.events.set(caller, current)
    return current.count <= this.limits.perMinute
  }
}
