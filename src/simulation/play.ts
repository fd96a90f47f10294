/**
 * Plays a scenario: the safety phase with its faults, then everything is healed and must come to rest (liveness). The same scenario plays the
 * same each time; nothing of it touches the real clock or a real event loop.
 */

import { emptyLogHash } from "../engine/Checkpoints.ts"
import { encodeClaim, FrameBuilder, hashOf, identityOf } from "../engine/frame.ts"
import { lastSequenceOf } from "../engine/JournalMemory.ts"
import { purgeableBelow } from "../engine/purge.ts"
import type { Sabotage } from "../engine/sabotage.ts"
import type { Checker } from "./Checker.ts"
import { engineCheckers } from "./checkers/index.ts"
import type { Marks } from "./Marks.ts"
import { Prng } from "./Prng.ts"
import type { Scenario, Step, Which } from "./Scenario.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import { Simulation, type Violation } from "./Simulation.ts"
import type { Workload } from "./Workload.ts"
import { epochMillis, RunawaySimulation } from "./World.ts"

export interface PlayOptions {
  /** Rules of the engine that are switched off, to prove that the checkers notice. */
  readonly sabotage?: ReadonlySet<Sabotage>
  /** Whether the readable trace is kept; costs time. */
  readonly isTraced?: boolean
  /** Instead of those of the engine. */
  readonly checkers?: ReadonlyArray<Checker>
}

/** How a scenario went. */
export interface Outcome {
  /** The first thing that a checker found. */
  readonly violation: Violation | undefined
  readonly marks: Marks
  /** Equal for equal courses of events. */
  readonly fingerprint: string
  /** Empty unless it was asked for. */
  readonly trace: ReadonlyArray<string>
  /** Index of the step after which it was found; undefined for none or after healing. */
  readonly failedStep: number | undefined
}

/** Virtual time that a healed deployment gets to come to rest, milliseconds. */
const healingMillis = 240_000

/** What is under way at rest has ended after this. */
const restMillis = 3_000

/** How long a healed deployment goes on while it has timers, before its end is judged: timers notice a clock that was set after a minute at the latest. */
const settlingMillis = 65_000

/** Plays one scenario from beginning to end. */
export const play = (scenario: Scenario, workload: Workload, options: PlayOptions = {}): Outcome => {
  const simulation = new Simulation(scenario, workload, {
    checkers: options.checkers ?? engineCheckers,
    ...(options.sabotage === undefined ? {} : { sabotage: options.sabotage }),
    isTraced: options.isTraced ?? false
  })
  let failedStep: number | undefined
  // nobody reads the stacks of the errors that faults cause, and taking them is a good part of the time
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    seedOldFrames(simulation)
    simulation.start()
    simulation.world.advance(200)
    const pace = new Prng(scenario.seed, "pace")
    for (const [index, step] of scenario.steps.entries()) {
      simulation.trace(() => `step ${index}: ${describeStep(step)}`)
      perform(simulation, step)
      passTime(simulation, pace)
      simulation.rested()
      if (simulation.violations.length > 0) {
        failedStep = index
        break
      }
    }
    if (simulation.violations.length === 0) {
      heal(simulation)
      comeToRest(simulation)
      simulation.world.advance(restMillis)
      simulation.world.advanceUntil(simulation.world.now + settlingMillis, () => hasNothingLeft(simulation))
      simulation.world.advance(restMillis)
      simulation.rested()
      simulation.healed()
    }
  } catch (error) {
    if (!(error instanceof RunawaySimulation)) throw error
    simulation.violate("comes to rest", error.message)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  for (const mark of appendMarksOf(simulation)) simulation.marks.reach(mark)
  const heads = simulation.truth.commits.map((commits) => commits[commits.length - 1]?.hash ?? "").join(" ")
  return {
    violation: simulation.violations[0],
    marks: simulation.marks,
    fingerprint: `${simulation.world.tasksRun} ${simulation.world.now} ${heads}`,
    trace: simulation.lines,
    failedStep
  }
}

