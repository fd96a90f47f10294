/**
 * Derives the tools of `sluice mcp` from a platform's `openapi.json`: one for each operation that a key may ask for, with
 * the schema of its parameters and its body. Pure.
 */

/** A JSON schema, as the description has it. */
export type JsonSchema = Readonly<Record<string, unknown>>

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: JsonSchema
}

interface Operation {
  readonly operationId: string
  readonly tags?: ReadonlyArray<string>
  readonly summary?: string
  readonly description?: string
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: {
    readonly required?: boolean
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>
  }
}

/** The parts of a description that tools are made of. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** A tool, and the request that it makes. */
export interface Tool {
  /** Ends in `_read`, or in `_write` where it changes something or returns a credential. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly isWrite: boolean
  readonly isDestructive: boolean
  readonly method: string
  readonly path: string
  readonly inPath: ReadonlyArray<string>
  readonly inQuery: ReadonlyArray<string>
}

/** Reads whose answers have credentials: headers of an endpoint, and links that open an invoice without a key. */
const credentials: ReadonlySet<string> = new Set(["webhooks.getDeliveryRequest", "billing.invoices"])

/** A stream does not end, and sessions are a browser's. */
const without: ReadonlySet<string> = new Set([
  "events.stream",
  "console.open",
  "console.get",
  "console.portal",
  "console.close"
])

const prefix = "#/components/schemas/"

/** Puts the schemas in the place of their names: a tool's schema stands alone. */
const inlined = (value: unknown, schemas: Description["components"]["schemas"]): unknown => {
  if (Array.isArray(value)) return value.map((one) => inlined(one, schemas))
  if (typeof value !== "object" || value === null) return value
  const { $ref, ...rest } = value as { readonly $ref?: unknown }
  if (typeof $ref === "string" && $ref.startsWith(prefix))
    return { ...(inlined(schemas[$ref.slice(prefix.length)], schemas) as object), ...rest }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inlined(one, schemas)]))
}

const nameOf = (operationId: string, isWrite: boolean): string => {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll(".", "_")
  return `${words}_${isWrite ? "write" : "read"}`
}

const toolOf = (method: string, path: string, operation: Operation, { components }: Description): Tool => {
  const { operationId, parameters = [], requestBody } = operation
  const isWrite = method !== "GET" || credentials.has(operationId)
  const given = parameters.filter((one) => one.in === "path" || one.in === "query")
  const body = Object.values(requestBody?.content ?? {})[0]?.schema
  const properties = Object.fromEntries(given.map(({ name, schema }) => [name, inlined(schema, components.schemas)]))
  const required = given.filter((one) => one.required === true).map(({ name }) => name)
  return {
    name: nameOf(operationId, isWrite),
    description: [operation.summary ?? operationId, operation.description]
      .filter((text) => text !== undefined)
      .join(". "),
    inputSchema: {
      type: "object",
      properties: { ...properties, ...(body === undefined ? {} : { body: inlined(body, components.schemas) }) },
      required: body !== undefined && requestBody?.required !== false ? [...required, "body"] : required,
      additionalProperties: false
    },
    isWrite,
    isDestructive: method === "DELETE",
    method,
    path,
    inPath: given.filter((one) => one.in === "path").map(({ name }) => name),
    inQuery: given.filter((one) => one.in === "query").map(({ name }) => name)
  }
}

/** The tools of a description; those that write only where they are allowed. */
export const mcpTools = (description: Description, allowsWrite: boolean): ReadonlyArray<Tool> =>
  Object.entries(description.paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        // Operations that take an API key: no probes, and no reports of other sites.
        .filter(
          ([, { operationId, security = [] }]) => security.some((one) => "bearer" in one) && !without.has(operationId)
        )
        .map(([method, operation]) => toolOf(method.toUpperCase(), path, operation, description))
    )
    .filter(({ isWrite }) => allowsWrite || !isWrite)
