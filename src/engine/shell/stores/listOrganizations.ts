/**
 * Lists the organizations of a partition that have actors of a kind: those of the newest checkpoint, and the changes
 * since from memory (docs/architecture.md, "Followers").
 */
import { Effect } from "effect"
import type { AskError } from "../../errors.ts"
import type { KeysOptions } from "../../followTypes.ts"
import { defaultKeysPage } from "../../limits.ts"
import type { Partition } from "../partition/Partition.ts"
import { listKeys, listNames, refusal, untilOurs } from "./listKeys.ts"

/** A page of the organizations of one partition. */
export interface PartitionOrganizations {
  readonly organizations: ReadonlyArray<string>
  /** The organization behind which the next page begins; undefined when this is the last one. */
  readonly next: string | undefined
}

export const listOrganizations = Effect.fnUntraced(function* (
  partition: Partition,
  actorIndex: number,
  { after, limit = defaultKeysPage }: KeysOptions
): Effect.fn.Return<PartitionOrganizations, AskError> {
  const { core, id, context } = partition
  const actor = context.registry.actors[actorIndex]!
  const refused = refusal(actor, limit)
  if (refused !== undefined) return yield* refused
  const { names, next } = yield* listNames(partition, {
    changed: () => core.probe.changedOrganizations(actorIndex),
    stored: (through, behind, atOnce) =>
      context.checkpoints.organizations(id, { kind: actor.kind, through, after: behind, limit: atOnce }),
    after,
    limit
  })
  const organizations: Array<string> = []
  for (const name of names) {
    // Some of its stored actors are over by now: are there others?
    if (core.probe.hasLost(name, actorIndex)) {
      const { keys } = yield* listKeys(partition, name, actorIndex, { limit: 1 })
      if (keys.length === 0) continue
    }
    organizations.push(name)
  }
  yield* untilOurs(partition, { organization: names[0] ?? "-", actorIndex }, "")
  return { organizations, next }
})
