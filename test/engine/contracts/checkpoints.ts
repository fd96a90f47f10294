/** The contract of `Checkpoints`, for every implementation. */
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
import type { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import { patienceMillis } from "../../support/patience.ts"
import { keys } from "./checkpointsKeys.ts"
import { removals } from "./checkpointsRemovals.ts"
import { savesAndLoads } from "./checkpointsSaves.ts"
import { timers } from "./checkpointsTimers.ts"

export const checkpointsContract = <E>(name: string, checkpoints: Layer.Layer<Checkpoints, E>): void => {
  layer(checkpoints, { excludeTestServices: true, timeout: patienceMillis })(`Checkpoints: ${name}`, (it) => {
    savesAndLoads(it)
    keys(it)
    timers(it)
    removals(it)
  })
}
