/** Lists all of the engine's own actors. Every engine knows them, whatever its users define. */
import type { AnyActor } from "./Actor.ts"
import { Once } from "./once.ts"
import { Inbox } from "./outbox.ts"

export const internalActors: ReadonlyArray<AnyActor> = [Once, Inbox]
