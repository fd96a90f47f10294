/**
 * Batches the actors whose checkpoint rows are needed: those requested while a batch is being read go together into the
 * next one (docs/architecture.md, rule 10).
 */
import { maximumConcurrentLoads, maximumLoadBatch, maximumPrefetchedActors } from "../../limits.ts"
import type { Cell, Organization } from "./Organization.ts"

/** Actors whose rows are read together. */
export interface LoadBatch {
  /** The requester: the batch is void in a later life. */
  readonly of: Loads
  readonly cells: ReadonlyArray<Cell>
  /** Only rows up to this frame count. */
  readonly through: number
}

export class Loads {
  private readonly wanted: Array<Cell> = []
  private underWay = 0

  request(cell: Cell): void {
    cell.requested = true
    this.wanted.push(cell)
  }

  /** Whether an actor of that organization may be requested ahead of its command. */
  admitsAhead({ prefetched }: Organization): boolean {
    return prefetched < maximumPrefetchedActors && this.wanted.length < maximumLoadBatch
  }

  /** Counts an actor that was requested ahead of its command. */
  ahead(cell: Cell): void {
    cell.isAhead = true
    cell.organization.prefetched++
  }

  /** The next batch; undefined when none may be read now. */
  take(through: number): LoadBatch | undefined {
    if (this.wanted.length === 0 || this.underWay >= maximumConcurrentLoads) return undefined
    this.underWay++
    return { of: this, cells: this.wanted.splice(0, maximumLoadBatch), through }
  }

  /** Notes the end of a batch. False for a batch of an earlier life. */
  ended(batch: LoadBatch): boolean {
    if (batch.of !== this) return false
    this.underWay--
    for (const cell of batch.cells) {
      cell.requested = false
      if (cell.isAhead) cell.organization.prefetched--
      cell.isAhead = false
    }
    return true
  }
}
