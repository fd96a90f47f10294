/** Variants of the engine: idempotency keys. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineOnce: ReadonlyArray<Variant> = [
  {
    name: "engine: a key is looked up among what is stored alone",
    file: src("core/keyed"),
    find: "const held = memory.keys.find(organization, key)",
    replace: "const held = memory.keys.durable(organization, key)?.text",
    sentence: "two requests under one idempotency key that come at once are both decided",
    finders: [unit("coreOnce", "once"), simulation]
  },
  {
    name: "engine: any request has the answer of its key",
    file: src("once"),
    find: "if (!isSame)",
    replace: "if (isSame === undefined)",
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
  },
  {
    name: "engine: keys stay when their frame is not stored",
    file: src("core/Drain"),
    find: "    this.host.memory.keys.discard()\n",
    replace: "",
    sentence: "a request whose frame was refused has a reply, though nothing of it is stored",
    finders: [unit("coreOnce"), simulation]
  },
  {
    name: "engine: keys count as unseen before the stored ones are known",
    file: src("core/StoredKeys"),
    find: "return this.isComplete && !this.filter",
    replace: "return !this.filter",
    sentence: "behind a restart a request under a used idempotency key is decided again",
    finders: [unit("storedKeys", "coreOnce"), simulation]
  },
  {
    name: "engine: keys are forgotten with their checkpoint",
    file: src("core/KeyMemory"),
    find: "      stored.add(table.hashAt(count), table.untilAt(count))\n",
    replace: "",
    sentence: "a request under a used idempotency key is decided again once a checkpoint has the first one",
    finders: [unit("coreOnce"), simulation]
  },
  {
    name: "engine: keys stay in memory behind their checkpoint",
    file: src("core/KeyMemory"),
    find: "table.sequenceAt(count) <= sequence",
    replace: "table.sequenceAt(count) < 0",
    sentence: "memory fills with idempotency keys until no actor fits any more",
    finders: [unit("keyMemory", "coreOnce", "once")]
  },
  {
    name: "engine: stored keys are forgotten with the shortest window",
    file: src("core/KeyFilter"),
    find: "last.until = Math.max(last.until, until)",
    replace: "last.until = last.until === 0 ? until : Math.min(last.until, until)",
    sentence: "a request with a long window is decided again once a shorter window is over",
    finders: [unit("storedKeys"), simulation]
  },
  {
    name: "engine: what follows a long key or digest does not count",
    file: src("once"),
    find: "return text.length <= maximumPlainLength && isPlain.test(text) ? text : undefined",
    replace: "return isPlain.test(text) ? text.slice(0, maximumPlainLength) : undefined",
    sentence: "another request under a used idempotency key gets the answer of the first one, where both begin alike",
    finders: [unit("once")]
  }
]
