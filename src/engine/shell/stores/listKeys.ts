/**
 * Lists the keys of a kind in an organization: those of the newest checkpoint, and the changes since from memory
 * (docs/architecture.md, "Followers"). A page shows one moment at which the partition was ours.
 */
import { Effect } from "effect"
import type { AnyActor } from "../../Actor.ts"
import { compareKeys } from "../../address.ts"
import { type AskError, CommandInvalid, PartitionUnavailable } from "../../errors.ts"
import type { KeysOptions, KeysPage } from "../../followTypes.ts"
import { defaultKeysPage, loadDeadlineMillis, maximumKeysPage, retryAfterMillis } from "../../limits.ts"
import { CheckpointsUnavailable, type LogPosition } from "../../ports/Checkpoints.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"

/** Times that a page is read again because its checkpoint was removed meanwhile. */
const attempts = 3

export const listKeys = Effect.fnUntraced(function* (
  partition: Partition,
  organization: string,
  actorIndex: number,
  { after, limit = defaultKeysPage }: KeysOptions
): Effect.fn.Return<KeysPage, AskError> {
  const actor = partition.context.registry.actors[actorIndex]!
  const { kind } = actor
  const refused = refusal(actor, limit)
  if (refused !== undefined) return yield* refused
  const { checkpoints } = partition.context
  const { names, next } = yield* listNames(partition, {
    changed: () => partition.core.probe.changedKeys(organization, actorIndex),
    stored: (through, behind, atOnce) =>
      checkpoints.keys(partition.id, { organization, kind, through, after: behind, limit: atOnce }),
    after,
    limit
  })
  yield* untilOurs(partition, { organization, actorIndex }, names[0] ?? "")
  return { keys: names, next }
})

/** Says why names of a kind cannot be listed; undefined when they can. */
export const refusal = ({ isStateless, kind }: AnyActor, limit: number): CommandInvalid | undefined => {
  if (isStateless) return new CommandInvalid({ kind, reason: "its actors have no state, so no keys are kept" })
  if (Number.isInteger(limit) && limit >= 1 && limit <= maximumKeysPage) return undefined
  return new CommandInvalid({ kind, reason: `a page has 1 to ${maximumKeysPage} keys, not ${limit}` })
}

/** A page of names in the order of their bytes. */
interface NamesPage {
  readonly names: ReadonlyArray<string>
  /** The name behind which the next page begins; undefined when this is the last one. */
  readonly next: string | undefined
}

/** The names to list, from the newest checkpoint and from memory. */
interface ListedNames {
  /** The names whose presence has changed since the newest checkpoint, and whether each is there now. */
  readonly changed: () => ReadonlyMap<string, boolean>
  /** The names that a checkpoint has, in the order of their bytes. */
  readonly stored: (
    through: number,
    after: string | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<string>, CheckpointsUnavailable>
  readonly after: string | undefined
  readonly limit: number
}

export const listNames = Effect.fnUntraced(function* (
  partition: Partition,
  listed: ListedNames
): Effect.fn.Return<NamesPage, AskError> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (partition.status._tag !== "Serving") return yield* Effect.fail(partition.notServing())
    const page = yield* Effect.mapError(readPage(partition, listed), ({ message }) => unavailable(partition, message))
    if (page !== undefined) return page
  }
  return yield* unavailable(partition, "its checkpoints go faster than they can be read")
})

const unavailable = ({ id }: Partition, reason: string) =>
  new PartitionUnavailable({ partition: id, reason, retryAfterMillis })

const late = () =>
  new CheckpointsUnavailable({ message: `the checkpoints did not answer within ${loadDeadlineMillis} ms` })

/** A page; undefined when its checkpoint was superseded while it was read. */
const readPage = Effect.fnUntraced(function* (partition: Partition, listed: ListedNames) {
  const { after, limit } = listed
  // Both at one moment: a name that is not in the checkpoint has changed since.
  const base = partition.core.newestCheckpoint
  const changed = listed.changed()
  const atOnce = Math.min(maximumKeysPage, limit + 1)
  const stored: Array<string> = []
  let behind = after
  let isComplete = base === undefined
  while (base !== undefined && !isComplete && stored.length <= limit) {
    const found = yield* deadline(listed.stored(base.sequence, behind, atOnce), loadDeadlineMillis, late)
    for (const name of found) if (changed.get(name) !== false) stored.push(name)
    isComplete = found.length < atOnce
    behind = found.at(-1) ?? behind
  }
  if (base !== undefined && !(yield* isThere(partition, base))) return undefined
  // Unless all are stored here, these alone fill the page, so a changed name behind them is not on it.
  const known = new Set(stored)
  for (const [name, isKept] of changed) {
    if (!isKept || known.has(name)) continue
    if (after !== undefined && compareKeys(name, after) <= 0) continue
    known.add(name)
  }
  const all = [...known].sort(compareKeys)
  const names = all.slice(0, limit)
  return { names, next: all.length > limit || !isComplete ? names.at(-1) : undefined }
})

/** Whether a checkpoint is still kept: its rows may be removed when two later ones supersede it. */
export const isThere = ({ id, context }: Partition, { hash, sequence }: LogPosition) =>
  Effect.map(deadline(context.checkpoints.list(id), loadDeadlineMillis, late), (records) =>
    records.some((record) => record.sequence === sequence && record.hash === hash)
  )

/** Waits until the partition is known to be ours, as a read of a state does. */
export const untilOurs = (
  partition: Partition,
  { actorIndex, organization }: { readonly organization: string; readonly actorIndex: number },
  key: string
): Effect.Effect<void, AskError> =>
  partition.core.intake.isFresh(partition.now())
    ? Effect.void
    : Effect.callback<unknown, AskError>((resume) =>
        partition.core.intake.peek(organization, actorIndex, key, resume, partition.now())
      )
