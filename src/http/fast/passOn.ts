/** Decides for reads and POSTs of the fast lane whether a counted request passes, and how long it has taken. */
import { type Clock, Effect } from "effect"
import type { RateDecision, RateResult } from "../RequestState.ts"

/** Whether a request passes immediately; a decision that needs a wait is not one yet. */
export const passes = (taken: RateResult): taken is RateDecision | undefined =>
  taken === undefined || (!Effect.isEffect(taken) && taken.allowed)

export const secondsSince = (startedNanos: bigint, clock: Clock.Clock): number =>
  Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e9
