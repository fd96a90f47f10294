/**
 * Ends a scenario: all faults stop, an operator makes the repairs that only an operator can, and the deployment
 * finishes its work. It does not depend on the steps that came before.
 */

import { isInternalKind } from "../../engine/internalActor.ts"
import { lastSequenceOf } from "../../engine/memory/JournalMemory.ts"
import { outboxName } from "../../engine/outbox.ts"
import type { ParkedRecord } from "../../engine/ports/Cursors.ts"
import { isWaiting } from "../../engine/shell/outbox/deliverParked.ts"
import type { Partition } from "../../engine/shell/partition/Partition.ts"
import { purgeableBelow } from "../../engine/shell/stores/purge.ts"
import { reactorsOf } from "./programReactors.ts"
import type { Simulation } from "./Simulation.ts"
import { booksName } from "./SqlEffects.ts"
import { workersAreThrough } from "./workersAreThrough.ts"

/** Virtual time that a healed deployment gets to come to rest, milliseconds. */
const healingMillis = 240_000

/** How long until anything still under way at rest has ended. */
export const restMillis = 3_000

/** Starts a process when none lives. */
export const ensureOwner = (simulation: Simulation): void => {
  if (simulation.living().length > 0) return
  simulation.start()
  if (simulation.isHealed) setClocksRight(simulation)
}

/** How long until the death of the last process is noticed, milliseconds. */
const restartMillis = 100

/**
 * Starts a process soon if none lives. A fault that was taken before the healing may kill one after it ("crash after
 * the commit"), and no later step would start another.
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

/** Stops all faults, and makes the repairs that only an operator can. */
export const heal = (simulation: Simulation): void => {
  const { world } = simulation
  simulation.trace(() => "healed")
  simulation.isHealed = true
  simulation.faults.heal()
  simulation.outages.endAll()
  restore(simulation)
  for (const engine of simulation.living().slice(0, -1)) simulation.crash(engine, "as one too many")
  const newest = simulation.newest()
  if (newest !== undefined) {
    newest.process.resume()
    newest.owns = true
    newest.repliesUntilCrash = undefined
    world.advance(0)
    const isStopped = newest.partitions().some((partition) => partition.status._tag === "Stopped")
    if (isStopped || newest.isStopping || newest.engine === undefined)
      simulation.crash(newest, "by an operator, since it had stopped")
  }
  ensureOwner(simulation)
  setClocksRight(simulation)
  simulation.deadlines.repair()
  simulation.askPatient()
}

/** A process keeps a job for so long, milliseconds: one with a clock that is ahead keeps it for longer. */
const leaseMillis = 60_000

/** When the last open job of a worker is due. */
const latestDue = ({ stores }: Simulation): number => {
  let latest = 0
  for (const { jobs } of stores.workerJobs.values())
    for (const { dueAt, isFailed } of jobs.values()) if (!isFailed) latest = Math.max(latest, dueAt)
  return latest
}

/** Sets the clocks to a time at or after every frame that was ever written. */
const setClocksRight = (simulation: Simulation): void => {
  const last = Math.max(simulation.truth.latestFrameTime, latestDue(simulation) - leaseMillis)
  for (const { process } of simulation.living()) {
    process.clockStoppedAt = undefined
    process.clockOffset = 0
    process.clockOffset = Math.max(0, last - process.wallMillis())
  }
}

/**
 * Whether a frame came from a clock that was ahead. A frame that was under way at the healing may arrive some seconds
 * later.
 */
const isClockBehind = (simulation: Simulation): boolean => {
  const last = simulation.truth.latestFrameTime
  return simulation.living().some(({ process }) => process.wallMillis() < last)
}

/** How often an operator restarts stopped partitions after healing. */
const operatorRestarts = 2

/** Makes a healed deployment finish its work. An operator restarts partitions that have stopped for good. */
export const comeToRest = (simulation: Simulation): void => {
  simulation.world.advance(restMillis)
  const end = simulation.world.now + healingMillis
  const stopped = () => {
    const newest = simulation.newest()
    return newest?.partitions().some(({ status }) => status._tag === "Stopped") === true ? newest : undefined
  }
  for (let restarts = 0; restarts <= operatorRestarts; restarts++) {
    while (
      simulation.world.advanceUntil(
        end,
        () => isClockBehind(simulation) || isAtRest(simulation) || stopped() !== undefined || isFullForGood(simulation)
      )
    ) {
      if (isClockBehind(simulation)) setClocksRight(simulation)
      else if (isFullForGood(simulation)) {
        simulation.trace(() => "an operator raises max_bytes")
        simulation.logBytes *= 4
      } else break
    }
    const engine = stopped()
    if (engine === undefined) return
    simulation.crash(engine, "by an operator, since it had stopped")
    ensureOwner(simulation)
  }
}

