/** Makes an example of an error's body from its schema. Pure. */
import { type ErrorCode, errorTable } from "../http/errorTable.ts"

export interface ErrorSchema {
  readonly enum?: ReadonlyArray<unknown>
  readonly properties?: Readonly<Record<string, ErrorSchema>>
}

/** Messages as a caller may read them. */
const messages: Partial<Record<ErrorCode, string>> = {
  invalid_request: 'limit must be an integer from 1 to 100, not "many"',
  unauthorized: "This API key is not known.",
  not_found: "Nothing has the id that the path names.",
  conflict: "The email is sent already.",
  rate_limited: "The organization's 600 requests of this minute are used up. Retry after 12 s.",
  probation_limit_reached: "The probation limit of 50 emails per hour is reached. Retry after 3577 s.",
  monthly_limit_reached: "The plan's 3000 emails of this month are used up.",
  internal_error: "This should not have happened. Quote req_6f0e2f7c when you report it.",
  unavailable: "The database cannot be reached now. Repeat the request with the same Idempotency-Key."
}

/** Fields that errors have beside their code and message. */
const fields: Readonly<Record<string, unknown>> = {
  limit: 50,
  used: 50,
  resetsAt: "2026-01-01T01:00:00.000Z",
  upgradeUrl: "https://sluice.example/upgrade"
}

const messageOf = (code: ErrorCode): string => messages[code] ?? `${errorTable[code].description}.`

/** The first code with a status: that of errors that are a sentence. */
const codeOf = (status: string): ErrorCode =>
  (Object.keys(errorTable) as ReadonlyArray<ErrorCode>).find((code) => `${errorTable[code].status}` === status) ??
  "invalid_request"

/** The value of a schema that has one value, such as that of a code. */
const constant = (schema: ErrorSchema | undefined): unknown => schema?.enum?.[0]

/** An example of the body, and the code that it tells. `status` decides where the body has no code. */
export const errorExample = (
  { properties = {} }: ErrorSchema,
  status: string
): { readonly code: string; readonly body: Readonly<Record<string, unknown>> } => {
  const given = constant(properties.code) ?? constant(properties.error)
  const inner = properties.error?.properties === undefined ? undefined : errorExample(properties.error, status)
  const code = inner?.code ?? (given === undefined ? codeOf(status) : String(given))
  const text = code in errorTable ? messageOf(code as ErrorCode) : code
  const body = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      name === "error" && inner !== undefined ? inner.body : (constant(schema) ?? fields[name] ?? text)
    ])
  )
  return { code, body }
}
