/**
 * Defines why a file of the number directory is refused: its bytes could not be read (`SourceUnreadable`), it is no
 * file of a known kind (`NotRecognized`), or it is too damaged to replace the stored data (`Refused`). Sources are
 * named without the credentials and the query of an address.
 */
import { Schema } from "effect"
import { datasetKinds } from "../model.ts"

/** The reasons why a source cannot be read. */
export const sourceFaults = [
  "NotFound",
  "NotReadable",
  "NotAFile",
  "UnsupportedAddress",
  "HttpStatus",
  "TooManyRedirects",
  "Connection",
  "Timeout",
  "TooLarge",
  "Corrupt",
  "Truncated"
] as const
export type SourceFault = (typeof sourceFaults)[number]

/** The bytes of a source could not be read, or not all of them. See {@link openSource}. */
export class SourceUnreadable extends Schema.TaggedError<SourceUnreadable>()("SourceUnreadable", {
  source: Schema.String,
  reason: Schema.Literals(sourceFaults),
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** Nothing in the source is a file of a known kind. See {@link openSource}. */
export class NotRecognized extends Schema.TaggedError<NotRecognized>()("NotRecognized", {
  source: Schema.String,
  /** The first bytes, printable and short. */
  seen: Schema.String,
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** Lines that are no records: all counted, the first ones listed. See {@link readFile}. */
export const MalformedLines = Schema.Struct({
  total: Schema.Int,
  /** At most `listedMalformedLimit`; `line` counts from 1 and includes the header. */
  listed: Schema.Array(Schema.Struct({ line: Schema.Int, reason: Schema.String }))
})
export type MalformedLines = typeof MalformedLines.Type

/** Why a recognised file was refused. */
export const refusals = ["NoRecords", "Truncated", "TooManyMalformed", "Changed"] as const
export type Refusal = (typeof refusals)[number]

/** A recognised file that must not replace what is stored (docs/directory.md, 6.3). See {@link readFile}. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  source: Schema.String,
  kind: Schema.Literals(datasetKinds),
  reason: Schema.Literals(refusals),
  /** Data lines read. */
  lines: Schema.Int,
  malformed: MalformedLines,
  /** One sentence for a person. */
  message: Schema.String
}) {}
