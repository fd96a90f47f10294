/**
 * Waits for the row of an event that was delivered before its row was written (docs/platform.md, 5.4): a receiver that
 * asks for the event it has just got finds it. Needs `Engine`.
 */
import { Duration, Effect, Schema } from "effect"
import { Engine } from "../engine/Engine.ts"
import * as Reactors from "../engine/Reactors.ts"
import { EventId, eventIdPrefix } from "./event.ts"

/** The longest wait, milliseconds; where another process serves the partition, the only one. */
const longestMillis = 1_000
const elsewhereMillis = 200

const isEventId = Schema.is(EventId)

/** The partition that an event's id names (docs/architecture.md, rule 8). */
const partitionOf = (eventId: string): number =>
  Number.parseInt(eventId.slice(eventIdPrefix.length, eventIdPrefix.length + 4), 16)

/** Answers whether a second look may find an event that the first one did not. */
export const awaitRecent = (organizationId: string, eventId: string): Effect.Effect<boolean, never, Engine> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    if (!isEventId(eventId) || partitionOf(eventId) !== engine.partitionOf(organizationId)) return false
    const isHere = yield* Effect.timeoutOption(Reactors.settledFor(organizationId), Duration.millis(longestMillis))
    if (isHere._tag === "Some" && !isHere.value) yield* Effect.sleep(Duration.millis(elsewhereMillis))
    return true
  })
