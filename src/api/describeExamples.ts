/**
 * Adds to the API's description an example of every body, answer and error, and the few facts that linters ask for and
 * code cannot know. Pure.
 */
import { type ErrorSchema, errorExample } from "./errorExample.ts"
import { directoryExamples, systemExamples, telcoExamples } from "./examples/directoryExamples.ts"
import type { OperationExamples } from "./examples/OperationExamples.ts"
import { accessExamples, billingExamples } from "./examples/platformExamples.ts"
import { accountExamples, emailExamples, senderExamples } from "./examples/sendExamples.ts"
import { eventExamples, webhookExamples } from "./examples/webhookExamples.ts"

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
  ...emailExamples(),
  ...senderExamples(),
  ...accountExamples(),
  ...billingExamples(),
  ...accessExamples()
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
