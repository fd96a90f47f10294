/** Shared by reads and POSTs of the fast lane: whether a counted request passes, and how long it has taken. */
import { type Clock, Effect } from "effect"
import type { Decision } from "../../limits/rules.ts"
import type { Taken } from "../RequestState.ts"

/** Whether a request passes at once. A decision that must be waited for does not count yet. */
export const passes = (taken: Taken): taken is Decision | undefined =>
  taken === undefined || (!Effect.isEffect(taken) && taken.allowed)

export const secondsSince = (startedNanos: bigint, clock: Clock.Clock): number =>
  Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e9
