/** Variants of the engine. */
import { engineFollowers } from "./engineFollowers.ts"
import { engineLog } from "./engineLog.ts"
import { engineMemory } from "./engineMemory.ts"
import { engineOnce } from "./engineOnce.ts"
import { engineOutbox } from "./engineOutbox.ts"
import { engineReactors } from "./engineReactors.ts"
import { engineRemote } from "./engineRemote.ts"
import { engineWakes } from "./engineWakes.ts"
import type { Variant } from "./runner/variant.ts"

export const engine: ReadonlyArray<Variant> = [
  ...engineFollowers,
  ...engineLog,
  ...engineMemory,
  ...engineOnce,
  ...engineOutbox,
  ...engineReactors,
  ...engineRemote,
  ...engineWakes
]
