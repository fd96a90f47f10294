import { Schema } from "effect"
import { NothingToRetire, OlderPublication, StillNamed, TooManyRemovals } from "./fileAdmission.ts"
import { MalformedLines, NotRecognized, Refused, SourceUnreadable } from "./files/errors.ts"
import { datasetKinds } from "./model.ts"

/**
 * Defines the progress of an ingestion, its end, and its entry in the history (docs/directory.md, 6). The
 * command line, the admin API and the worker thread speak in these shapes. Times are ISO 8601 in UTC.
 */

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const DatasetKind = Schema.Literals(datasetKinds).annotate({
  description:
    "NANPA US codes, CNAC Canadian codes, CARRIER_TYPES the carrier type list, NPA_REPORT the NPA report, NANPA_BLOCKS the US thousands blocks"
})

/**
 * The step of an ingestion: `opening` the source (a download, recognising), `reading` a file of it, `comparing` the
 * records with what is stored, `storing` the difference; `waiting` while others do that, or too many are under way.
 */
export const ingestionPhases = ["waiting", "opening", "reading", "comparing", "storing"] as const
export type IngestionPhase = (typeof ingestionPhases)[number]

/** A step of a running ingestion, a few times a second. See {@link Ingestions}. */
export const IngestionProgress = Schema.TaggedStruct("Progress", {
  source: Schema.String,
  phase: Schema.Literals(ingestionPhases),
  rows: Count.annotate({ description: "Records read so far" }),
  fraction: Schema.NullOr(Schema.Number).annotate({
    description: "Share of the source that was read, 0 to 1; null where its size is not known"
  }),
  detail: Schema.optionalKey(Schema.String).annotate({ description: "The step that it waits for, and why" })
}).annotate({ identifier: "IngestionProgress" })
export type IngestionProgress = typeof IngestionProgress.Type

/** A record that an ingestion adds, changes or removes, before and after. See {@link Ingestions}. */
export const ShownChange = Schema.Struct({
  key: Schema.String.annotate({ description: "Key of the record: `212-556`, `212-556-0`, an OCN, an area code" }),
  change: Schema.Literals(["added", "changed", "removed"]),
  before: Schema.NullOr(Schema.JsonObject),
  after: Schema.NullOr(Schema.JsonObject)
}).annotate({ identifier: "ShownChange" })
export type ShownChange = typeof ShownChange.Type

/**
 * A file that was taken. Added, changed and removed count records; all 0 when the file holds what is stored. See
 * {@link Ingestions}.
 */
export const IngestionSummary = Schema.TaggedStruct("Ingested", {
  source: Schema.String,
  kind: DatasetKind,
  publicationDate: Schema.NullOr(Schema.String).annotate({
    description: "Date the file names as its own, YYYY-MM-DD",
    examples: ["2026-07-06"]
  }),
  sha256: Schema.String,
  read: Count,
  added: Count,
  changed: Count,
  removed: Count,
  changes: Schema.Array(ShownChange).annotate({
    description: "The first changes by key, at most 100; empty for the first file of its kind"
  }),
  malformed: MalformedLines,
  kept: Count.annotate({
    description: "Records that the file does not have and that stay, because malformed lines may be about them"
  }),
  leftOut: Schema.Array(Schema.String).annotate({
    description: "Stored area codes that the file does not name; they stay"
  }),
  retired: Schema.Array(Schema.String).annotate({
    description: "Area codes that were removed because it was asked for"
  }),
  refusal: Schema.NullOr(Schema.String).annotate({
    description: "Of a dry run: why the file would not be taken; null where it would"
  }),
  durationMillis: Count,
  dryRun: Schema.Boolean.annotate({ description: "The difference was computed and nothing was stored" })
}).annotate({ identifier: "IngestionSummary" })
export type IngestionSummary = typeof IngestionSummary.Type

/**
 * A file of one country has codes that are stored as the other country's, so one of the two files is wrong. See
 * {@link Ingestions}.
 */
