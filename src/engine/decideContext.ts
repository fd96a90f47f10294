/** The context that `decide` and `wake` get: the time, the actor's name, ids, and the states of the actors the command touches. */
import type { ActorOfState, DecideContext } from "./Actor.ts"
import type { ActorAddress } from "./address.ts"
import { deriveId, idKinds } from "./ids.ts"
import type { Cell } from "./memory.ts"

/** What a context asks of the draft it decides over. */
export interface DecidingDraft {
  readonly now: number
  readonly epoch: number
  readonly frameNumber: number
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
  private readonly partition: number
  private readonly draft: DecidingDraft
  /** The command's place in the drain. */
  private readonly command: number
  private readonly cell: Cell
  private readonly touched: ReadonlyArray<Cell>

  constructor(partition: number, draft: DecidingDraft, command: number, cell: Cell, touched: ReadonlyArray<Cell>) {
    this.now = draft.now
    this.partition = partition
    this.draft = draft
    this.command = command
    this.cell = cell
    this.touched = touched
  }

  get self(): ActorAddress {
    return addressOf(this.cell)
  }

  // Properties and not methods, so that a rule may take the context apart.
  readonly id = (index: number): string =>
    deriveId({
      partition: this.partition,
      epoch: this.draft.epoch,
      frame: this.draft.frameNumber,
      kind: idKinds.decided,
      command: this.command,
      index
    })

  readonly read = <State>(actor: ActorOfState<State>, key = ""): State =>
    this.draft.stateOf(findTouched(this.cell, this.touched, actor.kind, key)) as State
}
