/**
 * The port of external signals: bounces, deliveries, usage from outside, stored per partition before the engine sees
 * them (docs/architecture.md, "External signals"). Each frame says up to which signal its partition has
 * come, which makes each signal count once. Implementations: `SignalsMemory.ts` here, JetStream with
 * `subject_transform` under `src/nats`.
 */
import { Context, Data, type Effect, type Stream } from "effect"

export interface Signal {
  /** Position in the partition's signals, from 1, rising; gaps are allowed. */
  readonly sequence: number
  readonly organization: string
  /** One subject token, such as `bounce`. */
  readonly kind: string
  readonly data: Uint8Array
  /** How many signals of the partition the store had behind this one when it was read; where the store says so. */
  readonly behind?: number
}

/** Where signals are parked that mean nothing to the rules: what operators call it in place of a reactor's name. */
export const signalsName = "sluice.signals"

/** The longest data of a signal, in bytes. */
export const maximumSignalBytes = 64 * 1024

export class SignalsUnavailable extends Data.TaggedError("SignalsUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export class Signals extends Context.Service<
  Signals,
  {
    /**
     * Signals of a partition after `sequence`, in order, without an end. Pulls: reads ahead by at most 256 signals, so that a partition that
     * does not take them holds them back in the store. Ordered, each once per subscription; fails when the store is away.
     */
    readonly subscribe: (partition: number, after: number) => Stream.Stream<Signal, SignalsUnavailable>

    /**
     * Stores a signal (`signal.<organization>.<kind>`), acknowledged after it is durable. A second one with the same `id` within the duplicate
     * window (2 minutes) is not stored again.
     */
    readonly publish: (signal: {
      readonly organization: string
      readonly kind: string
      readonly data: Uint8Array
      readonly id?: string | undefined
    }) => Effect.Effect<void, SignalsUnavailable>

    /**
     * Removes a partition's signals up to `through`, which is at least 1. Called only through `forgetSignals` of
     * `purge.ts`: a subscription never asks for these again.
     */
    readonly forget: (partition: number, through: number) => Effect.Effect<void, SignalsUnavailable>
  }
>()("sluice/engine/Signals") {}
