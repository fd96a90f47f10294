/** The context that `decide` and `wake` get: the time, the actor's name, ids, and the states of the actors the command touches. */
import type { ActorOfState, DecideContext } from "../Actor.ts"
import type { ActorAddress } from "../address.ts"
import { deriveId, idKinds } from "../ids.ts"
import type { Cell } from "./actors.ts"

/** What a context needs of the draft that is decided on. */
export interface DecidingDraft {
  readonly partition: number
  readonly now: number
  readonly epoch: number
  readonly frameNumber: number
  readonly stateOf: (cell: Cell) => unknown
  /** A new number for a decision that asks for ids; no other decision under this frame number has it. */
  readonly nextIdCommand: () => number
}

/** The touched cell of that kind and key; the deciding actor counts as touched. Throws when there is none. */
export const findTouched = (self: Cell, touched: ReadonlyArray<Cell>, kind: string, key: string): Cell => {
  for (const cell of touched) if (cell.actor.kind === kind && cell.key === key) return cell
  if (self.actor.kind === kind && self.key === key) return self
  throw new Error(`the command does not name ${kind} "${key}" among the actors it touches`)
}

export class DrainContext implements DecideContext {
  readonly now: number
  private readonly draft: DecidingDraft
  private readonly cell: Cell
  private readonly touched: ReadonlyArray<Cell>
  private idCommand = -1

  constructor(draft: DecidingDraft, cell: Cell, touched: ReadonlyArray<Cell>) {
    this.now = draft.now
    this.draft = draft
    this.cell = cell
    this.touched = touched
  }

  get self(): ActorAddress {
    return this.cell.address
  }

  // Getters, not methods, so that a rule may destructure the context; most rules never ask for either function.
  get id() {
    return (index: number): string => {
      const { epoch, frameNumber, partition } = this.draft
      if (this.idCommand < 0) this.idCommand = this.draft.nextIdCommand()
      return deriveId({ partition, epoch, frame: frameNumber, kind: idKinds.decided, command: this.idCommand, index })
    }
  }

  get read() {
    return <State>(actor: ActorOfState<State>, key = ""): State =>
      this.draft.stateOf(findTouched(this.cell, this.touched, actor.kind, key)) as State
  }
}
