/** Prints the output of commands: results on stdout (tables, or JSON with `--json`), everything else on stderr. */
import { resolve } from "node:path"
import { Console, Effect, PlatformError, Schema, SchemaIssue } from "effect"
import { CliError } from "effect/cli"
import { HttpClientError } from "effect/http"
import { explainFull } from "../embedded/room.ts"

/**
 * Turns expected failures into one sentence on stderr and a non-zero exit. When the disk of the data folder is full,
 * the sentence says so, because the failure itself would not.
 */
export const explained = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  dataDir?: string
): Effect.Effect<A, CliError.UserError, R> =>
  Effect.catch(effect, (error) =>
    Effect.flatMap(dataDir === undefined || isJudged(error) ? noReason : explainFull(resolve(dataDir)), (full) =>
      Effect.fail(
        new CliError.UserError({ cause: error, userMessage: (full ?? { message: sentenceOf(error) }).message })
      )
    )
  )

const noReason = Effect.succeed(undefined)

/** Errors about the request itself, which room on the disk would not change. */
const judgements = new Set(
  ["InvalidRequest", "NotFound", "Conflict", "Unauthorized"]
    .map((name) => `Envelope${name}`)
    .concat("DataFolderInUse", "NoPlatform")
)

const isJudged = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && judgements.has(String(error._tag))

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

const sentenceOf = (error: unknown): string => {
  if (HttpClientError.isHttpClientError(error)) {
    const { origin, pathname } = new URL(error.request.url)
    return error.reason._tag === "TransportError"
      ? `The platform at ${origin} does not answer. If it is being stopped or started, try again when that is done.`
      : `The answer of the platform at ${origin} to ${pathname} broke off, or this version cannot read it (${error.reason._tag}).`
  }
  // A command's arguments are checked before they are sent.
  if (Schema.isSchemaError(error)) {
    const issue = issuesOf(error.issue).issues[0]
    const field = (issue?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
    return `Invalid ${field === "" ? "input" : field}. ${issue?.message ?? "It has the wrong form"}.`
  }
  if (typeof error === "object" && error !== null) {
    // The admin API puts its sentence inside the generic envelope.
    const inner = "error" in error ? error.error : undefined
    if (typeof inner === "object" && inner !== null && "message" in inner) return String(inner.message)
    if ("message" in error && String(error.message) !== "") return String(error.message)
  }
  return String(error)
}

/** One JSON object on a line of its own. */
export const printJson = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value))

/** Columns aligned to their widest cell, as lines. */
export const tableText = (header: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** Prints a table; says so when there is nothing. */
export const printTable = (
  header: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  nothing: string
): Effect.Effect<void> => Console.log(rows.length === 0 ? nothing : tableText(header, rows))

/** A point in time as a person reads it: `2026-01-31 09:05 UTC`. */
export const shownTime = (millis: number | null): string =>
  millis === null ? "-" : `${new Date(millis).toISOString().replace("T", " ").slice(0, 16)} UTC`

/** Whether the reader of stdout has all that it wanted, such as `head`. */
export const hasNoReader = (error: unknown): boolean =>
  error instanceof PlatformError.PlatformError &&
  error.reason.cause instanceof Error &&
  "code" in error.reason.cause &&
  error.reason.cause.code === "EPIPE"