export class ConflictingCodes extends Schema.TaggedError<ConflictingCodes>()("ConflictingCodes", {
  source: Schema.String,
  kind: DatasetKind,
  count: Schema.Int,
  /** Some of them, NPA-NXX. */
  examples: Schema.Array(Schema.String),
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** The reason that stopped an ingestion of a good file. */
export const stopReasons = ["DatabaseAway", "DatabaseBusy", "DatabaseFull", "DatabaseRefused", "WorkerEnded"] as const
export type StopReason = (typeof stopReasons)[number]

/**
 * The database or the worker gave up. The file is stored as a whole or not at all, and may be ingested again. See
 * {@link Ingestions}.
 */
export class IngestionStopped extends Schema.TaggedError<IngestionStopped>()("IngestionStopped", {
  source: Schema.String,
  reason: Schema.Literals(stopReasons),
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** Every way in which a file is not taken. Readers keep the records stored before. */
export const IngestionError = Schema.Union([
  SourceUnreadable,
  NotRecognized,
  Refused,
  ConflictingCodes,
  OlderPublication,
  TooManyRemovals,
  StillNamed,
  NothingToRetire,
  IngestionStopped
])
export type IngestionError = typeof IngestionError.Type

/** A file that was not taken, and why. The files after it are tried all the same. See {@link Ingestions}. */
export const IngestionFailure = Schema.TaggedStruct("Failed", {
  source: Schema.String,
  code: Schema.String.annotate({ description: "Kind of the fault", examples: ["TooManyMalformed"] }),
  message: Schema.String
}).annotate({ identifier: "IngestionFailure" })
export type IngestionFailure = typeof IngestionFailure.Type

/** A file of an archive that is none of the known kinds. See {@link Ingestions}. */
export const IngestionSkipped = Schema.TaggedStruct("Skipped", {
  source: Schema.String,
  reason: Schema.String
}).annotate({ identifier: "IngestionSkipped" })
export type IngestionSkipped = typeof IngestionSkipped.Type

/** An event of a running ingestion: progress, or a file that was taken, skipped or failed. See {@link Ingestions}. */
export const IngestionEvent = Schema.Union([IngestionProgress, IngestionSummary, IngestionSkipped, IngestionFailure])
export type IngestionEvent = typeof IngestionEvent.Type

/** One finished ingestion as history keeps it. See {@link Ingestions}. */
export const IngestionRecord = Schema.Struct({
  id: Count,
  kind: DatasetKind,
  source: Schema.String,
  publicationDate: Schema.NullOr(Schema.String),
  sha256: Schema.String,
  startedAt: Schema.String,
  finishedAt: Schema.String,
  read: Count,
  added: Count,
  changed: Count,
  removed: Count,
  malformed: Count
}).annotate({ identifier: "IngestionRecord" })
export type IngestionRecord = typeof IngestionRecord.Type

/** A file that a process works on now. See {@link Ingestions}. */
export const PresentIngestion = Schema.Struct({
  source: Schema.String,
  startedAt: Schema.Int.annotate({ description: "When its run began, milliseconds since the Unix epoch" }),
  phase: Schema.Literals(ingestionPhases),
  rows: Count.annotate({ description: "Records read so far" }),
  fraction: Schema.NullOr(Schema.Number).annotate({ description: "Share of the source that was read, 0 to 1" }),
  isDry: Schema.Boolean.annotate({ description: "Nothing is to be stored" })
}).annotate({ identifier: "PresentIngestion" })
export type PresentIngestion = typeof PresentIngestion.Type

/** A file that was not taken, as it is kept. See {@link Ingestions}. */
export const IngestionFailureRecord = Schema.Struct({
  id: Count,
  at: Schema.String,
  source: Schema.String,
  code: Schema.String.annotate({ description: "Kind of the fault", examples: ["TooManyMalformed"] }),
  message: Schema.String
}).annotate({ identifier: "IngestionFailureRecord" })
export type IngestionFailureRecord = typeof IngestionFailureRecord.Type
