/**
 * The end of a scenario: all faults stop, an operator does what only an operator can, and what is left to be done is done. Nothing of it knows the
 * steps that came before.
 */
import { lastSequenceOf } from "../engine/JournalMemory.ts"
import { purgeableBelow } from "../engine/purge.ts"
import type { Simulation } from "./Simulation.ts"
import { epochMillis } from "./World.ts"

/** Virtual time that a healed deployment gets to come to rest, milliseconds. */
const healingMillis = 240_000

/** What is under way at rest has ended after this. */
export const restMillis = 3_000

/** Somebody starts a process when none lives. */
export const ensureOwner = (simulation: Simulation): void => {
  if (simulation.living().length > 0) return
  simulation.start()
  if (simulation.isHealed) setClocksRight(simulation)
}

/** After so long somebody notices that the last process has died, milliseconds. */
const restartMillis = 100

/**
 * Starts a process soon where none lives. A fault that was taken before the healing may kill one after it ("crash after the commit"), and no step
 * comes any more that would start another.
 */
export const restartLater = (simulation: Simulation): void => {
  simulation.world.after(restartMillis, undefined, () => ensureOwner(simulation))
}

/** An operator brings back what the disks had lost. */
const restore = (simulation: Simulation): void => {
  for (const [partition, { frames, from, isLost }] of simulation.damaged) {
    const { log } = simulation.server.of(partition)
    if (isLost) {
      log.frames.push(...frames)
      for (const frame of frames) log.bytes += frame.bytes.length
    } else if (from >= log.firstSequence) {
      log.frames[from - log.firstSequence] = frames[0]!
    }
  }
  simulation.damaged.clear()
}

/** All faults stop, and an operator does what only an operator can. */
export const heal = (simulation: Simulation): void => {
  const { world } = simulation
  simulation.trace(() => "healed")
  simulation.isHealed = true
  simulation.faults.heal()
  simulation.endOutages()
  restore(simulation)
  for (const engine of simulation.living().slice(0, -1)) simulation.crash(engine, "as one too many")
  const newest = simulation.newest()
  if (newest !== undefined) {
    newest.process.resume()
    newest.owns = true
    newest.repliesUntilCrash = undefined
    world.advance(0)
    const isStopped = [...(newest.engine?.local.values() ?? [])].some(
      (partition) => partition.status._tag === "Stopped"
    )
    if (isStopped || newest.isStopping || newest.engine === undefined)
      simulation.crash(newest, "by an operator, since it had stopped")
  }
  ensureOwner(simulation)
  setClocksRight(simulation)
}

/** At or after every frame that was ever written. */
const setClocksRight = (simulation: Simulation): void => {
  const last = simulation.truth.commits.reduce(
    (latest, commits) => commits.reduce((time, { frame }) => Math.max(time, frame.now), latest),
    0
  )
  for (const engine of simulation.living()) {
    engine.process.clockStoppedAt = undefined
    engine.process.clockOffset = Math.max(0, last - epochMillis - simulation.world.now)
  }
}

/** How often an operator starts what has stopped for good, after healing. */
const operatorRestarts = 2

/** Lets a healed deployment do what is left to be done. What has stopped for good an operator starts again. */
export const comeToRest = (simulation: Simulation): void => {
  // what was under way when everything was healed may bear a later time
  simulation.world.advance(restMillis)
  setClocksRight(simulation)
  const end = simulation.world.now + healingMillis
  const stopped = () => {
    const newest = simulation.newest()
    return [...(newest?.engine?.local.values() ?? [])].some(({ status }) => status._tag === "Stopped")
      ? newest
      : undefined
  }
  for (let restarts = 0; restarts <= operatorRestarts; restarts++) {
    while (
      simulation.world.advanceUntil(
        end,
        () => isAtRest(simulation) || stopped() !== undefined || isFullForGood(simulation)
      ) &&
      isFullForGood(simulation)
    ) {
      simulation.trace(() => "an operator raises max_bytes")
      simulation.logBytes *= 4
    }
    const engine = stopped()
    if (engine === undefined) return
    simulation.crash(engine, "by an operator, since it had stopped")
    ensureOwner(simulation)
  }
}

/** Bytes that any frame of the workload fits in. */
const roomyBytes = 4_096

/** Whether a log is full and nothing that it holds can go, so that only more room helps. */
const isFullForGood = ({ logBytes, scenario, server, stores }: Simulation): boolean => {
  for (let partition = 0; partition < scenario.topology.partitions; partition++) {
    const { log } = server.of(partition)
    if (log.bytes + roomyBytes <= logBytes) continue
    const { records } = stores.checkpoints.of(partition)
    const cursors = [...stores.cursors.cursors.values()].filter((cursor) => cursor.partition === partition)
    const last = lastSequenceOf(log)
    const isCovered = (place: { readonly sequence: number }) => place.sequence >= last
    if (cursors.length === 0 || !cursors.every(isCovered) || !records.some(isCovered)) continue
    if ((purgeableBelow(records, cursors, new Set()) ?? 0) <= log.firstSequence) return true
  }
  return false
}

/** Whether nothing is left to be waited for. */
const isAtRest = (simulation: Simulation): boolean => {
  if (simulation.operations.some((operation) => operation.answer === undefined)) return false
  const newest = simulation.newest()
  if (newest?.engine === undefined) return false
  for (const partition of newest.engine.local.values()) {
    if (partition.status._tag !== "Serving") return false
    // a claim of one that is gone by now, which it has yet to meet: after the third of them it stops
    if (partition.head.sequence < lastSequenceOf(simulation.server.of(partition.id).log)) return false
    if (partition.head.signalSequence < simulation.stores.signals.lists[partition.id]!.length) return false
    if (!reactorIsThrough(simulation, partition.id)) return false
  }
  return true
}

/** No timer is set, and what the last ones did has come through. */
export const hasNothingLeft = (simulation: Simulation): boolean =>
  isAtRest(simulation) &&
  [...(simulation.newest()?.engine?.local.values() ?? [])].every(
    (partition) => partition.nextWakeAt() === Number.POSITIVE_INFINITY
  )

/** Whether the reactor has dealt with the last record of a log. */
const reactorIsThrough = ({ books, stores, truth }: Simulation, partition: number): boolean => {
  const commits = truth.commits[partition]!
  for (let index = commits.length - 1; index >= 0; index--) {
    const { frame, sequence } = commits[index]!
    if (frame.records.length === 0) continue
    const last = `${partition}/${sequence}/${frame.records.length - 1}`
    return (
      books.entries.has(last) ||
      stores.cursors.parked.some((record) => record.partition === partition && record.sequence === sequence)
    )
  }
  return true
}
