/**
 * Sends commands at times that matter, and floods of commands, for a simulation of unknown rules. The times come from
 * the actors' own states, and from the beginnings of hours, days and months. Needs no service.
 */
import { epochMillis } from "../kernel/World.ts"
import { commandNow } from "./drawnCommands.ts"
import { passUntil } from "./passUntil.ts"
import type { Step } from "./Scenario.ts"
import type { Simulation } from "./Simulation.ts"
import type { ActorHistory } from "./Truth.ts"

// Finds a state that grows without a bound by its trend, long before it is too large for the engine. Pure.

/** The size of a state in characters of JSON, after a number of decisions. */
export interface SizeAt {
  readonly decisions: number
  readonly size: number
}

/** Least growth that counts, in characters for each decision: a number that gets longer stays below. */
const leastGrowth = 1

/** The part of its earlier growth that a state without a bound keeps. */
const keptGrowth = 0.8

/** The part of the commands that must have been decided: a rule that has taken few has not shown its bound. */
const decidedPart = 0.9

/**
 * The growth for each decision, if the sizes show no sign of a bound; undefined if they do. `commands` were asked between
 * two sizes.
 */
export const growthOf = (sizes: ReadonlyArray<SizeAt>, commands: number): number | undefined => {
  const growths = sizes.slice(1).map(({ decisions, size }, index) => {
    const before = sizes[index]!
    const between = decisions - before.decisions
    return between < decidedPart * commands ? 0 : (size - before.size) / between
  })
  const [first, last] = [growths[0], growths.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return growths.every((growth) => growth >= leastGrowth) && last >= keptGrowth * first ? last : undefined
}

const minuteMillis = 60_000
const hourMillis = 60 * minuteMillis
const dayMillis = 24 * hourMillis

/** Usual lengths of windows, deadlines and pauses. */
export const usualAfter: ReadonlyArray<number> = [
  0,
  1_000,
  minuteMillis,
  15 * minuteMillis,
  hourMillis,
  dayMillis,
  7 * dayMillis,
  30 * dayMillis
]

/** How far a number may be from the simulation's time to count as one, milliseconds: 30 years. */
const nearMillis = 30 * 365 * dayMillis

/** Concurrent commands of a flood, and the pause before the next ones, milliseconds. */
const floodedAtOnce = 32
const floodPauseMillis = 5

const isNear = (millis: number): boolean => Math.abs(millis - epochMillis) <= nearMillis

/** A text that is a point in time, as JSON has dates. */
const isDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

const millisOf = (value: unknown): number | undefined => {
  const millis = typeof value === "string" && isDate.test(value) ? Date.parse(value) : value
  if (typeof millis !== "number" || !Number.isFinite(millis)) return undefined
  if (isNear(millis)) return Math.ceil(millis)
  // Some keep seconds.
  return isNear(millis * 1_000) ? Math.ceil(millis * 1_000) : undefined
}

const collect = (value: unknown, into: Set<number>): void => {
  const millis = millisOf(value)
  if (millis !== undefined) into.add(millis)
  else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) collect(part, into)
}

/** The times in an actor's state, the latest first. */
const timesOf = ({ actor, moments }: ActorHistory): ReadonlyArray<number> => {
  const last = moments[moments.length - 1]!
  const times = new Set<number>()
  collect(JSON.parse(last.json), times)
  const wakeAt = actor.options.wakeAt?.(last.state)
  if (wakeAt !== undefined && Number.isFinite(wakeAt)) times.add(wakeAt)
  return [...times].sort((left, right) => right - left)
}

/** The beginnings of the next hour, day and month. */
const beginnings = (now: number): readonly [number, number, number] => {
  const date = new Date(now)
  return [
    (Math.floor(now / hourMillis) + 1) * hourMillis,
    (Math.floor(now / dayMillis) + 1) * dayMillis,
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  ]
}

/**
 * The time that a number stands for. It stays that one when earlier times leave the state, as they do while a scenario
 * is made small.
 */
const timeOf = (history: ActorHistory, number: number, now: number): number => {
  const next = beginnings(now)
  return timesOf(history)[number] ?? next[number % next.length]!
}

/** Asks a command at a time that matters. */
export const meet = (simulation: Simulation, step: Extract<Step, { readonly _tag: "Meet" }>): void => {
  const { actor: kind, afterMillis, command, edgeMillis, key, organization, time } = step
  const now = simulation.newest()?.process.wallMillis()
  if (now !== undefined) {
    const history = simulation.truth.history({ organization, kind, key })
    passUntil(simulation, timeOf(history, time, now) + afterMillis + edgeMillis)
  }
  simulation.ask(simulation.begin(step, commandNow(simulation, step, command)))
}

/** Asks commands of an actor that keeps it from being woken, if any can: each comes a millisecond before its wake. */
export const insist = (simulation: Simulation, step: Extract<Step, { readonly _tag: "Insist" }>): void => {
  const { actor: kind, commands, count, key, organization } = step
  const { actor, moments } = simulation.truth.history({ organization, kind, key })
  for (let number = 0; number < count && simulation.violations.length === 0; number++) {
    const wakeAt = actor.options.wakeAt?.(moments.at(-1)!.state)
    if (wakeAt !== undefined) passUntil(simulation, wakeAt - 1)
    simulation.ask(simulation.begin(step, commandNow(simulation, step, commands[number % commands.length])))
    simulation.world.advance(floodPauseMillis)
    simulation.deadlines.judge()
  }
}

/** Fewer commands say nothing about a trend. */
const fewestOfTrend = 50

/** Asks the commands of a flood from one number to another, some at a time. */
const askMany = (
  simulation: Simulation,
  step: Step & { readonly _tag: "Flood" },
  commands: ReadonlyArray<unknown>,
  { from, to }: { readonly from: number; readonly to: number }
): void => {
  for (let next = from; next < to && simulation.violations.length === 0; next += floodedAtOnce) {
    const end = Math.min(to, next + floodedAtOnce)
    for (let at = next; at < end; at++) simulation.ask(simulation.begin(step, commands[at % commands.length]))
    simulation.world.advance(floodPauseMillis)
  }
}

/**
 * Asks the commands of a flood. A state that still grows in its second half is asked as many commands again: it has a
 * bound only if its growth slows down.
 */
export const flood = (
  simulation: Simulation,
  step: Step & { readonly _tag: "Flood" },
  commands: ReadonlyArray<unknown>
): void => {
  const { actor: kind, count, key, organization } = step
  const { moments } = simulation.truth.history({ organization, kind, key })
  const half = Math.ceil(count / 2)
  const sizes: Array<SizeAt> = []
  const askHalf = (number: number) => {
    askMany(simulation, step, commands, { from: number * half, to: (number + 1) * half })
    sizes.push({ decisions: moments.length, size: moments.at(-1)!.json.length })
  }
  askHalf(0)
  askHalf(1)
  if (count < fewestOfTrend || growthOf(sizes, half) === undefined) return
  askHalf(2)
  askHalf(3)
  const growth = growthOf(sizes, half)
  if (growth === undefined || simulation.violations.length > 0) return
  const { decisions, size } = sizes.at(-1)!
  simulation.violate(
    "rules hold",
    `the state of ${kind} ${JSON.stringify(key)} of ${organization} has no bound: it grows by ${growth.toFixed(1)} characters for each decision, and is at ${size} after ${decisions}`
  )
}
