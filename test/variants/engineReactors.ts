/** Variants of the engine: reactors, cursors and signals. */
import { simulation, src, unit } from "./engineFinders.ts"
import type { Variant } from "./runner/variant.ts"

export const engineReactors: ReadonlyArray<Variant> = [
  {
    name: "engine: a signal that cannot be read is passed over",
    file: src("shell/signalFeed"),
    find: "if (problem !== undefined) {\n          yield* parkSignal",
    replace: "if (problem === null) {\n          yield* parkSignal",
    sentence: "what another system reports is lost because of a mistake in a rule or in the report",
    finders: [unit("parkedSignals")]
  },
  {
    name: "engine: the place of a parked signal is not passed",
    file: src("shell/signalFeed"),
    find: "partition.core.intake.passOver(signal.sequence)",
    replace: "",
    sentence: "a parked signal is read again by the next start, and counts twice when it is tried again",
    finders: [unit("parkedSignals")]
  },
  {
    name: "engine: any number of signals is parked",
    file: src("shell/parkedSignals"),
    find: "counts[0]! >= maximumParkedSignals ||",
    replace: "",
    sentence: "one publisher fills the database with nonsense",
    finders: [unit("parkedSignals")]
  },
  {
    name: "engine: a signal that its rule rejects is parked",
    file: src("core/Decider"),
    find: "if (!accepted && isAnAskError(value)) this.reportFailed",
    replace: "if (!accepted) this.reportFailed",
    sentence: "operators look through signals that were decided",
    finders: [unit("parkedSignals")]
  },
  {
    name: "engine: a signal that its actor fails on is passed over",
    file: src("core/Decider"),
    find: "if (!accepted && isAnAskError(value)) this.reportFailed(entry, describe(value))",
    replace: "",
    sentence: "a bounce is lost because of a fault in a rule that is repaired a day later",
    finders: [unit("parkedSignals")]
  },
  {
    name: "engine: a cursor in memory moves without compare",
    file: src("memory/CursorsMemory"),
    find: "if (!samePlace(found, move.from)) {",
    replace: "if (found === undefined) {",
    sentence: "a reactor of a deposed owner does its effects a second time",
    finders: [{ kind: "unit", files: ["test/engine/contracts.unit.ts"] }, simulation]
  },
  {
    name: "engine: transactions of reactors have no bound",
    file: src("Engine"),
    find: "new TransactionPlaces(config.concurrentTransactions)",
    replace: "new TransactionPlaces(1_000_000)",
    sentence: "under load PostgreSQL makes twice the transactions for the same rows",
    finders: [unit("transactionPlaces")]
  },
  {
    name: "engine: a transaction that hangs keeps its place",
    file: src("shell/TransactionPlaces"),
    find: "Effect.andThen(Effect.sleep(Duration.millis(placeMillis)), leave)",
    replace: "Effect.never",
    sentence: "two partitions that wait for a lock hold up the projections of all others",
    finders: [unit("transactionPlaces")]
  },
  {
    name: "engine: what is committed while a reactor waits does not join",
    file: src("shell/reacting"),
    find: "isIsolating ? batch : this.grown(batch)",
    replace: "batch",
    sentence: "a reactor that waits for its place has as many transactions as before, one behind the other",
    finders: [unit("transactionPlaces")]
  },
  {
    name: "engine: a frame is left out between a batch and what joins it",
    file: src("shell/reacting"),
    find: "this.partition.feed.after(batch.to.sequence, room)",
    replace: "this.partition.feed.after(batch.to.sequence + 1, room)",
    sentence: "a reactor under load never sees some records",
    finders: [unit("transactionPlaces"), simulation]
  },
  {
    name: "engine: a frame that does not fit a batch is skipped",
    file: src("shell/batching"),
    find: "> maximumBatchRecords) break",
    replace: "> maximumBatchRecords) continue",
    sentence: "a reactor never sees the records of a frame that does not fit beside others",
    finders: [unit("reactorBatches"), simulation]
  },
  {
    name: "engine: a reactor does not hear of a retry",
    file: src("shell/reacting"),
    find: "yield* cursors.parkedAmong(id, this.reactor.name, suspected)",
    replace: "new Set(suspected)",
    sentence: "after an operator's retry the organization's next records are parked for ever",
    finders: [unit("reactorBatches"), simulation]
  },
  {
    name: "engine: parked records hold up none behind them",
    file: src("shell/reacting"),
    find: "yield* cursors.parkedAmong(id, this.reactor.name, suspected)",
    replace: "new Set<string>()",
    sentence: "records behind a parked one are done out of turn",
    finders: [unit("reactorBatches", "reactor"), simulation]
  },
  {
    name: "engine: a broken record does not stop those behind it",
    file: src("shell/parking"),
    find: "      parked.push(organization)\n      break\n",
    replace: "      parked.push(organization)\n",
    sentence: "records behind one that cannot be worked on are done out of turn, and again by the retry",
    finders: [unit("reactorBatches"), simulation]
  },
  {
    name: "engine: a cursor moves before its effects",
    file: src("shell/reacting"),
    find: "      partition.parts.cursors.transact(move, this.effects(batch, isIsolating)),",
    replace:
      "      Effect.flatMap(partition.parts.cursors.transact(move, Effect.void), () =>\n        partition.parts.cursors.transact({ ...move, from: move.to }, this.effects(batch, isIsolating))\n      ),",
    sentence: "a crash between the two leaves effects out",
    finders: [unit("reactor"), simulation]
  },
  {
    name: "engine: a new reactor's cursor is set without compare",
    file: src("shell/reacting"),
    find: "parts.cursors.transact(move, Effect.void)",
    replace: "parts.cursors.reset(beginning)",
    sentence: "an owner that was replaced sets a reactor back to the beginning, and effects are done again",
    finders: [unit("foundBySeeds"), simulation]
  },
  {
    name: "engine: a log is purged past a cursor",
    file: src("shell/purge"),
    find: "for (const cursor of cursors) below = Math.min(below, cursor.sequence)",
    replace: "",
    sentence: "a reactor that lags never sees some records",
    finders: [unit("changesKept"), simulation]
  },
  {
    name: "engine: a shutdown does not end a reactor's wait",
    file: src("shell/pacing"),
    find: "      partition.isClosing ||\n",
    replace: "",
    sentence: "what a reactor's pace has held back waits until the next start",
    finders: [unit("pace")]
  },
  {
    name: "engine: a reactor that waits holds up a purge",
    file: src("shell/pacing"),
    find: "      partition.wantsPositions ||\n",
    replace: "",
    sentence: "a log that is nearly full is purged later than it could be",
    finders: [unit("pace")]
  },
  {
    name: "engine: a reactor waits until its feed overflows",
    file: src("shell/pacing"),
    find: "Math.min(maximumBatchFrames, feedFrames * crowdedShare)",
    replace: "maximumBatchFrames",
    sentence: "a reactor reads from the log what it could have had from memory",
    finders: [unit("pace")]
  },
  {
    name: "engine: signals are removed up to the newest checkpoint",
    file: src("shell/purge"),
    find: "const [, secondNewest] =",
    replace: "const [secondNewest] =",
    sentence: "a start from the checkpoint before the newest does not find signals that it has to read",
    finders: [unit("forgetting"), simulation]
  },
  {
    name: "engine: signals are removed up to any place",
    file: src("shell/purge"),
    find: "through >= 1 && through <= decidedThrough",
    replace: "through <= decidedThrough",
    sentence: "a server takes a purge below the first signal as one of all of them",
    finders: [unit("forgetting")]
  },
  {
    name: "engine: signals are read again after a restart",
    file: src("shell/signalFeed"),
    find: "let after = partition.core.head.signalSequence",
    replace: "let after = 0",
    sentence: "a signal counts again after a restart",
    finders: [unit("reactor"), simulation]
  }
]
