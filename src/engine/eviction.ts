/**
 * Actors leave memory (architecture, rule 10): idle ones after a checkpoint, and others when a new one finds no place. What has changed
 * since the checkpoint stays, and so does what a running drain has changed.
 */

import { addressOf } from "./decideContext.ts"
import type { Cell } from "./memory.ts"
import type { Partition } from "./Partition.ts"
import { maximumTimerEntries } from "./timers.ts"

/** How full memory may be after room was made: 9 of 10 parts. */
const roomyNumerator = 9
const roomyDenominator = 10

/** Whether an actor may leave memory: everything about it is in a checkpoint. */
const mayGo = (partition: Partition, cell: Cell): boolean =>
  cell.loaded &&
  cell.organization.loading === 0 &&
  !partition.memory.dirty.has(cell) &&
  !partition.drain.draft.has(cell)

/** Lets go what was not used since the last time, at most down to `floor` actors. */
const passOver = (partition: Partition, floor: number): void => {
  const { memory } = partition
  for (const organization of [...memory.organizations.values()]) {
    for (const cells of [...organization.cells]) {
      if (cells === undefined) continue
      for (const cell of [...cells.values()]) {
        if (memory.cellCount <= floor) return
        if (!mayGo(partition, cell)) continue
        if (cell.used) cell.used = false
        else memory.removeCell(cell)
      }
    }
  }
}

/** Lets idle actors and ended lanes go. */
export const sweep = (partition: Partition, now: number): void => {
  passOver(partition, 0)
  partition.lanes.sweep(now)
  const { metrics, newestCheckpoint, timers } = partition
  if (timers.size > maximumTimerEntries) timers.rebuild(loadedTimers(partition), newestCheckpoint !== undefined)
  metrics.actorCount(partition.memory.cellCount)
}

/** Makes a tenth of the memory free if actors can go; false when a checkpoint is needed first. */
export const makeRoom = (partition: Partition): boolean => {
  const { memory, parts } = partition
  const floor = Math.floor((parts.config.maximumActors * roomyNumerator) / roomyDenominator)
  if (memory.dirty.size > floor) return false
  // the first pass takes the unused ones and marks the others, the second takes those
  passOver(partition, floor)
  passOver(partition, floor)
  return memory.cellCount <= floor
}

function* loadedTimers(partition: Partition) {
  for (const organization of partition.memory.organizations.values()) {
    for (const cells of organization.cells) {
      if (cells === undefined) continue
      for (const cell of cells.values()) {
        if (cell.wakeAt !== Number.POSITIVE_INFINITY) yield { ...addressOf(cell), wakeAt: cell.wakeAt }
      }
    }
  }
}
