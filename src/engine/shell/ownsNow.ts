/** Asks placement whether a partition belongs to this process (docs/architecture.md, rule 3). */
import { Effect, Option } from "effect"
import { lookupDeadlineMillis } from "../limits.ts"
import { PlacementUnavailable } from "../ports/Placement.ts"
import { deadline } from "./deadline.ts"
import type { Partition } from "./partition/Partition.ts"

/** Answers whether this process owns the partition; undefined if placement does not answer in time. */
export const ownsNow = (partition: Partition): Effect.Effect<boolean | undefined> =>
  Effect.map(
    Effect.option(
      deadline(
        partition.context.placement.owns(partition.id),
        lookupDeadlineMillis,
        () => new PlacementUnavailable({ message: "placement does not answer" })
      )
    ),
    Option.getOrUndefined
  )
