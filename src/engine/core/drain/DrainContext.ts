/**
 * Builds the context of `decide` and `wake`: the time, the actor's name, ids, and the states of the actors the command
 * touches.
 */
import type { ActorOfState, DecideContext } from "../../Actor.ts"
import type { ActorAddress } from "../../address.ts"
import { deriveId, idKinds } from "../../ids.ts"
import type { Cell } from "../actors/Organization.ts"

/** The part of the draft that a context needs. */
export interface DecidingDraft {
  readonly partition: number
  readonly now: number
  readonly level: number
  readonly epoch: number
  readonly frameNumber: number
  readonly stateOf: (cell: Cell) => unknown
  /** Returns a new number for a decision that asks for ids; no other decision under this frame number has it. */
  readonly nextIdCommand: () => number
}

/** Up to this many actors are scanned one by one; among more, each is found by its name. */
const maximumScannedActors = 8

/** The actors that a command touches; the deciding actor counts as touched. */
export class TouchedCells {
  readonly self: Cell
  readonly cells: ReadonlyArray<Cell>
  /** Touched actors that the command claims to be fresh. */
  readonly fresh: ReadonlyArray<Cell>
  private byName: Map<string, Cell> | undefined = undefined

  constructor(self: Cell, cells: ReadonlyArray<Cell>, fresh: ReadonlyArray<Cell>) {
    this.self = self
    this.cells = cells
    this.fresh = fresh
  }

  /** These and one more. */
  and(cell: Cell): TouchedCells {
    return new TouchedCells(this.self, [...this.cells, cell], this.fresh)
  }

  /** The actor of that kind and key. Throws when it is not touched. */
  find(kind: string, key: string): Cell {
    const { self } = this
    if (self.actor.kind === kind && self.key === key) return self
    const found = this.cells.length > maximumScannedActors ? this.named.get(`${kind}\n${key}`) : this.scan(kind, key)
    if (found !== undefined) return found
    throw new Error(`the command does not name ${kind} "${key}" among the actors it touches`)
  }

  private scan(kind: string, key: string): Cell | undefined {
    for (const cell of this.cells) if (cell.actor.kind === kind && cell.key === key) return cell
    return undefined
  }

  private get named(): Map<string, Cell> {
    this.byName ??= new Map(this.cells.map((cell) => [`${cell.actor.kind}\n${cell.key}`, cell]))
    return this.byName
  }
}

export class DrainContext implements DecideContext {
  readonly now: number
  private readonly draft: DecidingDraft
  private readonly touched: TouchedCells
  private idCommand = -1

  constructor(draft: DecidingDraft, touched: TouchedCells) {
    this.now = draft.now
    this.draft = draft
    this.touched = touched
  }

  get self(): ActorAddress {
    return this.touched.self.address
  }

  get level(): number {
    return this.draft.level
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
      this.draft.stateOf(this.touched.find(actor.kind, key)) as State
  }
}
