/**
 * Warns operators of actors that are paused because they are woken too often (docs/architecture.md, "Wakes"): once a
 * minute for each kind, however many actors it has. The kinds of an engine bound it.
 */
import { type ActorAddress, formatAddress } from "../../address.ts"
import { brakeWarningMillis, maximumWakes } from "../../limits.ts"

export class BrakeWarnings {
  /** The last warning of each kind, monotonic milliseconds. */
  private readonly toldAt = new Map<string, number>()
  private untold: ReadonlyArray<string> = []

  /** Notes an actor that is paused now. */
  note(address: ActorAddress, monotonic: number): void {
    const last = this.toldAt.get(address.kind) ?? Number.NEGATIVE_INFINITY
    if (monotonic - last < brakeWarningMillis) return
    this.toldAt.set(address.kind, monotonic)
    const name = formatAddress(address)
    this.untold = [
      ...this.untold,
      `${name} was woken ${maximumWakes} times within a second and is held for a second: its wake does not move its time ahead`
    ]
  }

  /** Takes the warnings that were not shown yet. */
  take(): ReadonlyArray<string> {
    const { untold } = this
    if (untold.length > 0) this.untold = []
    return untold
  }
}
