/** How commands speak: results on stdout (tables, or one JSON object with `--json`), everything else on stderr. */
import { resolve } from "node:path"
import { Console, Effect, Schema, SchemaIssue } from "effect"
import { CliError } from "effect/cli"
import { HttpClientError } from "effect/http"
import { explainFull } from "../embedded/room.ts"

/**
 * Turns expected failures into one sentence on stderr and a non-zero exit. Where the disk of the data folder is full, that
 * is the sentence: what failed for want of room says everything but that.
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

/** What says no whatever room there is: it is about what was asked. */
const judgements = new Set(
  ["InvalidRequest", "NotFound", "Conflict", "Unauthorized"].map((name) => `Envelope${name}`).concat("DataFolderInUse")
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
  // What a command was given is checked before it is sent.
  if (Schema.isSchemaError(error)) {
    const issue = issuesOf(error.issue).issues[0]
    const field = (issue?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
    return `Invalid ${field === "" ? "input" : field}. ${issue?.message ?? "It has the wrong form"}.`
  }
  if (typeof error === "object" && error !== null) {
    // An error of the admin API has its sentence inside the generic envelope.
    const inner = "error" in error ? error.error : undefined
    if (typeof inner === "object" && inner !== null && "message" in inner) return String(inner.message)
    if ("message" in error && String(error.message) !== "") return String(error.message)
  }
  return String(error)
}

/** One JSON object on a line of its own. */
export const printJson = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value))

/** Columns aligned to their widest cell; says so when there is nothing. */
export const printTable = (
  header: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  nothing: string
): Effect.Effect<void> => {
  if (rows.length === 0) return Console.log(nothing)
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return Console.log(
    all
      .map((row) =>
        row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join("  ")
          .trimEnd()
      )
      .join("\n")
  )
}

/** A point in time as a person reads it, UTC. */
export const shownTime = (millis: number | null): string =>
  millis === null ? "-" : new Date(millis).toISOString().replace("T", " ").slice(0, 16)