/** Bytes that any frame of the workload fits in. */
const roomyBytes = 4_096

/** Whether a log is full of frames that cannot be removed, so that only more room helps. */
const isFullForGood = ({ logBytes, scenario, server, stores }: Simulation): boolean => {
  for (let partition = 0; partition < scenario.topology.partitions; partition++) {
    const { log } = server.of(partition)
    if (log.bytes + roomyBytes <= logBytes) continue
    const { records } = stores.checkpoints.of(partition)
    const cursors = [...stores.cursors.cursors.values()].filter((cursor) => cursor.partition === partition)
    const last = lastSequenceOf(log)
    const isCovered = (place: { readonly sequence: number }) => place.sequence >= last
    if (cursors.length === 0 || !cursors.every(isCovered) || !records.some(isCovered)) continue
    if ((purgeableBelow(records, cursors) ?? 0) <= log.firstSequence) return true
  }
  return false
}

/** Whether there is nothing left to wait for. */
const isAtRest = (simulation: Simulation): boolean => {
  if (simulation.server.lateFrames > 0) return false
  if (simulation.operations.some((operation) => operation.answer === undefined)) return false
  const newest = simulation.newest()
  if (newest?.engine === undefined) return false
  for (const partition of newest.partitions()) {
    if (partition.status._tag !== "Serving") return false
    // The log has a claim of a process that is gone, which this owner has yet to meet; after the third such fence it
    // stops.
    if (partition.core.head.sequence < lastSequenceOf(simulation.server.of(partition.id).log)) return false
    if (partition.core.head.signalSequence < simulation.lastSignal(partition.id)) return false
    if (!reactorIsThrough(simulation, partition.id) || !streamsAreThrough(simulation, partition)) return false
    if (partition.outbox.count > 0 || partition.outbox.readThrough.sequence < partition.core.head.sequence) return false
    // A hanging statement has kept an old checkpoint from being removed.
    if (simulation.stores.checkpoints.of(partition.id).records.length > 3) return false
  }
  if (!simulation.worker.isThrough || !workersAreThrough(simulation)) return false
  // These are sent again automatically.
  if (firstParked(simulation).some(isWaiting)) return false
  return true
}

/**
 * Whether no timer is set and the last ones have been processed. This is read from the log, because an owner's memory
 * does not show a timer whose frame is under way or that waits for its actor.
 */
export const hasNothingLeft = (simulation: Simulation): boolean =>
  isAtRest(simulation) && !simulation.truth.wantsWakes()

/** The first parked message of each sending partition and receiver. */
export const firstParked = ({ stores }: Simulation): ReadonlyArray<ParkedRecord> => {
  const first = new Map<string, ParkedRecord>()
  for (const record of stores.cursors.parked) {
    if (record.reactor !== outboxName) continue
    const name = `${record.partition}/${record.organization}`
    const before = first.get(name)
    if (before === undefined || isBefore(record, before)) first.set(name, record)
  }
  return [...first.values()]
}

const isBefore = (left: ParkedRecord, right: ParkedRecord): boolean =>
  left.sequence < right.sequence || (left.sequence === right.sequence && left.index < right.index)

/** Whether the program's ingests have decided what came, and its reactors have worked through the log. */
const streamsAreThrough = ({ stores, workload }: Simulation, partition: Partition): boolean => {
  for (const { name, stream } of workload.ingests ?? []) {
    const { read = 0, state } = partition.ingestProgress(name)
    const last = stores.streams.streams.get(stream)?.last ?? 0
    if (state !== "stopped" && (read < last || !partition.core.intake.isThrough(name))) return false
  }
  const { sequence } = partition.core.head
  return reactorsOf(workload).every(
    ({ name }) => !partition.sentBack.has(name) && partition.feed.readBy(name) >= sequence
  )
}

/** Whether the reactor has processed the last record of a log. */
const reactorIsThrough = ({ books, stores, truth }: Simulation, partition: number): boolean => {
  const commits = truth.commits[partition]!
  for (let index = commits.length - 1; index >= 0; index--) {
    const { frame, sequence } = commits[index]!
    const lastIndex = frame.records.findLastIndex(
      ({ actor, message }) => !isInternalKind(actor.kind) && message === undefined
    )
    if (lastIndex === -1) continue
    const last = `${partition}/${sequence}/${lastIndex}`
    return (
      books.entries.has(last) ||
      stores.cursors.parked.some(
        (record) => record.reactor === booksName && record.partition === partition && record.sequence === sequence
      )
    )
  }
  return true
}
