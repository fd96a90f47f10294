/**
 * Parks signals, and messages of ingests, that mean nothing to the rules, with the reason (docs/architecture.md,
 * "External signals"), each by itself: those behind it continue, because signals of an organization need not build on
 * each other. One that cannot be read is parked before the partition passes it, one on which its actor fails right
 * after.
 */
import { Effect } from "effect"
import type { AnyActor } from "../../Actor.ts"
import { describe } from "../../describe.ts"
import { isAnAskError } from "../../errors.ts"
import { parkedNameOf } from "../../ingestRules.ts"
import { maximumParkedSignals, maximumParkedSignalsOfPartition, transactionDeadlineMillis } from "../../limits.ts"
import { CursorsUnavailable, type ParkedRecord } from "../../ports/Cursors.ts"
import type { StreamMessage } from "../../ports/ProgramStreams.ts"
import { type Signal, signalsName } from "../../ports/Signals.ts"
import { deadline } from "../deadline.ts"
import type { EngineContext } from "../partition/EngineContext.ts"
import type { Partition } from "../partition/Partition.ts"
import { lookup, showParked } from "../reactors/parkRecords.ts"
import type { SignalCommand } from "./feedSignals.ts"

/** A signal as a parked record keeps it: as it came, or as the command on which its actor failed. */
type ParkedSignal =
  | { readonly _tag: "Signal"; readonly kind: string; readonly data: string }
  | (Omit<StreamMessage, "sequence" | "data" | "behind"> & { readonly _tag: "Message"; readonly data: string })
  | {
      readonly _tag: "Command"
      readonly kind: string
      readonly version: number
      readonly key: string
      readonly command: unknown
    }

type Described = Omit<ParkedRecord, "partition" | "reactor" | "index">

const late = () => new CursorsUnavailable({ message: "the cursors do not answer" })

/** Parks it, unless the maximum is parked already. */
const park = Effect.fnUntraced(function* (partition: Partition, reactor: string, signal: Described) {
  const { id, metrics, context } = partition
  const { error, organization, sequence } = signal
  const counts = [
    yield* lookup(context.cursors.parkedCount(id, reactor, organization)),
    yield* lookup(context.cursors.parkedCount(id, reactor))
  ]
  if (counts[0]! >= maximumParkedSignals || counts[1]! >= maximumParkedSignalsOfPartition)
    return yield* Effect.logWarning(
      `${reactor}: ${sequence} of ${organization} is dropped, for too many are parked: ${error}`
    )
  const record: ParkedRecord = { ...signal, partition: id, reactor, index: 0 }
  const parked = context.cursors.unpark([], context.cursors.park([record]))
  yield* deadline(parked, transactionDeadlineMillis, late)
  metrics.parked(reactor, 1)
  yield* showParked(partition, reactor)
  yield* Effect.logWarning(`${reactor}: ${sequence} of ${organization} is parked: ${error}`)
})

/** Parks a signal that means no command. */
export const parkSignal = (partition: Partition, signal: Signal, error: string) => {
  const { data, kind, organization, sequence } = signal
  const record: ParkedSignal = { _tag: "Signal", kind, data: Buffer.from(data).toString("base64") }
  return park(partition, signalsName, { organization, sequence, record: JSON.stringify(record), error })
}

/** Parks a message of an ingest that means no command. */
export const parkMessage = (
  partition: Partition,
  ingest: string,
  organization: string,
  message: StreamMessage,
  error: string
) => {
  const { data, headers, sequence, subject, time } = message
  const record: ParkedSignal = { _tag: "Message", subject, time, headers, data: Buffer.from(data).toString("base64") }
  return park(partition, parkedNameOf(ingest), { organization, sequence, record: JSON.stringify(record), error })
}

/** Parks the signals on which their actors have failed; the last may not be stored if the process dies now. */
export const parkFailed = Effect.fnUntraced(function* (partition: Partition) {
  const { failedSignals } = partition
  for (let signal = failedSignals.first; signal !== undefined; signal = failedSignals.first) {
    const { command, ingest, key, kind, organization, reason, sequence } = signal
    const reactor = ingest === undefined ? signalsName : parkedNameOf(ingest)
    const { encodeCommand, written } = actorOf(partition.context, kind)!
    const { version } = written(partition.context.placement.level?.() ?? Number.POSITIVE_INFINITY)
    const encoded = yield* Effect.option(
      Effect.try(() =>
        JSON.stringify({ _tag: "Command", kind, version, key, command: encodeCommand(command) } satisfies ParkedSignal)
      )
    )
    // A signal that cannot be encoded was counted.
    if (encoded._tag === "Some")
      yield* park(partition, reactor, { organization, sequence, record: encoded.value, error: reason })
    failedSignals.isDone(signal)
  }
})

const actorOf = ({ registry }: EngineContext, kind: string): AnyActor | undefined =>
  registry.actors[registry.actorIndex(kind)]

/** A command that a parked signal or message means, and the organization that it is for. */
export interface ParkedCommand extends SignalCommand {
  readonly organization: string
}

/** The command that a parked signal means now; undefined if it means none. Throws if it still cannot be read. */
export const commandOf = (
  context: EngineContext,
  { organization, reactor, record, sequence }: ParkedRecord
): ParkedCommand | undefined => {
  // It was written by this engine.
  const parked = JSON.parse(record) as ParkedSignal
  if (parked._tag === "Signal") {
    const rule = context.signalRules[parked.kind]
    if (rule === undefined) throw new Error(`there is no rule for signals of the kind ${parked.kind}`)
    return addressed(organization, rule({ organization, sequence, kind: parked.kind, data: bytesOf(parked) }))
  }
  if (parked._tag === "Message") {
    const ingest = context.ingests.find(({ name }) => parkedNameOf(name) === reactor)
    if (ingest === undefined) throw new Error(`this program has no ingest for ${reactor}`)
    const { headers, subject, time } = parked
    const message: StreamMessage = { sequence, subject, time, headers, data: bytesOf(parked) }
    // It may have named none when it was parked.
    return addressed(ingest.organization(message), ingest.toCommand(message))
  }
  const actor = actorOf(context, parked.kind)
  if (actor === undefined || parked.version > actor.version)
    throw new Error(`this program does not know ${parked.kind} of version ${parked.version}`)
  return { organization, actor, key: parked.key, command: actor.decodeCommand(parked.command) }
}

const bytesOf = ({ data }: { readonly data: string }): Uint8Array => Buffer.from(data, "base64")

const addressed = (organization: string | undefined, meaning: SignalCommand | undefined): ParkedCommand | undefined =>
  organization === undefined || meaning === undefined ? undefined : { ...meaning, organization }

/** Why a signal's command was not decided; undefined if it was, even if the rule rejected it. */
export const failureOf = (error: unknown): string | undefined => (isAnAskError(error) ? describe(error) : undefined)
