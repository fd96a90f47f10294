/**
 * Adds to the derived OpenAPI document the facts that it cannot know: the forms in which a key is given, the endpoints
 * that need one, that integers in a query are integers, and every error code.
 */

import { errorStatus } from "../http/errors.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { defaultPageSize, maximumPageSize } from "../http/parameters.ts"

interface Response {
  readonly content?: Record<string, Record<string, unknown>>
}

interface BodySchema {
  readonly $ref?: string
  readonly type?: string
  readonly anyOf?: ReadonlyArray<{ readonly type?: string }>
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: ReadonlyArray<string>
}

interface Body {
  readonly schema: BodySchema
}

interface Operation {
  readonly tags?: ReadonlyArray<string>
  readonly responses?: Record<string, Response>
  security?: ReadonlyArray<Record<string, ReadonlyArray<string>>>
  requestBody?: { required?: boolean; readonly content: Record<string, Body> }
  parameters?: ReadonlyArray<{ readonly name: string; readonly in: string; schema: Record<string, unknown> }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: Record<string, unknown> & { readonly schemas?: Readonly<Record<string, BodySchema>> }
  info: { description?: string }
}

const integerParameters: Record<string, Record<string, unknown>> = {
  limit: { type: "integer", minimum: 1, maximum: maximumPageSize, default: defaultPageSize },
  offset: { type: "integer", minimum: 0, default: 0 },
  since: { type: "integer", minimum: 0 },
  until: { type: "integer", minimum: 0 }
}

/** Page size of lists with cursors (docs/platform.md, 3.4). */
const cursorPageLimit = { ...integerParameters.limit, default: defaultCursorPageSize }

const requestId = {
  description: "The request's id: the caller's where it sent a well-formed one",
  schema: { type: "string" }
}

const headers = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } }

/** The groups that other sites and mail systems ask, with a site credential. */
const siteTags: ReadonlySet<string> = new Set(["Usage reports", "Send: feedback"])

/** Its POST takes a key in its body, from who signs in. */
const signInPath = "/v1/console/sessions"

/** Whether a body may be left out: it may be null, or it is an object and all of its fields may be left out. */
const mayBeMissing = (given: BodySchema, { components }: Document): boolean => {
  const name = given.$ref?.split("/").at(-1)
  const schema = name === undefined ? given : components.schemas?.[name]
  if (schema === undefined) return false
  const { anyOf, properties = {}, required = [], type } = schema
  if (anyOf?.some((one) => one.type === "null") === true) return true
  return type === "object" && Object.keys(properties).length > 0 && required.length === 0
}

/** Completes the derived document. An operation that may answer 401 is one that asks for a key. */
export const describeSecurity = (spec: Record<string, unknown>): Record<string, unknown> => {
  // The derived document. Only the parts named in `Document` are read.
  const document = structuredClone(spec) as unknown as Document
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const signsIn = path === signInPath && method === "post"
      const pagedByCursor = operation.parameters?.some(({ name }) => name === "cursor") === true
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in !== "query") continue
        const { description } = parameter.schema
        const integer =
          pagedByCursor && parameter.name === "limit" ? cursorPageLimit : integerParameters[parameter.name]
        if (integer !== undefined) {
          parameter.schema = { ...integer, ...(description === undefined ? {} : { description }) }
        }
      }
      for (const response of Object.values(operation.responses ?? {})) {
        Object.assign(response, { headers })
        // The form in which a stream would tell a typed failure; our streams have none.
        for (const body of Object.values(response.content ?? {})) delete body["x-effect-stream"]
      }
      // Metrics take the admin credential, which is no API key.
      if (operation.responses?.["401"] !== undefined && !operation.tags?.includes("System") && !signsIn) {
        operation.security = operation.tags?.some((tag) => siteTags.has(tag))
          ? [{ siteCredential: [] }]
          : [{ bearer: [] }, { apiKeyHeader: [] }]
        if (operation.tags?.includes("Number directory")) {
          operation.security = [...operation.security, { apiKeyQuery: [] }]
        }
      }
      const { requestBody } = operation
      const body = requestBody?.content["application/json"]?.schema
      if (requestBody !== undefined && body !== undefined && mayBeMissing(body, document)) requestBody.required = false
    }
  }
  document.components = {
    ...document.components,
    headers: { RequestId: requestId },
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer", description: "`Authorization: Bearer <API key>` (recommended)" },
      siteCredential: { type: "http", scheme: "bearer", description: "`Authorization: Bearer <site credential>`" },
      apiKeyHeader: { type: "apiKey", in: "header", name: "X-API-Key" },
      apiKeyQuery: { type: "apiKey", in: "query", name: "apiKey", description: "The number directory only" }
    }
  }
  const codes = Object.entries(errorStatus).map(([code, status]) => `| \`${code}\` | ${status} |`)
  // Behind what one can do, which the documentation begins with.
  document.info.description = `${document.info.description ?? ""}\n\n## Errors\n\nErrors have the shape of their product; their codes are one enumeration.\n\n| Error code | Status |\n|---|---|\n${codes.join("\n")}`
  return document as unknown as Record<string, unknown>
}
