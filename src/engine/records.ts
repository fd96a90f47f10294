/**
 * Makes the records that followers of the log see: those of committed frames, with facts decoded by their actors'
 * schemas. They come from the drain's decisions, or from stored frames, with the same result.
 */

import type { PublicEvent } from "./Actor.ts"
import { formatAddress } from "./address.ts"
import type { Registry } from "./core/actors/Organization.ts"
import { describe } from "./describe.ts"
import { type Frame, FrameInvalid } from "./frame.ts"
import { eventId } from "./ids.ts"
import { isInternalKind } from "./internalActor.ts"

/** The place of a record in the log, and the actor that made it. See {@link Reactor.facts}. */
export interface RecordPlace {
  readonly partition: number
  readonly sequence: number
  /** Place in the frame, from 0. */
  readonly index: number
  /** The frame's time, milliseconds since the Unix epoch. */
  readonly now: number
  readonly organization: string
  readonly kind: string
  readonly key: string
}

/** A fact of an actor. Never change `fact`: the actor may share it. See {@link Reactor.facts}. */
export interface FactRecord extends RecordPlace {
  readonly _tag: "Fact"
  readonly fact: unknown
}

/** A public event of a decision of an actor. See {@link Reactor.events}. */
export interface EventRecord extends RecordPlace {
  readonly _tag: "Event"
  /** UUIDv8 derived from the place. */
  readonly id: string
  readonly event: PublicEvent
}

/** A record given to a reactor: a fact or a public event, with its place in the log. See {@link Reactors.handle}. */
export type LogRecord = FactRecord | EventRecord

/** A fact that this program cannot read; it is parked with its organization. */
export interface UnreadableRecord extends RecordPlace {
  readonly _tag: "Unreadable"
  readonly version: number
  /** The fact as the log holds it. */
  readonly fact: unknown
  readonly error: string
}

/** A frame as followers see it. */
export interface CommittedFrame {
  readonly sequence: number
  readonly hash: string
  readonly number: number
  readonly epoch: number
  readonly now: number
  /** Size of the stored frame. */
  readonly bytes: number
  readonly records: ReadonlyArray<LogRecord | UnreadableRecord>
}

/** The records of a stored frame, without messages and the facts of the engine's own actors. */
export const recordsOf = (
  registry: Registry,
  partition: number,
  sequence: number,
  frame: Frame
): ReadonlyArray<LogRecord | UnreadableRecord> =>
  frame.records.flatMap(
    ({ actor, event, fact, message }, index): LogRecord | UnreadableRecord | ReadonlyArray<never> => {
      if (message !== undefined || isInternalKind(actor.kind)) return []
      const place = {
        partition,
        sequence,
        index,
        now: frame.now,
        organization: actor.organization,
        kind: actor.kind,
        key: actor.key
      }
      if (event !== undefined)
        return { _tag: "Event", ...place, id: eventId(partition, frame.epoch, frame.number, index), event }
      try {
        return { _tag: "Fact", ...place, fact: decodeFact(registry, sequence, actor, fact) }
      } catch (cause) {
        return { _tag: "Unreadable", ...place, version: actor.version, fact, error: describe(cause) }
      }
    }
  )

/** Decodes a fact by its actor's schema. Throws `FrameInvalid` with the place. */
export const decodeFact = (
  registry: Registry,
  sequence: number,
  of: { readonly kind: string; readonly version: number; readonly organization: string; readonly key: string },
  fact: unknown
): unknown => {
  const actor = registry.actors[registry.actorIndex(of.kind)]
  if (actor === undefined)
    throw new FrameInvalid({
      message: `frame ${sequence} has a fact of kind ${of.kind}, which this program does not know`
    })
  try {
    return actor.decodeFact(fact, of.version)
  } catch (cause) {
    throw new FrameInvalid({
      message: `frame ${sequence} has a fact of ${formatAddress(of)} that cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`
    })
  }
}

/** A record as JSON, as parked records keep it while a level of formats is in force. */
export const encodeRecord = (
  registry: Registry,
  record: LogRecord | UnreadableRecord,
  level = Number.POSITIVE_INFINITY
): string => {
  if (record._tag === "Event") return JSON.stringify(record)
  if (record._tag === "Unreadable") {
    const { error: _, ...rest } = record
    return JSON.stringify({ ...rest, _tag: "Fact" })
  }
  const { encodeFact, version } = registry.actors[registry.actorIndex(record.kind)]!.written(level)
  return JSON.stringify({ ...record, version, fact: encodeFact(record.fact) })
}

/** Reads a text of `encodeRecord`. Throws `FrameInvalid` when the kind is unknown or the fact cannot be decoded. */
export const decodeRecord = (registry: Registry, text: string): LogRecord => {
  const { version, ...record } = JSON.parse(text) as LogRecord & { readonly version?: number }
  if (record._tag === "Event") return record
  return { ...record, fact: decodeFact(registry, record.sequence, { ...record, version: version ?? 1 }, record.fact) }
}
