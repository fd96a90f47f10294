/**
 * Statements of effect/sql as PostgreSQL's SQL: `$n` placeholders, identifiers in double quotes, and two forms that the
 * driver cannot guess from a JavaScript value: a JSON parameter, and a batch of rows as one array per column.
 */
import { Statement } from "effect/sql"
import { binaryArray } from "./binaryArrays.ts"

interface PgJson extends Statement.Custom<"PgJson", unknown> {}
const pgJson = Statement.custom<PgJson>("PgJson")

/** Any value, arrays, strings and null included, as one `json` or `jsonb` parameter. */
export const json = (value: unknown): Statement.Fragment => Statement.fragment([pgJson(value, undefined, undefined)])

const escapeIdentifier = Statement.defaultEscape('"')

export const make = (): Statement.Compiler =>
  Statement.makeCompiler<PgJson>({
    dialect: "pg",
    placeholder: (index) => `$${index}`,
    onIdentifier: escapeIdentifier,
    onRecordUpdate: (placeholders, alias, columns, values, returning) => [
      `(VALUES ${placeholders}) AS ${alias}${columns}${returning === undefined ? "" : ` RETURNING ${returning[0]}`}`,
      returning === undefined ? values.flat() : [...values.flat(), ...returning[1]]
    ],
    onCustom: (segment, placeholder) => [placeholder(undefined), [JSON.stringify(segment.paramA) ?? null]]
  })

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

/**
 * Rows as one array parameter per column, for `INSERT INTO t (a, b) SELECT a, b FROM ${unnest(rows, { a: "text", b:
 * "int4" })}`. The text does not depend on the number of rows, so that it is prepared once, and no limit of parameters
 * is met. The columns of the resulting relation `batch` are named and ordered as in `types`; an empty batch has no rows.
 * A null is SQL's null in a column of any type, `json` included.
 */
export const unnest = <Columns extends Readonly<Record<string, UnnestType>>>(
  rows: ReadonlyArray<{ readonly [Column in keyof Columns]: unknown }>,
  types: Columns
): Statement.Fragment => {
  const segments: Array<Statement.Segment> = [Statement.literal("unnest(")]
  const names = Object.keys(types)
  for (const [index, name] of names.entries()) {
    const type = types[name]!
    const isJson = type === "json" || type === "jsonb"
    const column = rows.map((row) => (isJson ? jsonText(row[name]) : row[name]))
    if (index > 0) segments.push(Statement.literal(","))
    segments.push(Statement.parameter(binaryArray(type, column) ?? column), Statement.literal(`::${type}[]`))
  }
  segments.push(Statement.literal(`) AS batch(${names.map(escapeIdentifier).join(",")})`))
  return Statement.fragment(segments)
}

const jsonText = (value: unknown): string | null =>
  value === null || value === undefined ? null : (JSON.stringify(value) ?? null)