/** Steps follow each other at once, after some tasks, or after some time. */
const passTime = ({ world }: Simulation, pace: Prng): void => {
  const kind = pace.next()
  if (kind < 0.3) world.run(pace.int(0, 12))
  else if (kind < 0.8) world.advance(pace.next() * 2)
  else world.advance(pace.next() * 30)
}

const pick = (simulation: Simulation, which: Which): SimulatedEngine | undefined => {
  const living = simulation.living()
  return which === "older" && living.length > 1 ? living[living.length - 2] : living[living.length - 1]
}

/** Processes that live at the same time, at most. */
const maximumProcesses = 3

const perform = (simulation: Simulation, step: Step) => {
  const { world } = simulation
  switch (step._tag) {
    case "Command":
      return simulation.ask(simulation.begin(step, step.command), pick(simulation, step.to))
    case "Repeat": {
      const before = simulation.operations[simulation.operations.length - 1 - step.back]
      if (before === undefined) return
      const target = { organization: before.organization, actor: before.kind, key: before.key }
      return simulation.ask(simulation.begin(target, before.command, before.repeats ?? before))
    }
    case "Burst":
      for (const command of step.commands) simulation.ask(simulation.begin(step, command))
      return
    case "Look": {
      const engine = pick(simulation, step.to)
      return engine === undefined ? undefined : simulation.look(step, engine)
    }
    case "AskLane": {
      const engine = pick(simulation, step.to)
      return engine === undefined ? undefined : simulation.askLane(step.organization, engine)
    }
    case "Signal":
      return simulation.signal(step.organization, step.amount)
    case "Advance":
      return world.advance(step.millis)
    case "Crash": {
      const engine = pick(simulation, step.which)
      if (engine !== undefined) simulation.crash(engine, "by a step")
      return ensureOwner(simulation)
    }
    case "Restart": {
      const engine = simulation.newest()
      if (engine !== undefined && !engine.isStopping) engine.stop()
      simulation.start()
      return
    }
    case "Pause": {
      const engine = pick(simulation, step.which)
      if (engine !== undefined && !engine.process.paused) simulation.pause(engine)
      return
    }
    case "Resume":
      for (const engine of simulation.living()) engine.process.resume()
      return ensureOwner(simulation)
    case "SecondOwner": {
      const living = simulation.living()
      if (living.length >= maximumProcesses) simulation.crash(living[0]!, "to make room")
      if (step.handover) for (const engine of living) engine.owns = false
      simulation.start()
      return
    }
    case "ClockJump": {
      const engine = pick(simulation, step.which)
      if (engine === undefined) return
      engine.process.clockOffset += step.millis
      simulation.marks.reach(step.millis < 0 ? "fault, clock: step back" : "fault, clock: jump")
      return
    }
    case "ClockStop": {
      const engine = pick(simulation, step.which)
      if (engine === undefined) return
      engine.process.clockStoppedAt = engine.process.wallMillis()
      simulation.marks.reach("fault, clock: stand-still")
      return
    }
    case "ClockGo":
      for (const engine of simulation.living()) engine.process.clockStoppedAt = undefined
      return
    case "Outage":
      simulation.marks.reach(`fault, outage: ${step.of}`)
      return simulation.startOutage(step.of, step.millis)
    case "Checkpoint":
      for (const partition of pick(simulation, step.which)?.engine?.local.values() ?? []) {
        partition.checkpointDue = true
        partition.wakeup.notify()
      }
      return
    case "Purge":
      return purgeByHand(simulation)
    case "LoseTail":
      return loseTail(simulation, step.frames)
    case "CorruptFrame":
      return corruptFrame(simulation, step.back)
    case "Heal":
      return heal(simulation)
  }
}

/** Somebody starts a process when none lives. */
const ensureOwner = (simulation: Simulation): void => {
  if (simulation.living().length === 0) simulation.start()
}

