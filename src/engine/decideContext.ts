/** The context that `decide` and `wake` get: the time, the actor's name, ids, and the states of the actors the command touches. */
import type { ActorOfState, DecideContext } from "./Actor.ts"
import type { ActorAddress } from "./address.ts"
import { deriveId, idKinds } from "./ids.ts"
import type { Cell } from "./memory.ts"

/** What a context asks of the drain it belongs to. */
export interface DecidingDrain {
  readonly now: number
  readonly partition: number
  readonly epoch: number
  readonly frameNumber: number
  readonly decidedCount: number
  readonly stateOf: (cell: Cell) => unknown
}

export const addressOf = (cell: Cell): ActorAddress => ({
  organization: cell.organization.name,
  kind: cell.actor.kind,
  key: cell.key
})

/** The touched cell of that kind and key; the deciding actor counts as touched. Throws when there is none. */
export const findTouched = (self: Cell, touched: ReadonlyArray<Cell>, kind: string, key: string): Cell => {
  for (const cell of touched) if (cell.actor.kind === kind && cell.key === key) return cell
  if (self.actor.kind === kind && self.key === key) return self
  throw new Error(`the command does not name ${kind} "${key}" among the actors it touches`)
}

export class DrainContext implements DecideContext {
  readonly now: number
  private readonly drain: DecidingDrain
  private readonly cell: Cell
  private readonly touched: ReadonlyArray<Cell>

  constructor(drain: DecidingDrain, cell: Cell, touched: ReadonlyArray<Cell>) {
    this.now = drain.now
    this.drain = drain
    this.cell = cell
    this.touched = touched
  }

  get self(): ActorAddress {
    return addressOf(this.cell)
  }

  id(index: number): string {
    const { decidedCount, epoch, frameNumber, partition } = this.drain
    return deriveId({ partition, epoch, frame: frameNumber, kind: idKinds.decided, command: decidedCount, index })
  }

  read<State>(actor: ActorOfState<State>, key = ""): State {
    return this.drain.stateOf(findTouched(this.cell, this.touched, actor.kind, key)) as State
  }
}
