/** Memory of a partition's core, without the core: for specifications of its parts. */
import { ActorMemory } from "../../../src/engine/core/actors/ActorMemory.ts"
import { type Cell, Entry, Registry } from "../../../src/engine/core/actors/Organization.ts"
import { type Limits, ProcessBounds } from "../../../src/engine/core/actors/ProcessBounds.ts"
import { Counter, Limiter } from "./actors.ts"

const roomy: Limits = { maximumActors: 1_000_000, maximumLaneActors: 1_000_000, mailboxBytes: 1_000_000 }

export const makeBounds = (limits: Partial<Limits> = {}): ProcessBounds => new ProcessBounds({ ...roomy, ...limits })

/** A memory of counters that asks its bounds for room, as a partition's does. */
export const makeMemory = (
  bounds: ProcessBounds = makeBounds(),
  onEvicted: (cell: Cell) => void = () => {}
): ActorMemory => {
  const timers = { mayLeave: () => true, evicted: onEvicted }
  const memory = new ActorMemory(new Registry([Counter], [Limiter]), bounds, () => timers)
  bounds.join(memory)
  return memory
}

/** The counter of an organization, loaded and as its checkpoint has it. */
export const loadedCell = (memory: ActorMemory, organization: string, key = ""): Cell => {
  const cell = memory.cell(memory.organization(organization)!, 0, key)
  cell.loaded = true
  memory.settle(cell)
  return cell
}

export const entryOf = (memory: ActorMemory, organization: string, command: unknown, bytes = 0): Entry => {
  const entry = new Entry(memory.organization(organization)!, Counter, 0, "", command, {})
  entry.bytes = bytes
  return entry
}
