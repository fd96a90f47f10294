/** Performs the steps of a scenario on a simulation, faults of disks and clocks included. */

import { lastSequenceOf } from "../../engine/memory/JournalMemory.ts"
import { purgeableBelow } from "../../engine/shell/stores/purge.ts"
import { disturbedMillis } from "./Deadlines.ts"
import { commandNow } from "./drawnCommands.ts"
import { flood, insist, meet } from "./edgeCommands.ts"
import { follow } from "./Follower.ts"
import { floodOf } from "./generate.ts"
import { ensureOwner, heal } from "./heal.ts"
import { noticedMillis } from "./passUntil.ts"
import { reactorsOf, rebuild } from "./programReactors.ts"
import type { Step, Which } from "./Scenario.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"

const pick = (simulation: Simulation, which: Which): SimulatedEngine | undefined => {
  const living = simulation.living()
  return which === "older" && living.length > 1 ? living[living.length - 2] : living[living.length - 1]
}

/** Most processes that live at the same time. */
const maximumProcesses = 3

/** Lets hours or days pass without an idle engine's checks of its log meanwhile. */
export const leap = (simulation: Simulation, millis: number): void => {
  simulation.deadlines.leap(millis, false)
  simulation.world.advance(noticedMillis)
}

/** Performs one step, without advancing time. */
export const perform = (simulation: Simulation, step: Step) => {
  switch (step._tag) {
    case "Command":
      return simulation.ask(
        simulation.begin(step, commandNow(simulation, step, step.command), { isFresh: step.fresh }),
        pick(simulation, step.to)
      )
    case "Once": {
      const { command, once: key, windowMillis } = step
      // Short digests without quotes are stored as they are, others as a hash.
      const digest = JSON.stringify(command).replaceAll('"', "'")
      const once = { key, digest, ...(windowMillis === undefined ? {} : { windowMillis }) }
      return simulation.ask(simulation.begin(step, command, { once }), pick(simulation, step.to))
    }
    case "Prefetch": {
      const engine = pick(simulation, step.to)
      if (engine === undefined) return
      return simulation.prefetch(step, commandNow(simulation, step, step.command), engine)
    }
    case "Meet":
      return meet(simulation, step)
    case "Flood":
      return flood(simulation, step, floodOf(simulation, step))
    case "Insist":
      return insist(simulation, step)
    case "Repeat": {
      const before = simulation.operations[simulation.operations.length - 1 - step.back]
      if (before === undefined) return
      const target = { organization: before.organization, actor: before.kind, key: before.key }
      const { isFresh, once } = before
      const repeats = before.repeats ?? before
      return simulation.ask(simulation.begin(target, before.command, { repeats, isFresh, once }))
    }
    case "Burst":
      for (const command of step.commands) simulation.ask(simulation.begin(step, commandNow(simulation, step, command)))
      return
    case "Look": {
      const engine = pick(simulation, step.to)
      return engine === undefined ? undefined : simulation.look(step, engine)
    }
    case "Follow":
      return follow(simulation, step, pick(simulation, step.to))
    case "AskLane": {
      const engine = pick(simulation, step.to)
      return engine === undefined ? undefined : simulation.askLane(step.organization, engine)
    }
    case "Signal":
      return simulation.signal(step)
    case "Message":
      return simulation.message(step)
    case "Rebuild":
      return rebuild(simulation, step.reactor, simulation.newest())
    case "Advance":
      return simulation.world.advance(step.millis)
    case "Leap":
      return leap(simulation, step.millis)
    case "Outage":
      simulation.marks.reach(`fault, outage: ${step.of}`)
      simulation.deadlines.disturb(step.millis + disturbedMillis)
      return simulation.outages.start(step.of, step.millis)
    case "Purge":
      return purgeByHand(simulation)
    case "LoseTail":
      return loseTail(simulation, step.frames)
    case "CorruptFrame":
      return corruptFrame(simulation, step.back)
    case "Heal":
      return heal(simulation)
    default:
      return changeProcesses(simulation, step)
  }
}

/** A step that begins, ends, holds up or hurries processes, or moves their clocks. */
type ProcessStep = Extract<
  Step,
  {
    readonly _tag:
      | "Crash"
      | "Restart"
      | "Pause"
      | "Suspend"
      | "Resume"
      | "SecondOwner"
      | "ClockJump"
      | "ClockStop"
      | "ClockGo"
      | "Checkpoint"
  }
>

/** While a reactor is built anew operators start no other process (docs/reactors.md). */
const isRebuilding = (simulation: Simulation): boolean => simulation.living().some((engine) => engine.isRebuilding)

const changeProcesses = (simulation: Simulation, step: ProcessStep) => {
  switch (step._tag) {
    case "Restart": {
      if (isRebuilding(simulation)) return
      const engine = simulation.newest()
      if (engine !== undefined && !engine.isStopping) engine.stop()
      simulation.start()
      return
    }
    case "Resume":
      for (const engine of simulation.living()) engine.process.resume()
      return ensureOwner(simulation)
    case "SecondOwner": {
      if (isRebuilding(simulation)) return
      const living = simulation.living()
      if (living.length >= maximumProcesses) simulation.crash(living[0]!, "to make room")
      if (step.handover) for (const engine of living) engine.owns = false
      simulation.start()
      return
    }
    case "ClockGo":
      for (const engine of simulation.living()) engine.process.clockStoppedAt = undefined
      return
    default:
      return changeProcess(simulation, step, pick(simulation, step.which))
  }
}

