/**
 * Sends a batch of rows as one array parameter per column, and a value as one JSON parameter, which the client cannot
 * infer from a JavaScript value. Needs no service.
 */
import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"
import { Statement } from "effect/sql"

/** Any value, arrays, strings and null included, as one `json` or `jsonb` parameter. */
export const json = (value: unknown): Statement.Fragment =>
  Statement.fragment([Statement.parameter(JSON.stringify(value) ?? null)])

/** Element types that {@link unnest} can send. */
export type UnnestType =
  | "bool"
  | "bytea"
  | "date"
  | "float4"
  | "float8"
  | "int2"
  | "int4"
  | "int8"
  | "json"
  | "jsonb"
  | "numeric"
  | "text"
  | "timestamp"
  | "timestamptz"
  | "uuid"

/** Types whose elements travel in binary form. The others go as text, and the cast reads them. */
const binaryTypes: Partial<Record<UnnestType, number>> = {
  bool: PgTypes.OID.bool,
  bytea: PgTypes.OID.bytea,
  float4: PgTypes.OID.float4,
  float8: PgTypes.OID.float8,
  int2: PgTypes.OID.int2,
  int4: PgTypes.OID.int4,
  int8: PgTypes.OID.int8
}

const identity = (value: unknown): unknown => value ?? null

const textOf = (value: unknown): string | null => {
  // No column holds U+0000. What comes here was checked where it came in; what was stored before must not hold up the
  // rows beside it.
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value
  if (value === null || value === undefined) return null
  return value instanceof Date ? value.toISOString() : String(value)
}

const jsonTextOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : (JSON.stringify(value) ?? null)

const columnOf = (type: UnnestType, rows: ReadonlyArray<Readonly<Record<string, unknown>>>, name: string) => {
  const binary = binaryTypes[type]
  const form = binary !== undefined ? identity : type === "json" || type === "jsonb" ? jsonTextOf : textOf
  const values = new Array<unknown>(rows.length)
  for (let index = 0; index < rows.length; index++) values[index] = form(rows[index]![name])
  return Result.getOrThrow(PgTypes.array(values, binary ?? PgTypes.OID.text))
}

const escapeIdentifier = Statement.defaultEscape('"')

/**
 * Rows as one array parameter per column, for `INSERT INTO t (a, b) SELECT a, b FROM ${unnest(rows, { a: "text", b:
 * "int4" })}`. The statement's text does not depend on the number of rows, so it is prepared once and stays under the
 * limit of parameters. The columns of the resulting relation `batch` are named and ordered as in `types`; an empty
 * batch has no rows. A null is SQL's null in a column of any type, `json` included.
 */
export const unnest = <Columns extends Readonly<Record<string, UnnestType>>>(
  rows: ReadonlyArray<{ readonly [Column in keyof Columns]: unknown }>,
  types: Columns
): Statement.Fragment => {
  const segments: Array<Statement.Segment> = [Statement.literal("unnest(")]
  const names = Object.keys(types)
  for (const [index, name] of names.entries()) {
    const type = types[name]!
    if (index > 0) segments.push(Statement.literal(","))
    segments.push(Statement.parameter(columnOf(type, rows, name)), Statement.literal(`::${type}[]`))
  }
  segments.push(Statement.literal(`) AS batch(${names.map(escapeIdentifier).join(",")})`))
  return Statement.fragment(segments)
}
