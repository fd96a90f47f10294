/**
 * The actors whose checkpoint rows are wanted, in batches: what is asked for while others are read goes together
 * (docs/architecture.md, rule 10).
 */
import { maximumConcurrentLoads, maximumLoadBatch } from "../limits.ts"
import type { Cell } from "./actors.ts"

/** Actors whose rows are read together. */
export interface LoadBatch {
  /** The life that asked. */
  readonly life: number
  readonly cells: ReadonlyArray<Cell>
  /** Rows up to this frame count. */
  readonly through: number
}

export class Loads {
  private wanted: Array<Cell> = []
  private underWay = 0
  private life = 0

  /** A new life: what was asked for is of no use any more. */
  begin(): void {
    this.life++
    this.wanted = []
    this.underWay = 0
  }

  request(cell: Cell): void {
    cell.requested = true
    this.wanted.push(cell)
  }

  /** The next batch, where one may be read now. */
  take(through: number): LoadBatch | undefined {
    if (this.wanted.length === 0 || this.underWay >= maximumConcurrentLoads) return undefined
    this.underWay++
    return { life: this.life, cells: this.wanted.splice(0, maximumLoadBatch), through }
  }

  /** A batch has ended. False for one of an earlier life. */
  ended(batch: LoadBatch): boolean {
    if (batch.life !== this.life) return false
    this.underWay--
    for (const cell of batch.cells) cell.requested = false
    return true
  }
}
