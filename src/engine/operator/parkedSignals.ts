/**
 * Manages parked signals and messages of ingests (docs/architecture.md, "External signals"), for an operator: decides
 * them again, or gives up the first.
 */
import { Effect } from "effect"
import { describe } from "../describe.ts"
import { type Engine, EngineRefused } from "../Engine.ts"
import { parkedNameOf } from "../ingestRules.ts"
import type { CursorsUnavailable, ParkedRecord } from "../ports/Cursors.ts"
import { signalsName } from "../ports/Signals.ts"
import type { EngineContext } from "../shell/partition/EngineContext.ts"
import { internals } from "../shell/partition/internals.ts"
import type { Partition } from "../shell/partition/Partition.ts"
import { showParked } from "../shell/reactors/parkRecords.ts"
import { commandOf, failureOf } from "../shell/signals/parkSignal.ts"
import type { RetriedParked, RetryOptions } from "./parked.ts"
import { unrecorded } from "./parkedMessages.ts"

type AnyEngine = Engine["Service"]

/** The names under which an engine parks what comes from outside: its signals, and the messages of its ingests. */
export const outsideNames = ({ ingests }: Pick<EngineContext, "ingests">): ReadonlyArray<string> => [
  signalsName,
  ...ingests.map(({ name }) => parkedNameOf(name))
]

/** Whether no start can read the signal again; otherwise it would be decided twice. */
export const isPassed = ({ context, core }: Partition, { reactor, sequence }: ParkedRecord): boolean => {
  const ingest = context.ingests.find(({ name }) => parkedNameOf(name) === reactor)
  const place = ingest === undefined ? core.head.signalSequence : core.head.ingests?.[ingest.name]
  return place !== undefined && place >= sequence
}

export const notPassed = "its partition has not come past it yet: try again in a minute"

/**
 * Decides an organization's parked signals again, one after the other, until one fails. If removing a decided one
 * fails, it is decided twice, and its rule says what that means.
 */
export const retryParkedSignals = Effect.fnUntraced(function* (
  engine: AnyEngine,
  reactor: string,
  organization: string,
  { alongside, limit }: Required<RetryOptions>
): Effect.fn.Return<RetriedParked, EngineRefused | CursorsUnavailable> {
  const { partitions, context } = internals(engine)
  const id = engine.partitionOf(organization)
  const partition = partitions.get(id)
  if (partition === undefined)
    return yield* Effect.fail(new EngineRefused({ message: `partition ${id} is placed in another process` }))
  let retried = 0
  let error: string | undefined
  while (error === undefined && retried < limit) {
    const [first] = yield* context.cursors.parked(id, reactor, organization, 1)
    if (first === undefined) break
    if (!isPassed(partition, first)) {
      error = notPassed
      break
    }
    const meaning = yield* Effect.result(Effect.try({ try: () => commandOf(context, first), catch: describe }))
    if (meaning._tag === "Failure") {
      error = `it cannot be read: ${meaning.failure}`
      break
    }
    if (meaning.success !== undefined) {
      const { actor, command, key, organization: receiver } = meaning.success
      const asked = yield* Effect.result(engine.ask(actor, { organization: receiver, key }, command))
      if (asked._tag === "Failure") error = failureOf(asked.failure)
    }
    if (error !== undefined) break
    yield* Effect.catch(context.cursors.unpark([first], alongside([first])), unrecorded)
    retried++
  }
  yield* showParked(partition, reactor)
  const left = yield* context.cursors.parkedCount(id, reactor, organization)
  return { retried, left, ...(error === undefined ? {} : { error }) }
})