const changeProcess = (
  simulation: Simulation,
  step: Extract<ProcessStep, { readonly which: Which }>,
  engine: SimulatedEngine | undefined
) => {
  switch (step._tag) {
    case "Crash":
      if (engine !== undefined) simulation.crash(engine, "by a step")
      return ensureOwner(simulation)
    case "Pause":
      if (engine !== undefined && !engine.process.paused) simulation.pause(engine)
      return
    case "Suspend":
      if (engine === undefined || engine.process.paused) return
      simulation.marks.reach("fault, clock: suspended")
      simulation.pause(engine)
      engine.process.suspend()
      return
    case "ClockJump":
      if (engine === undefined) return
      engine.process.jump(step.millis)
      simulation.deadlines.disturb(Number.POSITIVE_INFINITY)
      simulation.marks.reach(step.millis < 0 ? "fault, clock: step back" : "fault, clock: jump")
      return
    case "ClockStop":
      if (engine === undefined || engine.process.isSuspended) return
      engine.process.clockStoppedAt = engine.process.wallMillis()
      simulation.deadlines.disturb(Number.POSITIVE_INFINITY)
      simulation.marks.reach("fault, clock: stand-still")
      return
    case "Checkpoint":
      for (const partition of engine?.partitions() ?? []) partition.core.wantCheckpoint()
      return
  }
}

const purgeByHand = (simulation: Simulation): void => {
  const { stores } = simulation
  for (let partition = 0; partition < simulation.scenario.topology.partitions; partition++) {
    const cursors = [...stores.cursors.cursors.values()].filter((cursor) => cursor.partition === partition)
    // One that has not moved yet needs the log from its beginning.
    const followers = 2 + reactorsOf(simulation.workload).length + (simulation.workload.workers?.length ?? 0)
    if (cursors.length < followers) continue
    const below = purgeableBelow(stores.checkpoints.of(partition).records, cursors)
    const { log } = simulation.server.of(partition)
    if (below === undefined || below > lastSequenceOf(log) || below <= log.firstSequence) continue
    simulation.marks.reach("fault, purge by hand")
    simulation.purge(partition, below, "an operator")
  }
}

const crashAll = (simulation: Simulation, where: string): void => {
  simulation.machineOutages++
  simulation.deadlines.disturb(Number.POSITIVE_INFINITY)
  for (const engine of simulation.living()) simulation.crash(engine, where)
}

/** Removes the last frames that a checkpoint or a cursor has seen. Does nothing if there are none. */
const loseTail = (simulation: Simulation, frames: number): void => {
  const { stores } = simulation
  for (let partition = 0; partition < simulation.scenario.topology.partitions; partition++) {
    if (simulation.damaged.has(partition)) continue
    const { log } = simulation.server.of(partition)
    const witnesses = [
      ...stores.checkpoints.of(partition).records,
      ...[...stores.cursors.cursors.values()].filter((cursor) => cursor.partition === partition)
    ]
    const seen = witnesses.reduce((highest, witness) => Math.max(highest, witness.sequence), 0)
    const from = Math.max(log.firstSequence, seen - Math.max(0, frames - 1))
    if (seen < from || seen === 0) continue
    crashAll(simulation, "as the machine goes down")
    const lost = log.frames.splice(from - log.firstSequence)
    for (const frame of lost) log.bytes -= frame.bytes.length
    simulation.damaged.set(partition, { from, frames: lost, isLost: true })
    simulation.marks.reach("fault, log: tail lost below a witness")
    simulation.trace(() => `  log ${partition}: frames from ${from} on are lost`)
  }
  ensureOwner(simulation)
}

/** Changes on the disk a frame that a start must replay and that another frame follows. */
const corruptFrame = (simulation: Simulation, back: number): void => {
  for (let partition = 0; partition < simulation.scenario.topology.partitions; partition++) {
    if (simulation.damaged.has(partition)) continue
    const { log } = simulation.server.of(partition)
    const { records } = simulation.stores.checkpoints.of(partition)
    const covered = records.reduce((newest, record) => Math.max(newest, record.sequence), 0)
    const sequence = lastSequenceOf(log) - 1 - back
    if (sequence <= covered || sequence < log.firstSequence) continue
    crashAll(simulation, "as the machine goes down")
    const index = sequence - log.firstSequence
    const frame = log.frames[index]!
    const bytes = Uint8Array.from(frame.bytes)
    const at = simulation.draw.int(0, bytes.length - 1)
    bytes[at] = bytes[at]! ^ (1 << simulation.draw.int(0, 6))
    log.frames[index] = { ...frame, bytes }
    simulation.damaged.set(partition, { from: sequence, frames: [frame], isLost: false })
    simulation.marks.reach("fault, log: corrupted frame")
    simulation.trace(() => `  log ${partition}: byte ${at} of frame ${sequence} has changed`)
  }
  ensureOwner(simulation)
}

const meetingOf = ({ afterMillis, edgeMillis, time }: Extract<Step, { readonly _tag: "Meet" }>): string =>
  `${afterMillis + edgeMillis} ms after time ${time} of its state`

/** A step as a person reads it. */
export const describeStep = (step: Step): string => {
  const { _tag, ...rest } = step
  switch (step._tag) {
    case "Command":
      return `${step.actor} ${step.key} of ${step.organization}: ${JSON.stringify(step.command)}${step.to === "older" ? ", asked of the older process" : ""}`
    case "Meet":
      return `${step.actor} ${step.key} of ${step.organization}: ${JSON.stringify(step.command)}, ${meetingOf(step)}`
    case "Insist":
      return `${step.count} for ${step.actor} ${step.key} of ${step.organization}, each a millisecond before it is woken: ${JSON.stringify(step.commands)}`
    case "Burst":
      return `${step.commands.length} at once for ${step.actor} ${step.key} of ${step.organization}: ${JSON.stringify(step.commands)}`
    default:
      return Object.keys(rest).length === 0 ? _tag : `${_tag} ${JSON.stringify(rest)}`
  }
}
