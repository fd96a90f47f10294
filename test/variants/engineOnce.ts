/** Variants of the engine: idempotency keys. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineOnce: ReadonlyArray<Variant> = [
  {
    name: "engine: a key is looked up among what is stored alone",
    file: src("core/Decider"),
    find: "entry.guard?.recall(this.draft.stateOf(beside), this.draft.now)",
    replace: "entry.guard?.recall(beside.state, this.draft.now)",
    sentence: "two requests under one idempotency key that come at once are both decided",
    finders: [unit("coreOnce", "once"), simulation]
  },
  {
    name: "engine: any request has the answer of its key",
    file: src("once"),
    find: "if (known[0] !== this.digest)",
    replace: 'if (known[0] === "")',
    sentence: "another request under a used idempotency key gets the answer of the first one",
    finders: [unit("once"), simulation]
  },
  {
    name: "engine: a key counts for as long as its row is there",
    file: src("once"),
    find: "if (known === null || known[3] <= now) return undefined",
    replace: "if (known === null) return undefined",
    sentence: "a key whose window is over is taken for used, until some checkpoint has removed its row",
    finders: [unit("once")]
  },
  {
    name: "engine: rows are removed before their time is over",
    file: src("shell/checkpointing"),
    find: "const now = core.newestCheckpoint?.now ?? 0\n  for",
    replace: "const now = (core.newestCheckpoint?.now ?? 0) * 2\n  for",
    sentence: "an idempotency key is forgotten with the next checkpoint, and its request is decided again",
    finders: [unit("once"), simulation]
  }
]
