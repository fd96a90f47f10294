/**
 * Defines the port of external signals: bounces, deliveries, usage from outside, stored per partition before the engine
 * sees them (docs/architecture.md, "External signals"). Each frame records the last signal that its partition has
 * passed, which makes each signal count once. Implementations: `SignalsMemory.ts` here, JetStream with
 * `subject_transform` under `src/nats`.
 */
import { Context, Data, type Effect, type Stream } from "effect"

/** A message from outside, as its partition reads it. See {@link Journal}. */
export interface Signal {
  /** Position in the partition's signals, from 1, rising; gaps are allowed. */
  readonly sequence: number
  readonly organization: string
  /** One subject token, such as `bounce`. */
  readonly kind: string
  readonly data: Uint8Array
  /** Signals of the partition that the store had behind this one when it was read, if the store says so. */
  readonly behind?: number
}

/** The place of parked signals that mean nothing to the rules: operators use it instead of a reactor's name. */
export const signalsName = "sluice.signals"

/** The longest data of a signal, in bytes. */
export const maximumSignalBytes = 64 * 1024

/** The store of signals cannot be reached. Repeatable. See {@link Journal}. */
export class SignalsUnavailable extends Data.TaggedError("SignalsUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The store of signals from outside, by partition.
 *
 * @example
 * ```ts
 * import type { Ports } from "sluice"
 *
 * // for a program beside the engine that passes on what it hears
 * export const report = (signals: Ports.Signals["Service"], organization: string, data: Uint8Array) =>
 *   signals.publish({ organization, kind: "bounce", data })
 * ```
 */
export class Signals extends Context.Service<
  Signals,
  {
    /**
     * Subscribes to the signals of a partition after `sequence`, in order, without an end. Pulls: reads ahead by at
     * most 256 signals, so that a slow partition leaves them in the store. Ordered, each once per subscription; fails
     * when the store is away.
     */
    readonly subscribe: (partition: number, after: number) => Stream.Stream<Signal, SignalsUnavailable>

    /**
     * Stores a signal (`signal.<organization>.<kind>`), acknowledged after it is durable. A second one with the same
     * `id` within the duplicate window (2 minutes) is not stored again.
     */
    readonly publish: (signal: {
      readonly organization: string
      readonly kind: string
      readonly data: Uint8Array
      readonly id?: string | undefined
    }) => Effect.Effect<void, SignalsUnavailable>

    /**
     * Removes a partition's signals up to `through`, which is at least 1. Called only through `forgetSignals` of
     * `purge.ts`: no subscription requests these again.
     */
    readonly forget: (partition: number, through: number) => Effect.Effect<void, SignalsUnavailable>
  }
>()("sluice/engine/Signals") {}
