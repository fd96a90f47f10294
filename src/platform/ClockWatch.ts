/**
 * Compares this machine's clock with those of PostgreSQL and NATS, at the start and each minute, and immediately when
 * it is set (docs/architecture.md, rule 7). While it is ahead of every one that answers by more than five seconds, no
 * partition is served here. It reads the machine's clock, whatever clock the program uses. Needs `SqlClient` and
 * `NatsConnection`.
 */
import { Effect, Layer, Metric, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { ClockGuard } from "../engine/ports/ClockGuard.ts"
import { NatsConnection } from "../nats/connection.ts"
import { serverTime } from "../nats/serverTime.ts"

/** How far ahead a clock may be. */
export const maximumAheadMillis = 5_000
/** How often it is compared, and how often a change of it is looked for. */
const compareMillis = 60_000
const lookMillis = 1_000
/** A clock that has gained this much on the steady one was set, or the machine was suspended. */
const setMillis = 1_000
/** How long a reference may take. */
const answerMillis = 2_000

/** How far this clock was ahead of another when that one was read, at least. */
export interface Sample {
  readonly reference: "PostgreSQL" | "NATS"
  readonly aheadMillis: number
}

const seconds = (millis: number): string => `${Math.round(millis / 100) / 10} s`
const each = (samples: ReadonlyArray<Sample>): string =>
  samples.map(({ aheadMillis, reference }) => `${reference} by ${seconds(aheadMillis)}`).join(" and ")

/** The fault of this clock; undefined while one of the others agrees with it, and while none answers. */
export const clockProblem = (samples: ReadonlyArray<Sample>): string | undefined =>
  samples.length > 0 && samples.every(({ aheadMillis }) => aheadMillis > maximumAheadMillis)
    ? `the clock of this machine is ahead of ${each(samples)}: set it right (chronyc makestep, or timedatectl set-ntp true), and partitions are served again by themselves`
    : undefined

/** Warns, although partitions are served, that another clock is wrong. */
export const clockDoubt = (samples: ReadonlyArray<Sample>): string | undefined => {
  const off = samples.filter(({ aheadMillis }) => Math.abs(aheadMillis) > maximumAheadMillis)
  return off.length === 0 || clockProblem(samples) !== undefined
    ? undefined
    : `clocks differ: that of this machine is ahead of ${each(off)} (less than 0 s: behind it); look at all of them`
}

/** Whether a clock was set since it was compared: it has moved differently from the steady one. */
export const wasSet = (
  then: { readonly wall: number; readonly steady: number },
  now: { readonly wall: number; readonly steady: number }
): boolean => Math.abs(now.wall - then.wall - (now.steady - then.steady)) > setMillis

const aheadGauge = (reference: Sample["reference"]) =>
  Metric.gauge("sluice_clock_ahead_seconds", {
    description: "How far this machine's clock is ahead of another one, by `reference`; less than 0 behind it",
    attributes: { reference }
  })

export interface ClockWatchOptions {
  /** Put before the names of streams. */
  readonly namespace?: string | undefined
  /** This machine's clock. */
  readonly wall?: () => number
}

const make = Effect.fnUntraced(function* ({ namespace, wall = Date.now }: ClockWatchOptions) {
  const sql = yield* SqlClient.SqlClient
  const { client } = yield* NatsConnection
  const found = yield* Ref.make<string | undefined>(undefined)
  let doubt: string | undefined
  let compared = { wall: wall(), steady: performance.now() }

  // Read before the question is sent: the other clock moves meanwhile, so a slow answer makes no clock appear ahead.
  const sample = <E>(reference: Sample["reference"], theirs: Effect.Effect<number | undefined, E>) =>
    Effect.suspend(() => {
      const own = wall()
      return Effect.map(
        theirs,
        (millis): ReadonlyArray<Sample> => (millis === undefined ? [] : [{ reference, aheadMillis: own - millis }])
      )
    }).pipe(
      Effect.timeout(answerMillis),
      Effect.catch(() => Effect.succeed<ReadonlyArray<Sample>>([]))
    )
  const database = Effect.map(
    sql<{ readonly now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
    ([row]) => row?.now
  )

  const compare = Effect.gen(function* () {
    compared = { wall: wall(), steady: performance.now() }
    const samples = [
      ...(yield* sample("PostgreSQL", database)),
      ...(yield* sample("NATS", serverTime(client, namespace)))
    ]
    for (const { aheadMillis, reference } of samples) yield* Metric.update(aheadGauge(reference), aheadMillis / 1_000)
    // Without an answer the last finding counts.
    if (samples.length === 0) return
    const before = yield* Ref.get(found)
    const problem = clockProblem(samples)
    yield* Ref.set(found, problem)
    if (problem !== undefined && before === undefined) yield* Effect.logError(`No partition is served: ${problem}`)
    if (problem === undefined && before !== undefined)
      yield* Effect.logInfo("The clock of this machine is right again: partitions are served")
    const doubted = clockDoubt(samples)
    if (doubted !== undefined && doubt === undefined) yield* Effect.logWarning(doubted)
    doubt = doubted
  })

  yield* compare
  const look = Effect.suspend(() => {
    const now = { wall: wall(), steady: performance.now() }
    const isDue = now.steady - compared.steady >= compareMillis || wasSet(compared, now)
    return isDue || Ref.getUnsafe(found) !== undefined ? compare : Effect.void
  })
  yield* Effect.sleep(lookMillis).pipe(Effect.andThen(look), Effect.forever, Effect.forkScoped)
  return {
    problem: () =>
      Ref.getUnsafe(found) ??
      // A clock that was just set forward decides nothing until it has been compared.
      (wall() - compared.wall - (performance.now() - compared.steady) > maximumAheadMillis
        ? "the clock of this machine was set forward, and is being compared with others"
        : undefined)
  }
})

/** Puts the guard under the engine. */
export const layerClockWatch = (options: ClockWatchOptions) => Layer.effect(ClockGuard, make(options))
