/** Reads the tiers of senders for lists (docs/platform.md, 9.13). */
import { Effect } from "effect"
import type { Engine } from "../../../engine/Engine.ts"
import { SendSender } from "../../account/actors/index.ts"
import type { Tier } from "../../limits.ts"

/** Senders that are asked together. */
const asksAtOnce = 16

/**
 * The tier of each sender, in order; null of one whose owner cannot be reached now, because a list is good without it.
 */
export const listedTiers = (
  engine: Engine["Service"],
  senders: ReadonlyArray<{ readonly organization: string; readonly key: string }>
): Effect.Effect<ReadonlyArray<Tier | null>> =>
  Effect.forEach(
    senders,
    (sender) =>
      engine.state(SendSender, sender).pipe(
        Effect.map((state): Tier | null => state.tier.tier),
        Effect.orElseSucceed(() => null)
      ),
    { concurrency: asksAtOnce }
  )
