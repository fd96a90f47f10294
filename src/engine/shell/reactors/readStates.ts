/** Reads the states of actors page by page, for a reactor that is rebuilt from them (docs/reactors.md, "From the states"). */
import { Effect } from "effect"
import { stateOfRow } from "../../core/actors/actorRows.ts"
import { maximumLoadBatch, transactionDeadlineMillis } from "../../limits.ts"
import { type ActorRow, CheckpointsUnavailable } from "../../ports/Checkpoints.ts"
import type { RebuildProgress } from "../../ports/Cursors.ts"
import type { StateOf } from "../../Reactor.ts"
import { deadline } from "../deadline.ts"
import type { Partition } from "../partition/Partition.ts"
import { isThere } from "../stores/listKeys.ts"
import type { WalkedPage } from "./statesWalk.ts"

/** Actors of a page: each page is one transaction of the reactor. */
const pageSize = Math.min(200, maximumLoadBatch)

/** Times that a page is read again because its checkpoint was removed meanwhile. */
const attempts = 3

/** The states of a page, by kind. */
export interface StatesPage extends WalkedPage {
  readonly byKind: ReadonlyMap<string, ReadonlyArray<StateOf<unknown>>>
}

const late = () => new CheckpointsUnavailable({ message: "the checkpoints did not answer" })

/** The page behind a place. Fails, for another attempt, while the checkpoints are away, and where a state cannot be read. */
export const readStates = Effect.fnUntraced(function* (
  partition: Partition,
  kinds: ReadonlyArray<string>,
  { cuts, place }: RebuildProgress
): Effect.fn.Return<StatesPage, unknown> {
  const { core, id, context } = partition
  for (let attempt = 0; attempt < attempts; attempt++) {
    const kept = yield* deadline(context.checkpoints.list(id), transactionDeadlineMillis, late)
    // The fewer checkpoints, the fewer cuts: one is read for as long as its rows are kept.
    const base = kept.find(({ sequence }) => sequence === cuts.at(-1)?.sequence) ?? core.newestCheckpoint
    if (base === undefined) return { last: undefined, states: 0, sequence: 0, isLast: true, byKind: new Map() }
    const request = { kinds, through: base.sequence, after: place, limit: pageSize }
    const rows = yield* deadline(context.checkpoints.states(id, request), transactionDeadlineMillis, late)
    // Rows of a checkpoint that two later ones supersede may have been removed while they were read.
    if (!(yield* isThere(partition, base))) continue
    const byKind = yield* Effect.try({ try: () => statesOf(partition, rows), catch: (cause) => cause })
    let states = 0
    for (const of of byKind.values()) states += of.length
    return { last: rows.at(-1), states, sequence: base.sequence, isLast: rows.length < pageSize, byKind }
  }
  return yield* new CheckpointsUnavailable({ message: "the checkpoints go faster than they can be read" })
})

const statesOf = ({ context: { registry }, id }: Partition, rows: ReadonlyArray<ActorRow>): StatesPage["byKind"] => {
  const found = new Map<string, Array<StateOf<unknown>>>()
  for (const row of rows) {
    if (row.state === null) continue
    const { key, kind, organization, sequence } = row
    const state = stateOfRow(registry.actors[registry.actorIndex(kind)]!, row, row.state)
    const of = found.get(kind) ?? []
    of.push({ partition: id, organization, key, state, sequence })
    found.set(kind, of)
  }
  return found
}
