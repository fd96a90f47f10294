/** Lets time pass up to a time that matters. It leaps over the time in which nothing is due. Needs no service. */
import { epochMillis } from "../kernel/World.ts"
import { lateMillis } from "./Deadlines.ts"
import type { Simulation } from "./Simulation.ts"
import { workersAreThrough, workersOwe } from "./workersAreThrough.ts"

/** Within this time an engine notices that its clock was set forth, milliseconds. */
export const noticedMillis = 62_000

/** The time that passes behind a leap of which engines are told, milliseconds: an idle minute costs more than all else. */
const toldMillis = 2_500

/** One leap in this many is one that engines notice by themselves. */
const unnoticedEvery = 10

/** The last millisecond passes in steps of this length, up to a number of them. */
const lastStepMillis = 0.25
const lastSteps = 8

/** Wakes and deadlines at which time stops on its way, at most; behind them it leaps as on a suspended machine. */
const maximumStops = 40

/** The same at the rest of a scenario, where all deadlines pass. */
const maximumRestStops = 120

/** Time behind a stop in which the engine does what is due, milliseconds. */
const doneMillis = 1_000

const wallOf = (simulation: Simulation): number => {
  const { world } = simulation
  return simulation.newest()?.process.wallMillis() ?? epochMillis + world.now + world.leapt
}

/** Wakes the partitions of living processes, which then read their clocks. */
const tellOfTime = (simulation: Simulation): void => {
  for (const engine of simulation.living()) for (const partition of engine.partitions()) partition.wakeup.notify()
}

/**
 * Lets workers end young jobs before time leaps, until they are owed. Returns the time that has passed, milliseconds.
 */
const awaitWorkers = (simulation: Simulation): number => {
  const { world } = simulation
  const isOver = () => workersAreThrough(simulation) || workersOwe(simulation, world.now - lateMillis)
  if (!simulation.deadlines.isAny || isOver()) return 0
  const begun = world.now
  world.advanceUntil(begun + lateMillis, isOver)
  return world.now - begun
}

/** Leaps over time, and lets the rest pass in which an engine notices it. */
const passBy = (simulation: Simulation, total: number, isAwake: boolean): void => {
  const millis = total > noticedMillis ? total - awaitWorkers(simulation) : total
  const isTold = simulation.passes++ % unnoticedEvery !== unnoticedEvery - 1
  const rest = isTold ? toldMillis : noticedMillis
  if (millis > noticedMillis && simulation.outside.mayLeap(millis)) {
    // An attempt of a worker and the pause between its looks take their time behind the leap: their rule is not judged
    // by the time of the leap. Only a job that had its time already holds up the judging so.
    const owesJob = workersOwe(simulation, simulation.world.now - lateMillis)
    simulation.deadlines.leap(millis - rest, isAwake && !owesJob)
    simulation.marks.reach("rule, time has jumped")
    if (isTold) tellOfTime(simulation)
  }
  simulation.world.advance(Math.max(0, millis > noticedMillis ? rest : millis))
}

/** Passes the next wakes and deadlines before a time, by the simulation's clock, one by one. */
const passStops = (simulation: Simulation, end: number): boolean => {
  const { deadlines, world } = simulation
  for (let stops = 0; stops < maximumStops && !world.isOver; stops++) {
    const stop = deadlines.nextStop()
    if (stop === undefined || stop + doneMillis >= end) return true
    passBy(simulation, stop + doneMillis - deadlines.now, true)
    deadlines.judge()
  }
  return false
}

/** Advances time until the wall clock of the newest process shows this time. */
export const passUntil = (simulation: Simulation, time: number): void => {
  const { deadlines, world } = simulation
  const wall = () => wallOf(simulation)
  if (time <= wall()) return
  simulation.marks.reach("rule, a time that matters")
  const isAwake = !deadlines.isAny || passStops(simulation, deadlines.now + time - wall())
  const ahead = time - wall()
  if (ahead <= 0) return
  passBy(simulation, ahead - 1, isAwake)
  // To the millisecond, unless the clock is stopped or another process has begun meanwhile.
  for (let step = 0; step < lastSteps && wall() < time && !world.isOver; step++) world.advance(lastStepMillis)
}

/** Lets time go on until each deadline is kept or over. Called at the rest of a scenario. */
export const awaitDeadlines = (simulation: Simulation): void => {
  const { deadlines, world } = simulation
  if (!deadlines.isAny) return
  deadlines.rest()
  for (let stops = 0; stops < maximumRestStops && !world.isOver; stops++) {
    if (deadlines.nextDeadline() === undefined) return
    passBy(simulation, deadlines.nextStop()! + doneMillis - deadlines.now, true)
    deadlines.judge()
  }
}
