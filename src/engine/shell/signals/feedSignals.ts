/**
 * Feeds a partition's external signals into its drain, from the highest one that is in a frame (docs/architecture.md,
 * "External signals"): read in order, decided in order, so that each counts once without a set of seen ids.
 */
import { Duration, Effect, Schedule, Stream } from "effect"
import type { AnyActor } from "../../Actor.ts"
import { describe } from "../../describe.ts"
import { type Signal, signalsName } from "../../ports/Signals.ts"
import type { Partition } from "../partition/Partition.ts"
import { showParked } from "../reactors/parkRecords.ts"
import { parkFailed, parkSignal } from "./parkSignal.ts"

/** The command that a signal means. See {@link Engine.layerMemory}. */
export interface SignalCommand {
  readonly actor: AnyActor
  readonly key: string
  readonly command: unknown
}

/**
 * Turns a signal into a command; undefined ignores it. Pure. A signal on which it throws is counted and parked. See
 * {@link Engine.layerMemory}.
 */
export type SignalRule = (signal: Signal) => SignalCommand | undefined

/** By kind of signal. A signal of another kind is parked, with a metric. See {@link Engine.layerMemory}. */
export type SignalRules = Readonly<Record<string, SignalRule>>

/** Pause before a failed subscription is made again, milliseconds. */
const resubscribeMillis = 500

/** How often a warning is logged while the store of signals stays away, milliseconds. */
const warningMillis = 60_000

/**
 * Feeds signals for as long as the life lasts. A signal that its rule ignores is skipped; the next decided one covers
 * its place too. One without a meaning is parked before the next one is read.
 */
export const feedSignals = Effect.fnUntraced(function* (partition: Partition) {
  const { signals } = partition.context
  if (signals === undefined) return
  let after = partition.core.head.signalSequence
  let warnedAt: number | undefined
  const warn = (error: unknown) =>
    Effect.suspend(() => {
      const now = partition.now().monotonic
      if (warnedAt !== undefined && now - warnedAt < warningMillis) return Effect.void
      warnedAt = now
      return Effect.logWarning(`partition ${partition.id} gets no signals and subscribes again: ${describe(error)}`)
    })
  yield* showParked(partition, signalsName)
  while (true) {
    const fed = Stream.runForEach(signals.subscribe(partition.id, after), (signal) =>
      Effect.gen(function* () {
        if (signal.sequence <= after) return
        if (signal.behind !== undefined) partition.metrics.signalsBehind(signal.behind)
        const problem = take(partition, signal)
        // If it cannot be parked now, it is read again.
        if (problem !== undefined) {
          yield* parkSignal(partition, signal, problem)
          // No start reads it again, so that it is decided once, when it is tried again.
          partition.core.intake.passOver(signal.sequence)
        }
        after = signal.sequence
        yield* waitForRoom(partition)
      })
    )
    yield* Effect.ignore(Effect.tapError(fed, warn))
    yield* Effect.sleep(Duration.millis(resubscribeMillis))
  }
})

/** Parks the signals on which their actors have failed, for as long as the life lasts. */
export const parkFailedSignals = Effect.fnUntraced(function* (partition: Partition) {
  while (true) {
    yield* partition.failedSignalsWakeup.wait
    yield* Effect.retry(parkFailed(partition), Schedule.spaced(Duration.millis(resubscribeMillis)))
  }
})

/** Hands a signal to the core as its command. Returns why it means none; undefined if the rule ignores it too. */
const take = ({ core, metrics, context }: Partition, signal: Signal): string | undefined => {
  const rule = context.signalRules[signal.kind]
  if (rule === undefined) {
    metrics.unknownSignal()
    return `there is no rule for signals of the kind ${signal.kind}`
  }
  try {
    const meaning = rule(signal)
    if (meaning === undefined) return undefined
    const { actor, command, key } = meaning
    const problem = actor.commandProblem(command)
    if (problem !== undefined) {
      metrics.poison()
      return `its rule made no command of ${actor.kind}: ${problem}`
    }
    if (core.intake.signal(signal.sequence, signal.organization, actor, key, command)) return undefined
    metrics.poison()
    return `nothing of this engine is named ${actor.kind} in ${signal.organization}`
  } catch (cause) {
    metrics.poison()
    return describe(cause)
  }
}

/** Waits until more signals may be read, or messages of an ingest. */
export const waitForRoom = ({ core }: Partition, ingest?: string): Effect.Effect<void> =>
  Effect.suspend(() =>
    core.intake.admitsSignals(() => {}, ingest)
      ? Effect.void
      : Effect.callback<void>((resume) => {
          if (core.intake.admitsSignals(() => resume(Effect.void), ingest)) resume(Effect.void)
        })
  )
