/**
 * Feeds a partition's external signals into its drain, from the highest one that is in a frame (docs/architecture.md,
 * "External signals"): read in order, decided in order, so that each counts once without a set of seen ids.
 */
import { Duration, Effect, Stream } from "effect"
import type { AnyActor } from "../Actor.ts"
import { describe } from "../describe.ts"
import type { Signal } from "../Signals.ts"
import type { Partition } from "./Partition.ts"

/** The command that a signal means. */
export interface SignalCommand {
  readonly actor: AnyActor
  readonly key: string
  readonly command: unknown
}

/**
 * Turns a signal into a command; undefined ignores it. Pure. A signal for which it throws is counted and passed over.
 */
export type SignalRule = (signal: Signal) => SignalCommand | undefined

/** By kind of signal. A signal of another kind is passed over, with a metric. */
export type SignalRules = Readonly<Record<string, SignalRule>>

/** Pause before a failed subscription is made again, milliseconds. */
const resubscribeMillis = 500

/** How often a warning is logged while the store of signals stays away, milliseconds. */
const warningMillis = 60_000

/**
 * Feeds signals for as long as the life lasts. Signals that mean nothing are skipped; the next one that is decided
 * stands for their place too.
 */
export const feedSignals = Effect.fnUntraced(function* (partition: Partition) {
  const { signals } = partition.parts
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
  while (true) {
    const fed = Stream.runForEach(signals.subscribe(partition.id, after), (signal) =>
      Effect.suspend(() => {
        if (signal.sequence <= after) return Effect.void
        after = signal.sequence
        if (signal.behind !== undefined) partition.metrics.signalsBehind(signal.behind)
        take(partition, signal)
        return waitForRoom(partition)
      })
    )
    yield* Effect.ignore(Effect.tapError(fed, warn))
    yield* Effect.sleep(Duration.millis(resubscribeMillis))
  }
})

/** Hands a signal to the core as the command that it means. */
const take = ({ core, metrics, parts }: Partition, signal: Signal): void => {
  try {
    const rule = parts.signalRules[signal.kind]
    if (rule === undefined) {
      metrics.unknownSignal()
      return
    }
    const meaning = rule(signal)
    if (meaning === undefined) return
    const { actor, command, key } = meaning
    if (!core.intake.signal(signal.sequence, signal.organization, actor, key, command)) metrics.poison()
  } catch {
    metrics.poison()
  }
}

const waitForRoom = ({ core }: Partition): Effect.Effect<void> =>
  Effect.suspend(() =>
    core.intake.admitsSignals(() => {})
      ? Effect.void
      : Effect.callback<void>((resume) => {
          if (core.intake.admitsSignals(() => resume(Effect.void))) resume(Effect.void)
        })
  )
