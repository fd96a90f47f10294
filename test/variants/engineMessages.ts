/** Variants of what the engine does once and in order: keys of requests, the outbox, signals and reactors. */
import type { Variant } from "./runner/variant.ts"

export const engineMessages: ReadonlyArray<Variant> = [
  {
    name: "engine: a key is looked up among what is stored alone",
    find: "const held = memory.keys.find(organization, key)",
    replace: "const held = memory.keys.durable(organization, key)?.text",
    sentence: "two requests under one idempotency key that come at once are both decided",
    finders: ["coreOnce.unit", "once.unit", "simulation"]
  },
  {
    name: "engine: any request has the answer of its key",
    find: "if (!isSame)",
    replace: "if (isSame === undefined)",
    sentence: "another request under a used idempotency key gets the answer of the first one",
    finders: ["once.unit", "simulation"]
  },
  {
    name: "engine: rows are removed before their time is over",
    find: "const now = core.newestCheckpoint?.now ?? 0 for",
    replace: "const now = (core.newestCheckpoint?.now ?? 0) * 2\n  for",
    sentence: "an idempotency key is forgotten with the next checkpoint, and its request is decided again",
    finders: ["once.unit", "simulation"]
  },
  {
    name: "engine: keys stay when their frame is not stored",
    find: "this.host.memory.keys.discard()",
    replace: "",
    sentence: "a request whose frame was refused has a reply, though nothing of it is stored",
    finders: ["coreOnce.unit", "simulation"]
  },
  {
    name: "engine: keys count as unseen before the stored ones are known",
    find: "return this.isComplete && !this.filter",
    replace: "return !this.filter",
    sentence: "behind a restart a request under a used idempotency key is decided again",
    finders: ["storedKeys.unit", "coreOnce.unit", "simulation"]
  },
  {
    name: "engine: keys are forgotten with their checkpoint",
    find: "stored.add(table.hashAt(count), table.untilAt(count))",
    replace: "",
    sentence: "a request under a used idempotency key is decided again once a checkpoint has the first one",
    finders: ["coreOnce.unit", "simulation"]
  },
  {
    name: "engine: a message that was taken in is decided again",
    find: 'if (last !== null && !isBehind(this.origin, last)) return received("repeated")',
    replace: 'if (last === this.origin) return received("repeated")',
    sentence: "a message that is sent again after a crash, or after an answer was lost, takes effect twice",
    finders: ["outbox.unit", "simulation"]
  },
  {
    name: "engine: the outbox's cursor moves before delivery",
    find: "return this.open[this.firstOpen]?.before ?? this.read",
    replace: "return this.read",
    sentence: "a message whose receiver was away when its sender crashed never arrives",
    finders: ["outbox.unit", "simulation"]
  },
  {
    name: "engine: messages overtake each other",
    find: "if (this.after !== undefined && (last === null || isBehind(this.after, last)))",
    replace: "if (this.after !== undefined && last === undefined)",
    sentence: "a message that waits for its actor is overtaken by the next one, and counts as taken in then",
    finders: ["simulation"]
  },
  {
    name: "engine: messages pass those that are parked",
    find: "if ((this.isAnyParked || this.parked.has(lane.receiver)) &&",
    replace: "if (this.isAnyParked &&",
    sentence: "a later message is taken in before one that is parked, which is lost then when it is sent again",
    finders: ["outbox.unit", "simulation"]
  },
  {
    name: "engine: a new epoch's messages are taken for repeats",
    find: "left[0] !== right[0] ? left[0] > right[0] : left[1]",
    replace: "left[1]",
    sentence: "after the end of a log was lost, messages at the places of lost ones are never decided",
    finders: ["outboxOrigins.unit"]
  },
  {
    name: "engine: a signal that its actor fails on is passed over",
    find: "if (!accepted && isAnAskError(value)) this.reportFailed(entry, describe(value))",
    replace: "",
    sentence: "a bounce is lost because of a fault in a rule that is repaired a day later",
    finders: ["parkedSignals.unit"]
  },
  {
    name: "engine: a frame is left out between a batch and what joins it",
    find: "this.partition.feed.after(batch.to.sequence, room)",
    replace: "this.partition.feed.after(batch.to.sequence + 1, room)",
    sentence: "a reactor under load never sees some records",
    finders: ["transactionPlaces.unit", "simulation"]
  },
  {
    name: "engine: a frame that does not fit a batch is skipped",
    find: "> maximumBatchRecords) break",
    replace: "> maximumBatchRecords) continue",
    sentence: "a reactor never sees the records of a frame that does not fit beside others",
    finders: ["reactorBatches.unit", "simulation"]
  },
  {
    name: "engine: parked records hold up none behind them",
    find: "yield* cursors.parkedAmong(id, this.reactor.name, suspected)",
    replace: "new Set<string>()",
    sentence: "records behind a parked one are done out of turn",
    finders: ["reactorBatches.unit", "reactor.unit", "simulation"]
  },
  {
    name: "engine: a cursor moves before its effects",
    find: "partition.context.cursors.transact(move, this.effects(batch, isIsolating)),",
    replace:
      "Effect.flatMap(partition.context.cursors.transact(move, Effect.void), () =>\n        partition.context.cursors.transact({ ...move, from: move.to }, this.effects(batch, isIsolating))\n      ),",
    sentence: "a crash between the two leaves effects out",
    finders: ["reactor.unit", "simulation"]
  },
  {
    name: "engine: a log is purged past a cursor",
    find: "for (const cursor of cursors) below = Math.min(below, cursor.sequence)",
    replace: "",
    sentence: "a reactor that lags never sees some records",
    finders: ["changesKept.unit", "simulation"]
  },
  {
    name: "engine: signals are removed up to the newest checkpoint",
    find: "const [, secondNewest] =",
    replace: "const [secondNewest] =",
    sentence: "a start from the checkpoint before the newest does not find signals that it has to read",
    finders: ["forgetting.unit", "simulation"]
  }
]
