/** Variants of streams in and out: places of ingests, and what is published. */
import type { Variant } from "./runner/variant.ts"

export const engineStreams: ReadonlyArray<Variant> = [
  {
    name: "engine: an ingest's next life goes on where the last one had read",
    find: "progress.read = this.place",
    replace: "progress.read ??= this.place",
    sentence: "messages that were read and whose frame was not stored are never decided",
    finders: ["ingest.unit"]
  },
  {
    name: "engine: an ingest reads ahead by any number of bytes",
    find: "this.entries.length < maximumQueuedSignals && this.bytes < maximumQueuedIngestBytes",
    replace: "this.entries.length < maximumQueuedSignals",
    sentence: "large messages fill the memory of the process",
    finders: ["ingestPlaces.unit"]
  },
  {
    name: "engine: signals always go before ingests",
    find: "this.turns = (this.turns + 1) % this.all.length",
    replace: "this.turns = 0",
    sentence: "one busy stream keeps the others waiting",
    finders: ["ingestPlaces.unit"]
  },
  {
    name: "engine: messages on which an actor fails are read without a pause",
    find: "yield* partition.failedSignals.room",
    replace: "",
    sentence: "failed messages that wait to be parked are dropped",
    finders: ["ingest.unit"]
  },
  {
    name: "engine: a reader that lags does not look for what was purged",
    find: "if (this.behind > 0) yield* this.check()",
    replace: "",
    sentence: "a purge behind a lagging ingest is skipped silently",
    finders: ["programStreams.it"]
  },
  {
    name: "engine: a checkpoint leaves out the places of ingests",
    find: "const record = { partition: this.options.partition, sequence, hash, epoch, number, now, ...placesOf(head) }",
    replace:
      "const record = { partition: this.options.partition, sequence, hash, epoch, number, now, signalSequence: placesOf(head).signalSequence }",
    sentence: "messages that a checkpoint covers are decided again at the next start",
    finders: ["ingest.unit"]
  },
  {
    name: "engine: an ingest's place moves over messages that wait",
    find: "if (size === 0 && place !== undefined && passed > place)",
    replace: "if (size >= 0 && place !== undefined && passed > place)",
    sentence: "messages that were read and not decided when the process ended are never decided",
    finders: ["ingestPlaces.unit"]
  },
  {
    name: "engine: an ingest goes on where its stream has dropped messages",
    find: "if (after + 1 < first)",
    replace: "if (after + 1 < 0)",
    sentence: "messages that a stream has dropped before they were read are skipped, and nobody is told",
    finders: ["ingest.unit", "contracts.unit"]
  },
  {
    name: "engine: an ingest writes places beside older programs",
    find: "level() < formatLevels.ingestPlaces",
    replace: "level() < formatLevels.first",
    sentence: "an older program that takes the partition over cannot read its frames",
    finders: ["ingest.unit"]
  },
  {
    name: "engine: every partition parks a message of nobody",
    find: "const isParkedHere = isAlone || message.sequence % partitions === partition",
    replace: "const isParkedHere = isAlone || partition >= 0",
    sentence: "a message that names no organization is parked once for each partition",
    finders: ["ingestRules.unit", "ingest.unit"]
  },
  {
    name: "engine: the beginning of a new ingest is not recorded",
    find: "core.intake.passOver(start, ingest.name)",
    replace: "",
    sentence: "an ingest that begins behind the newest message begins elsewhere after a restart",
    finders: ["ingest.unit"]
  },
  {
    name: "engine: an organization's records are published side by side",
    find: "(group) => Effect.forEach(group, (record) => this.one(record), { discard: true }),",
    replace:
      '(group) => Effect.forEach(group, (record) => this.one(record), { discard: true, concurrency: "unbounded" }),',
    sentence: "a consumer sees the facts of an organization in another order, once an answer is lost",
    finders: ["publish.unit"]
  },
  {
    name: "engine: messages of different frames share an id",
    find: "return `${this.options.name}.${partition}.${sequence}.${index}.${now}`",
    replace: "return `${this.options.name}.${partition}.${index}.${now}`",
    sentence: "facts are taken for repeats of others, and are not stored",
    finders: ["publish.unit"]
  },
  {
    name: "engine: records are parked while their stream is away",
    find: "error instanceof CursorsUnavailable || error instanceof StreamUnavailable",
    replace: "error instanceof CursorsUnavailable",
    sentence: "facts wait for an operator because a stream did not answer for a second",
    finders: ["publish.unit"]
  },
  {
    name: "engine: acknowledged records are published again",
    find: "if (this.acknowledged.has(record.partition, id)) return",
    replace: "",
    sentence: "a consumer sees facts twice once a stream was away for longer than its duplicate window",
    finders: ["publish.unit"]
  },
  {
    name: "engine: a message counts as published before its stream has answered",
    find: "yield* this.streams.publish(message)\n    this.acknowledged.add(record.partition, id, record.sequence)",
    replace: "this.acknowledged.add(record.partition, id, record.sequence)\n    yield* this.streams.publish(message)",
    sentence: "a fact never reaches its stream, if the stream did not answer once",
    finders: ["streams"]
  },
  {
    name: "engine: the place of an ingest is not carried from frame to frame",
    find: "const after = progress.read ?? 0",
    replace: "const after = Math.max(0, (progress.read ?? 0) - 1)\n    progress.read = after",
    sentence: "the last message is decided again after each subscription",
    finders: ["streams"]
  },
  {
    name: "engine: a rebuild that hangs keeps its reactor",
    find: "deadline(moved as Moved, rebuildDeadlineMillis, unanswered),",
    replace: "moved as Moved,",
    sentence: "a reactor stops for good because the database did not answer an operator",
    finders: ["streams", "reactors.unit"]
  }
]
