/**
 * Due timers against the actors that are in memory: whether one can fire now, whose actors have to be loaded first, and what a fired one is to the
 * drain (architecture, rule 10). Synchronous, changes nothing but by `load`.
 */
import type { TimerRow } from "./Checkpoints.ts"
import { type Cell, Entry, type Memory } from "./memory.ts"
import type { Timers } from "./timers.ts"

/** Whether a drain could fire a timer now: one that waits for its organization's actors holds the later ones. */
export const canFire = (memory: Memory, timers: Timers, now: number): boolean => {
  const first = timers.firstDue
  if (first === undefined) return timers.nextAt() <= now
  return !((memory.organizations.get(first.organization)?.loading ?? 0) > 0)
}

/** Asks for the actors of all due timers at once, so that they arrive together. */
export const requestActorsOf = (memory: Memory, due: ReadonlyArray<TimerRow>, load: (cell: Cell) => boolean): void => {
  for (const timer of due) {
    const actorIndex = memory.registry.actorIndex(timer.kind)
    const organization = actorIndex < 0 ? undefined : memory.organization(timer.organization)
    if (organization === undefined || organization.loading > 0) continue
    const cell = memory.cell(organization, actorIndex, timer.key)
    if (!cell.loaded && cell.broken === undefined) load(cell)
  }
}

/** What a timer is to the drain; undefined where the engine has no such actor any more. */
export const entryOf = (memory: Memory, timer: TimerRow): Entry | undefined => {
  const actorIndex = memory.registry.actorIndex(timer.kind)
  const organization = memory.organization(timer.organization)
  if (actorIndex < 0 || organization === undefined) return undefined
  const actor = memory.registry.actors[actorIndex]!
  const entry = new Entry(organization, actor, actorIndex, timer.key, undefined, undefined)
  entry.wakeAt = timer.wakeAt
  return entry
}
