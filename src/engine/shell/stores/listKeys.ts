/**
 * Lists the keys of a kind in an organization: those of the newest checkpoint, and the changes since from memory
 * (docs/architecture.md, "Followers"). A page shows one moment at which the partition was ours.
 */
import { Effect } from "effect"
import { compareKeys } from "../../address.ts"
import { type AskError, CommandInvalid, PartitionUnavailable } from "../../errors.ts"
import type { KeysOptions, KeysPage } from "../../followTypes.ts"
import { defaultKeysPage, loadDeadlineMillis, maximumKeysPage, retryAfterMillis } from "../../limits.ts"
import { CheckpointsUnavailable, type LogPosition } from "../../ports/Checkpoints.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"

/** Times that a page is read again because its checkpoint was removed meanwhile. */
const attempts = 3

/** The checked request. */
interface Asked {
  readonly organization: string
  readonly actorIndex: number
  readonly kind: string
  readonly after: string | undefined
  readonly limit: number
}

export const listKeys = Effect.fnUntraced(function* (
  partition: Partition,
  organization: string,
  actorIndex: number,
  { after, limit = defaultKeysPage }: KeysOptions
): Effect.fn.Return<KeysPage, AskError> {
  const actor = partition.context.registry.actors[actorIndex]!
  const { kind } = actor
  if (actor.isStateless)
    return yield* new CommandInvalid({ kind, reason: "its actors have no state, so no keys are kept" })
  if (!Number.isInteger(limit) || limit < 1 || limit > maximumKeysPage)
    return yield* new CommandInvalid({ kind, reason: `a page has 1 to ${maximumKeysPage} keys, not ${limit}` })
  const asked: Asked = { organization, actorIndex, kind, after, limit }
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (partition.status._tag !== "Serving") return yield* Effect.fail(partition.notServing())
    const page = yield* Effect.mapError(readPage(partition, asked), ({ message }) => unavailable(partition, message))
    if (page === undefined) continue
    yield* untilOurs(partition, asked, page.keys[0] ?? "")
    return page
  }
  return yield* unavailable(partition, "its checkpoints go faster than they can be read")
})

const unavailable = ({ id }: Partition, reason: string) =>
  new PartitionUnavailable({ partition: id, reason, retryAfterMillis })

const late = () =>
  new CheckpointsUnavailable({ message: `the checkpoints did not answer within ${loadDeadlineMillis} ms` })

/** A page; undefined when its checkpoint was superseded while it was read. */
const readPage = Effect.fnUntraced(function* (partition: Partition, asked: Asked) {
  const { actorIndex, after, kind, limit, organization } = asked
  const { core, id, context } = partition
  // Both at one moment: a key that is not in the checkpoint has changed since.
  const base = core.newestCheckpoint
  const changed = core.probe.changedKeys(organization, actorIndex)
  const atOnce = Math.min(maximumKeysPage, limit + 1)
  const stored: Array<string> = []
  let behind = after
  let isComplete = base === undefined
  while (base !== undefined && !isComplete && stored.length <= limit) {
    const request = { organization, kind, through: base.sequence, after: behind, limit: atOnce }
    const keys = yield* deadline(context.checkpoints.keys(id, request), loadDeadlineMillis, late)
    for (const key of keys) if (changed.get(key) !== false) stored.push(key)
    isComplete = keys.length < atOnce
    behind = keys.at(-1) ?? behind
  }
  if (base !== undefined && !(yield* isThere(partition, base))) return undefined
  // Unless all are stored here, these alone fill the page, so a changed key behind them is not on it.
  const known = new Set(stored)
  for (const [key, isKept] of changed) {
    if (!isKept || known.has(key)) continue
    if (after !== undefined && compareKeys(key, after) <= 0) continue
    known.add(key)
  }
  const keys = [...known].sort(compareKeys)
  const page = keys.slice(0, limit)
  return { keys: page, next: keys.length > limit || !isComplete ? page.at(-1) : undefined }
})

/** Whether a checkpoint is still kept: its rows may be removed when two later ones supersede it. */
const isThere = ({ id, context }: Partition, { hash, sequence }: LogPosition) =>
  Effect.map(deadline(context.checkpoints.list(id), loadDeadlineMillis, late), (records) =>
    records.some((record) => record.sequence === sequence && record.hash === hash)
  )

/** Waits until the partition is known to be ours, as a read of a state does. */
const untilOurs = (
  partition: Partition,
  { actorIndex, organization }: Asked,
  key: string
): Effect.Effect<void, AskError> =>
  partition.core.intake.isFresh(partition.now())
    ? Effect.void
    : Effect.callback<unknown, AskError>((resume) =>
        partition.core.intake.peek(organization, actorIndex, key, resume, partition.now())
      )
