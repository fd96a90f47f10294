/** Shows the content of a partition's core, read-only: for operators' tools, tests and the simulator's checkers. */

import type { Head } from "../../frame.ts"
import type { CheckpointRecord } from "../../ports/Checkpoints.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import type { Cell } from "../actors/Organization.ts"
import type { RememberedKey } from "../keys/KeyTable.ts"
import { isOver } from "../ruleChecks.ts"
import type { Timers } from "../timers/Timers.ts"
import type { Mailbox } from "./Mailbox.ts"
import type { SignalQueues } from "./SignalQueues.ts"

interface Probed {
  readonly memory: ActorMemory
  readonly mailbox: Mailbox
  readonly timers: Timers
  readonly signals: SignalQueues
  readonly head: Head
  readonly newestCheckpoint: CheckpointRecord | undefined
}

/** An actor in memory, as it is stored. */
export interface ProbedActor {
  /** An object that stays the same for as long as the actor is in memory. */
  readonly token: object
  readonly organization: string
  readonly kind: string
  readonly key: string
  readonly isLoaded: boolean
  /** Must not be changed. */
  readonly state: unknown
  readonly changedAt: number
  /** Infinity for never. */
  readonly wakeAt: number
}

export class Probe {
  private readonly look: () => Probed

  constructor(look: () => Probed) {
    this.look = look
  }

  get head(): Head {
    return this.look().head
  }

  get newestCheckpoint(): CheckpointRecord | undefined {
    return this.look().newestCheckpoint
  }

  /** Commands that wait for their turn. */
  get commands(): number {
    return this.look().mailbox.size
  }

  /** The most commands that one organization has waiting. It looks at every organization in memory. */
  get largestShare(): number {
    let largest = 0
    for (const { stalled, waiting } of this.look().memory.organizations.values())
      largest = Math.max(largest, waiting + stalled)
    return largest
  }

  /** Counts each bounded thing. Serving partitions ask for it, so nothing is counted by walking. */
  get counts() {
    const { mailbox, memory, signals, timers } = this.look()
    return {
      organizations: memory.organizations.size,
      actors: memory.cellCount,
      /**
       * The actors and idempotency keys that stay until a checkpoint has them; while the log is replayed, all of them.
       */
      changedActors: memory.isReplaying ? memory.cellCount : memory.changedCount,
      laneActors: memory.laneCount,
      timers: timers.size,
      signals: signals.size,
      commands: mailbox.size,
      stalledCommands: mailbox.stalled,
      /** The most commands that one organization may have waiting. */
      maximumShare: mailbox.share
    }
  }

  *actors(): Generator<ProbedActor> {
    for (const organization of this.look().memory.organizations.values()) {
      for (const cells of organization.cells) {
        if (cells === undefined) continue
        for (const cell of cells.values()) yield probed(cell)
      }
    }
    for (const key of this.look().memory.keys.all()) yield this.key(key)
  }

  actor(organization: string, actorIndex: number, key: string): ProbedActor | undefined {
    const { keys, organizations, registry } = this.look().memory
    const found = organizations.get(organization)
    const cell = found?.cell(actorIndex, key)
    if (cell !== undefined) return probed(cell)
    const known = found && actorIndex === registry.keyIndex ? keys.durable(found, key) : undefined
    return known && this.key(known)
  }

  /**
   * The changed actors of a kind since the newest checkpoint, by their keys, and whether anything is kept of them: the
   * next checkpoint would say the same.
   */
  changedKeys(organization: string, actorIndex: number): ReadonlyMap<string, boolean> {
    const { dirty, organizations } = this.look().memory
    const cells = organizations.get(organization)?.cells[actorIndex]
    const found = new Map<string, boolean>()
    if (cells === undefined) return found
    const note = (cell: Cell) => found.set(cell.key, isKept(cell))
    if (cells.size < dirty.size) {
      for (const cell of cells.values()) if (dirty.has(cell)) note(cell)
    } else {
      for (const cell of dirty) if (cells.get(cell.key) === cell) note(cell)
    }
    return found
  }

  /** The organizations with an actor of a kind that has changed since the newest checkpoint, and of which a state is kept. */
  changedOrganizations(actorIndex: number): ReadonlyMap<string, true> {
    const found = new Map<string, true>()
    for (const cell of this.look().memory.dirty)
      if (cell.actorIndex === actorIndex && isKept(cell)) found.set(cell.organization.name, true)
    return found
  }

  /** Whether actors of a kind have changed since the newest checkpoint, and none of these is kept. */
  hasLost(organization: string, actorIndex: number): boolean {
    const changed = [...this.changedKeys(organization, actorIndex).values()]
    return changed.length > 0 && !changed.includes(true)
  }

  /** Shows an idempotency key as its actor. */
  private key(known: RememberedKey): ProbedActor {
    const { key, organization, sequence: changedAt, text } = known
    const { actors, keyIndex } = this.look().memory.registry
    const address = { organization: organization.name, kind: actors[keyIndex]!.kind, key }
    const state: unknown = JSON.parse(text)
    return { token: known, ...address, isLoaded: true, state, changedAt, wakeAt: Number.POSITIVE_INFINITY }
  }
}

/** Whether a checkpoint would have a state of the actor. */
const isKept = ({ actor, state, unreadable, wakeAt }: Cell): boolean =>
  unreadable !== undefined || wakeAt !== Number.POSITIVE_INFINITY || !isOver(actor, state)

const probed = (cell: Cell): ProbedActor => ({
  token: cell,
  ...cell.address,
  isLoaded: cell.loaded,
  state: cell.state,
  changedAt: cell.changedAt,
  wakeAt: cell.wakeAt
})
