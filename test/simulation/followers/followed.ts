/** The engine's own workload with programs that follow its actors. */

import type { Workload } from "../../../src/simulation/engine/Workload.ts"
import { Account, bank } from "../bank/bank.ts"
import { missNothing } from "./missNothing.ts"

/**
 * The workload that the engine's followers are proved with.
 *
 * @example
 * ```ts
 * import { campaign, followed } from "sluice/simulation"
 *
 * console.log(campaign(followed, { seed: 1, seeds: 1, steps: 20 }).failure) // undefined
 * ```
 */
export const followed: Workload = {
  ...bank,
  name: "followers",
  follows: [Account],
  checkers: [...bank.checkers, missNothing]
}

/** What a campaign over this workload must have reached. See {@link followed}. */
export const requiredFollowerMarks: ReadonlyArray<string> = [
  "follower, given a fact",
  "follower, shown a state",
  "follower, listed keys",
  "follower, went on",
  "follower, its engine stopped",
  "follower, its process died",
  "follower, purged past its place",
  "follower, failed with PartitionUnavailable",
  "follower, failed with PartitionStopped"
]
