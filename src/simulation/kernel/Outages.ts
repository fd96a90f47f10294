/**
 * Tracks the outages of a scenario: which systems are away or hang, and for how long. Times are the world's, in
 * milliseconds.
 */
import type { World } from "./World.ts"

/** A system that can be away, or hang. See {@link engineCheckers}. */
export type Outage = "log" | "database" | "hanging database"

interface Span {
  readonly from: number
  readonly until: number
}

/** The outages of a scenario. See {@link engineCheckers}. */
export class Outages {
  private readonly world: World
  private readonly spans = new Map<Outage, Span>()

  constructor(world: World) {
    this.world = world
  }

  isOut(what: Outage): boolean {
    return this.leftOf(what) > 0
  }

  /** How long it has been away; 0 while it is there. */
  outFor(what: Outage): number {
    return this.isOut(what) ? this.world.now - this.spans.get(what)!.from : 0
  }

  /** How long it will still be away; 0 while it is there. */
  leftOf(what: Outage): number {
    return Math.max(0, (this.spans.get(what)?.until ?? 0) - this.world.now)
  }

  /** Makes it away from now on, for at least this long. */
  start(what: Outage, millis: number): void {
    const span = this.isOut(what) ? this.spans.get(what)! : { from: this.world.now, until: 0 }
    this.spans.set(what, { from: span.from, until: Math.max(span.until, this.world.now + millis) })
  }

  endAll(): void {
    this.spans.clear()
  }
}
