/**
 * Adds to the API's description an example of every body, answer and error, and the few facts that linters ask for and
 * code cannot know. Pure.
 */

import { type ErrorCode, errorTable } from "../http/errorTable.ts"
import { directoryExamples, systemExamples, telcoExamples } from "./examples/directoryExamples.ts"
import type { OperationExamples } from "./examples/OperationExamples.ts"
import { accessExamples, billingExamples, memberExamples } from "./examples/platformExamples.ts"
import { accountExamples, emailExamples, senderExamples } from "./examples/sendExamples.ts"
import { eventExamples, webhookExamples, webhookFigureExamples } from "./examples/webhookExamples.ts"

// Makes an example of an error's body from its schema. Pure.

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

interface Schema extends ErrorSchema {
  readonly $ref?: string
  readonly format?: string
  readonly anyOf?: ReadonlyArray<Schema>
}

interface Content {
  readonly schema: Schema
  example?: unknown
  examples?: unknown
}

interface Response {
  description?: string
  headers?: unknown
  readonly content?: Readonly<Record<string, Content>>
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Record<string, Response>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Every operation's examples. */
export const operationExamples = (): OperationExamples => ({
  ...directoryExamples(),
  ...telcoExamples(),
  ...systemExamples(),
  ...eventExamples(),
  ...webhookExamples(),
  ...webhookFigureExamples(),
  ...emailExamples(),
  ...senderExamples(),
  ...accountExamples(),
  ...billingExamples(),
  ...accessExamples(),
  ...memberExamples()
})

/** Every operation answers this to a path or a query that is too long; those without another 4xx say so. */
const tooLong: Response = { description: "The path or the query is too long" }

const isFailure = (status: string): boolean => /^[45]/.test(status)

const putError = (content: Content, status: string, { schemas }: Document["components"]): void => {
  const resolved = ({ $ref, ...own }: Schema): Schema => ($ref === undefined ? own : schemas[$ref.split("/").at(-1)!]!)
  const { anyOf } = content.schema
  if (anyOf === undefined) {
    content.example = errorExample(resolved(content.schema), status).body
    return
  }
  const named = anyOf.map((one) => errorExample(resolved(one), status))
  content.examples = Object.fromEntries(named.map(({ body, code }) => [code.replaceAll(/\W+/g, "_"), { value: body }]))
}

/** First bytes of audio files; a description in JSON cannot have the rest. */
const firstBytes: Readonly<Record<string, string>> = { "audio/wav": "RIFF", "audio/mpeg": "ID3", "audio/ogg": "OggS" }

const audioExamples = (type: string) => ({
  beginning: { summary: "The file's bytes, of which these are the first", value: firstBytes[type] }
})

/** Completes a description whose schemas have their names. */
export const describeExamples = (given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const document = structuredClone(given) as unknown as Document
  const examples = operationExamples()
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const { requestBody, responses } = operation
    const example = examples[operation.operationId] ?? {}
    for (const content of Object.values(requestBody?.content ?? {})) content.example = example.body
    if (!Object.keys(responses).some((status) => status.startsWith("4"))) responses["414"] = structuredClone(tooLong)
    for (const [status, { content = {} }] of Object.entries(responses)) {
      for (const [type, one] of Object.entries(content)) {
        if (one.schema.format === "binary") {
          one.examples = audioExamples(type)
          continue
        }
        const failure = example.failures?.[status]
        if (failure !== undefined) one.example = failure
        else if (isFailure(status)) putError(one, status, document.components)
        else one.example = example.answer
      }
    }
  }
  return document as unknown as Record<string, unknown>
}