const purgeByHand = (simulation: Simulation): void => {
  const { stores } = simulation
  for (let partition = 0; partition < simulation.scenario.topology.partitions; partition++) {
    const cursors = [...stores.cursors.cursors.values()].filter((cursor) => cursor.partition === partition)
    if (cursors.length === 0) continue
    const below = purgeableBelow(stores.checkpoints.of(partition).records, cursors, new Set())
    const { log } = simulation.server.of(partition)
    if (below === undefined || below > lastSequenceOf(log) || below <= log.firstSequence) continue
    simulation.marks.reach("fault, purge by hand")
    simulation.purge(partition, below, "an operator")
  }
}

const crashAll = (simulation: Simulation, where: string): void => {
  simulation.machineOutages++
  for (const engine of simulation.living()) simulation.crash(engine, where)
}

/** The last frames that a checkpoint or a cursor has seen go. Nothing happens where nobody has seen any. */
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

/** A frame that a start must replay, and that another one follows, changes on the disk. */
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
const heal = (simulation: Simulation): void => {
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
const comeToRest = (simulation: Simulation): void => {
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
    simulation.start()
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
    if (partition.head.signalSequence < simulation.stores.signals.lists[partition.id]!.length) return false
    if (!reactorIsThrough(simulation, partition.id)) return false
  }
  return true
}

/** No timer is set, and what the last ones did has come through. */
const hasNothingLeft = (simulation: Simulation): boolean =>
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

/** Frames of an older version of the program. */
const seedOldFrames = (simulation: Simulation): void => {
  const { scenario, stores, workload } = simulation
  const { oldFacts } = workload
  if (scenario.topology.oldFrames === 0 || oldFacts === undefined) return
  for (let partition = 0; partition < scenario.topology.partitions; partition++) {
    const log = stores.journal.log(partition)
    let previousHash = emptyLogHash
    const add = (encode: (header: Parameters<typeof encodeClaim>[0]) => Uint8Array) => {
      const number = log.frames.length + 1
      const bytes = encode({ epoch: 1, number, now: epochMillis - 1_000 + number, previousHash, signalSequence: 0 })
      previousHash = hashOf(bytes)
      log.frames.push({ sequence: number, identity: identityOf(partition, 1, number), bytes })
      log.bytes += bytes.length
      simulation.committed(partition, log.frames[log.frames.length - 1]!, undefined, [])
    }
    add((header) => encodeClaim(header, "an older program"))
    for (let index = 0; index < scenario.topology.oldFrames; index++) {
      const old = oldFacts(index)
      if (simulation.partitionOf(old.organization) !== partition) continue
      add((header) => {
        const builder = new FrameBuilder()
        const text = JSON.stringify(old.fact)
        builder.addFact(builder.addActor(old.kind, old.version, old.organization, old.key), text, text.length)
        return builder.encode(header)
      })
    }
    simulation.marks.reach("fault, log: frames of an older version")
  }
}

/** The branches of rule 2 that were taken, from the engine's own metric. */
const appendMarksOf = function* (simulation: Simulation): Generator<string> {
  for (const metric of simulation.world.metrics.values()) {
    if (metric.id !== "sluice_append_outcomes_total") continue
    const branch = (metric.attributes as Readonly<Record<string, string>> | undefined)?.branch
    if (branch !== undefined) yield `append, ${branch}`
  }
}

/** A step as a person reads it. */
export const describeStep = (step: Step): string => {
  const { _tag, ...rest } = step
  switch (step._tag) {
    case "Command":
      return `${step.actor} ${step.key} of ${step.organization}: ${JSON.stringify(step.command)}${step.to === "older" ? ", asked of the older process" : ""}`
    case "Burst":
      return `${step.commands.length} at once for ${step.actor} ${step.key} of ${step.organization}: ${JSON.stringify(step.commands)}`
    default:
      return Object.keys(rest).length === 0 ? _tag : `${_tag} ${JSON.stringify(rest)}`
  }
}
