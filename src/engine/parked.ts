/** What an operator can do about records that a reactor has parked (architecture, rule 11): try them again, in order, or dismiss them. */
import { Effect } from "effect"
import type { CursorsUnavailable } from "./Cursors.ts"
import { type Engine, EngineRefused } from "./Engine.ts"
import { describe } from "./poison.ts"
import { decodeRecord } from "./records.ts"

/** Parked records that one transaction takes. */
const batchRecords = 100

export interface RetriedParked {
  readonly retried: number
  /** Records still parked: the first of them failed again. */
  readonly left: number
}

/** Tries an organization's parked records again, one transaction each batch, until none is left or one fails. */
export const retryParked = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  partitionId: number,
  reactorName: string,
  organization: string
): Effect.fn.Return<RetriedParked, EngineRefused | CursorsUnavailable> {
  const { cursors, reactor, registry } = yield* placeOf(engine, partitionId, reactorName)
  let retried = 0
  while (true) {
    const records = yield* cursors.parked(partitionId, reactorName, organization, batchRecords)
    if (records.length === 0) return { retried, left: 0 }
    const decoded = yield* Effect.try({
      try: () => records.map(({ record }) => decodeRecord(registry, record)),
      catch: (cause) => new EngineRefused({ message: `a parked record cannot be read: ${describe(cause)}` })
    })
    const done = yield* Effect.result(cursors.unpark(records, reactor.handle(decoded)))
    if (done._tag === "Failure") {
      const counts = yield* cursors.parkedOrganizations(partitionId, reactorName)
      return { retried, left: counts.find((count) => count.organization === organization)?.count ?? 0 }
    }
    retried += records.length
  }
})

/** Takes an organization's first parked record away without its effects; the later ones can be retried then. */
export const dismissParked = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  partitionId: number,
  reactorName: string,
  organization: string
): Effect.fn.Return<boolean, EngineRefused | CursorsUnavailable> {
  const { cursors } = yield* placeOf(engine, partitionId, reactorName)
  const records = yield* cursors.parked(partitionId, reactorName, organization, 1)
  if (records.length === 0) return false
  yield* cursors.unpark(records, Effect.void)
  return true
})

const placeOf = (engine: Engine["Service"], partitionId: number, reactorName: string) => {
  const parts = engine.local.get(partitionId)?.parts
  const reactor = parts?.reactors.find(({ name }) => name === reactorName)
  return parts === undefined || reactor === undefined
    ? Effect.fail(new EngineRefused({ message: `no reactor ${reactorName} runs for partition ${partitionId} here` }))
    : Effect.succeed({ cursors: parts.cursors, registry: parts.registry, reactor })
}
