/**
 * Feeds a partition's external signals into its drain, from the highest one that is in a frame (architecture, "External signals"): read in order,
 * decided in order, so that each counts once without a set of seen ids.
 */
import { Duration, Effect, Stream } from "effect"
import type { AnyActor } from "./Actor.ts"
import { Entry } from "./memory.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"
import type { Signal } from "./Signals.ts"

/** The command that a signal means. */
export interface SignalCommand {
  readonly actor: AnyActor
  readonly key: string
  readonly command: unknown
}

/** Turns a signal into a command; undefined ignores it. Pure. What throws counts as poison and is passed over. */
export type SignalRule = (signal: Signal) => SignalCommand | undefined

/** By kind of signal. A signal of another kind is passed over, with a metric. */
export type SignalRules = Readonly<Record<string, SignalRule>>

/** Pause before a failed subscription is made again, milliseconds. */
const resubscribeMillis = 500

/** A store of signals that stays away is warned of once in so long. */
const warningNanos = 60_000_000_000n

/** Signals that mean nothing are decided by nobody; their place is remembered with the next one that is. */
export const feedSignals = Effect.fnUntraced(function* (partition: Partition) {
  const { signals } = partition.parts
  if (signals === undefined) return
  const deduplicates = !partition.parts.sabotage.has("signals-not-deduplicated")
  let after = deduplicates ? partition.head.signalSequence : 0
  let warnedAt: bigint | undefined
  const warn = (error: unknown) =>
    Effect.suspend(() => {
      const now = partition.nanos()
      if (warnedAt !== undefined && now - warnedAt < warningNanos) return Effect.void
      warnedAt = now
      return Effect.logWarning(`partition ${partition.id} gets no signals and subscribes again: ${describe(error)}`)
    })
  while (true) {
    const fed = Stream.runForEach(signals.subscribe(partition.id, after), (signal) =>
      Effect.suspend(() => {
        if (deduplicates && signal.sequence <= after) return Effect.void
        after = signal.sequence
        const entry = entryOf(partition, signal)
        if (entry === undefined) return Effect.void
        partition.signals.add(entry)
        partition.wakeup.notify()
        return partition.signals.hasRoom ? Effect.void : waitForRoom(partition)
      })
    )
    yield* Effect.ignore(Effect.tapError(fed, warn))
    yield* Effect.sleep(Duration.millis(resubscribeMillis))
  }
})

const entryOf = (partition: Partition, signal: Signal): Entry | undefined => {
  const { memory, metrics, parts } = partition
  try {
    const rule = parts.signalRules[signal.kind]
    if (rule === undefined) throw new Error(`no rule for signals of kind ${signal.kind}`)
    const meaning = rule(signal)
    if (meaning === undefined) return undefined
    const actorIndex = parts.registry.actorIndex(meaning.actor.kind)
    if (actorIndex < 0) throw new Error(`${meaning.actor.kind} is not an actor of this engine`)
    const organization = memory.organization(signal.organization)
    if (organization === undefined) throw new Error("its organization has no name that one can have")
    const entry = new Entry(organization, meaning.actor, actorIndex, meaning.key, meaning.command, undefined)
    entry.signalSequence = signal.sequence
    return entry
  } catch {
    metrics.poison()
    return undefined
  }
}

const waitForRoom = (partition: Partition): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const { signals } = partition
    signals.onRoom = () => {
      signals.onRoom = undefined
      resume(Effect.void)
    }
    return Effect.sync(() => {
      signals.onRoom = undefined
    })
  })
