/**
 * Holds what a partition has read from outside and not yet decided: a queue of its signals, and one of each ingest
 * (docs/architecture.md, "External signals"; docs/streams.md). Each is decided in its order; a drain takes from all of
 * them in turn.
 */
import type { IngestPlaces } from "../../frame.ts"
import { withPlace } from "./ingestPlaces.ts"
import { SignalQueue } from "./SignalQueue.ts"

export class SignalQueues {
  private readonly signals = new SignalQueue()
  private readonly ingests = new Map<string, SignalQueue>()
  private all: ReadonlyArray<SignalQueue> = [this.signals]
  private turns = 0

  /** The queue of an ingest; without a name, that of the signals. */
  of(ingest: string | undefined): SignalQueue {
    if (ingest === undefined) return this.signals
    let queue = this.ingests.get(ingest)
    if (queue === undefined) {
      queue = new SignalQueue()
      this.ingests.set(ingest, queue)
      this.all = [this.signals, ...this.ingests.values()]
    }
    return queue
  }

  /** Makes an ingest of the program known, so that its place is kept. */
  follows(ingest: string): void {
    this.of(ingest)
  }

  get size(): number {
    return this.all.reduce((sum, { size }) => sum + size, 0)
  }

  /** Whether an entry of some queue can be decided now. */
  get isReady(): boolean {
    return this.all.some(({ isReady }) => isReady)
  }

  /** The queues with entries, beginning with another one each time. */
  inTurn(): Array<SignalQueue> {
    if (this.all.length === 1) return this.signals.size > 0 ? [this.signals] : []
    this.turns = (this.turns + 1) % this.all.length
    const turned = [...this.all.slice(this.turns), ...this.all.slice(0, this.turns)]
    return turned.filter(({ size }) => size > 0)
  }

  /** The places with that of an ingest set. */
  place(places: IngestPlaces | undefined, ingest: string, sequence: number): IngestPlaces {
    return withPlace(places, ingest, sequence, (name) => this.ingests.has(name))
  }

  /**
   * The places of a frame's decisions, moved over the messages behind them that were passed and mean nothing here. An
   * ingest with a message that is not decided stays before it.
   */
  moved(places: IngestPlaces | undefined): IngestPlaces | undefined {
    let moved = places
    for (const [ingest, { passed, size }] of this.ingests) {
      const place = moved?.[ingest]
      if (size === 0 && place !== undefined && passed > place) moved = this.place(moved, ingest, passed)
    }
    return moved
  }
}
