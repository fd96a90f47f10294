/**
 * Finds the origin of an event (docs/platform.md, 5.7): the frame of the log that holds the decision, and the
 * organization's own records of it. Needs `Engine` and `EventLog`.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Engine, Operator } from "../engine/Engine.ts"
import { isInternalKind } from "../engine/internalActor.ts"
import { EventLog, type EventReader } from "./EventLog.ts"

/** Most records that an answer shows, around the event's own. */
export const maximumOriginRecords = 200

/** A record of the decision. */
export interface OriginRecord {
  /** Its place in the frame. */
  readonly index: number
  /** The actor that decided it. */
  readonly kind: string
  readonly key: string
  readonly isEvent: boolean
  /** The fact, or the event, as JSON. */
  readonly record: unknown
}

export interface EventOrigin {
  readonly partition: number
  readonly sequence: number
  readonly index: number
  /** Null where the log does not hold the frame any more, or another process serves its partition. */
  readonly frame: {
    readonly epoch: number
    readonly number: number
    readonly decidedAt: number
    readonly records: ReadonlyArray<OriginRecord>
  } | null
}

export class EventOrigins extends Context.Service<
  EventOrigins,
  {
    /**
     * The place of an event, and the records of its frame that are the reader's: a live key sees all of its
     * organization's, a test key those of the actor that caused the event. Undefined when the reader has no such event.
     */
    readonly of: (reader: EventReader, eventId: string) => Effect.Effect<EventOrigin | undefined, SqlError.SqlError>
  }
>()("sluice/events/EventOrigins") {
  static readonly layer: Layer.Layer<EventOrigins, never, Engine | EventLog> = Layer.effect(
    EventOrigins,
    Effect.gen(function* () {
      const engine = yield* Engine
      const { inspectFrame } = Operator.of(engine)
      const log = yield* EventLog
      return EventOrigins.of({
        of: Effect.fn("EventOrigins.of")(function* (reader, eventId) {
          const place = yield* log.positionOf(reader, eventId)
          if (place === undefined) return undefined
          const { index, sequence } = place
          const partition = engine.partitionOf(reader.organizationId)
          const found = yield* Effect.orElseSucceed(inspectFrame(partition, sequence), () => undefined)
          if (found === undefined) return { partition, sequence, index, frame: null }
          const { epoch, now, number, records } = found.frame
          const own = records[index]?.actor
          const isShown = (actor: (typeof records)[number]["actor"]): boolean =>
            actor.organization === reader.organizationId &&
            !isInternalKind(actor.kind) &&
            (reader.mode === "live" || (actor.kind === own?.kind && actor.key === own.key))
          const shown = records.flatMap(({ actor, event, fact, message }, at) =>
            message !== undefined || !isShown(actor)
              ? []
              : [
                  {
                    index: at,
                    kind: actor.kind,
                    key: actor.key,
                    isEvent: event !== undefined,
                    record: event ?? fact
                  }
                ]
          )
          const around = Math.max(0, shown.findIndex((one) => one.index === index) - maximumOriginRecords / 2)
          return {
            partition,
            sequence,
            index,
            frame: { epoch, number, decidedAt: now, records: shown.slice(around, around + maximumOriginRecords) }
          }
        })
      })
    })
  )
}
