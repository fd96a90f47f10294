/** How commands speak: results on stdout (tables, or one JSON object with `--json`), everything else on stderr. */
import { Console, Effect, Schema, SchemaIssue } from "effect"
import { CliError } from "effect/cli"
import { HttpClientError } from "effect/http"

/** Turns expected failures into one sentence on stderr and a non-zero exit. */
export const explained = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, CliError.UserError, R> =>
  Effect.mapError(effect, (error) => new CliError.UserError({ cause: error, userMessage: sentenceOf(error) }))

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
