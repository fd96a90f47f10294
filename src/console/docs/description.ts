/** Reads the API's description (OpenAPI 3.1) as far as the page shows it: operations in groups, with their parts resolved. */

export interface ApiSchema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly properties?: Readonly<Record<string, ApiSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: ApiSchema | false
  readonly additionalProperties?: ApiSchema | boolean
  readonly anyOf?: ReadonlyArray<ApiSchema>
  readonly oneOf?: ReadonlyArray<ApiSchema>
  readonly allOf?: ReadonlyArray<ApiSchema>
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly examples?: ReadonlyArray<unknown>
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

interface Media {
  readonly schema?: ApiSchema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

type Content = Readonly<Record<string, Media>>

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header" | "cookie"
  readonly description?: string
  readonly required?: boolean
  readonly schema?: ApiSchema
  readonly example?: unknown
}

interface Described {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly requestBody?: { readonly content: Content }
  readonly responses?: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
}

type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>

export interface ApiDescription {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Paths
  readonly webhooks?: Paths
  readonly tags?: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
  }
}

/** The examples of a body, by name; a single one has the name "". */
export type Examples = ReadonlyArray<readonly [name: string, value: unknown]>

export interface BodyPart {
  readonly mediaType: string
  readonly schema: ApiSchema | undefined
  readonly examples: Examples
}

export interface AnswerPart extends BodyPart {
  readonly status: string
  readonly description: string
}

/** One request that the API takes, or one event that it sends. */
export interface Operation {
  readonly id: string
  readonly kind: "request" | "event"
  readonly method: string
  readonly path: string
  readonly title: string
  readonly description: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly body: BodyPart | undefined
  readonly answers: ReadonlyArray<AnswerPart>
  readonly needsKey: boolean
}

export interface Group {
  readonly name: string
  readonly note: string
  readonly operations: ReadonlyArray<Operation>
}

const examplesOf = ({ example, examples }: Media): Examples =>
  examples !== undefined
    ? Object.entries(examples).map(([name, { value }]) => [name, value])
    : example === undefined
      ? []
      : [["", example]]

const bodyOf = (content: Content | undefined): BodyPart | undefined => {
  const [first] = Object.entries(content ?? {})
  return first && { mediaType: first[0], schema: first[1].schema, examples: examplesOf(first[1]) }
}

const operationOf = (
  { components }: ApiDescription,
  kind: Operation["kind"],
  method: string,
  path: string,
  given: Described
): Operation => ({
  id: given.operationId,
  kind,
  method: method.toUpperCase(),
  path,
  // An event is known by its type.
  title: kind === "event" ? path : (given.summary ?? path),
  description: [kind === "event" && given.summary, given.description].filter((part) => part).join("\n\n"),
  parameters: (given.parameters ?? []).flatMap((one) => {
    if (!("$ref" in one)) return [one]
    const found = components.parameters?.[one.$ref.split("/").at(-1)!]
    return found === undefined ? [] : [found]
  }),
  body: bodyOf(given.requestBody?.content),
  answers: Object.entries(given.responses ?? {}).map(([status, { content, description = "" }]) => ({
    ...(bodyOf(content) ?? { mediaType: "", schema: undefined, examples: [] }),
    status,
    description
  })),
  needsKey: (given.security ?? []).length > 0
})

/** Another spelling of a path that is described under `/v1` too. */
const isAlias = (paths: Paths, method: string, path: string): boolean =>
  !path.startsWith("/v1/") && paths[`/v1${path}`]?.[method] !== undefined

/** One of several paths for the same request, the shortest, with whatever the others say of it. */
const withoutTwins = (operations: ReadonlyArray<Operation>): ReadonlyArray<Operation> => {
  const twinsOf = ({ kind, method, title }: Operation) =>
    operations.filter((one) => one.kind === kind && one.method === method && one.title === title)
  return operations.flatMap((operation) => {
    const twins = twinsOf(operation).toSorted((one, other) => one.path.length - other.path.length)
    if (twins[0]!.id !== operation.id) return []
    const longest = twins.toSorted((one, other) => other.description.length - one.description.length)[0]!
    return [{ ...operation, description: longest.description }]
  })
}

/** The group of the events that the platform sends. */
const eventGroup = "Webhook events"

/** Email first, since most come for it; the rest as it is described. */
const rankOf = (name: string): number => (name === "Emails" ? 0 : name.startsWith("Send: ") ? 1 : 2)

/** The first paragraph of a text. */
const firstOf = (text: string): string => text.split("\n\n", 1)[0]!

/** The groups in the order of the page. */
export const groupsOf = (api: ApiDescription): ReadonlyArray<Group> => {
  const groups = new Map<string, Array<Operation>>((api.tags ?? []).map(({ name }) => [name, []]))
  const add = (kind: Operation["kind"], paths: Paths) => {
    for (const [path, methods] of Object.entries(paths))
      for (const [method, given] of Object.entries(methods)) {
        if (kind === "request" && isAlias(paths, method, path)) continue
        const name = kind === "event" ? eventGroup : (given.tags?.[0] ?? "Other")
        groups.set(name, [...(groups.get(name) ?? []), operationOf(api, kind, method, path, given)])
      }
  }
  add("request", api.paths)
  add("event", api.webhooks ?? {})
  const notes = new Map(api.tags?.map(({ description = "", name }) => [name, firstOf(description)]))
  notes.set(eventGroup, "The requests that the platform sends to your webhook endpoints.")
  return [...groups]
    .filter(([, operations]) => operations.length > 0)
    .map(([name, operations]) => ({ name, operations: withoutTwins(operations), note: notes.get(name) ?? "" }))
    .sort((one, other) => rankOf(one.name) - rankOf(other.name))
}

/** A schema behind its references. */
export const resolved = (api: ApiDescription, schema: ApiSchema): ApiSchema => {
  const name = schema.$ref?.split("/").at(-1)
  const found = name === undefined ? undefined : api.components.schemas[name]
  return found === undefined
    ? schema
    : { ...resolved(api, found), ...(schema.description && { description: schema.description }) }
}

/** Whether an operation has all words of a search. */
export const fits = ({ description, method, path, title }: Operation, words: string): boolean => {
  const text = `${method} ${path} ${title} ${description}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

export const loadDescription = async (): Promise<ApiDescription> => {
  const response = await fetch("/docs/description.json", { signal: AbortSignal.timeout(20_000) })
  if (!response.ok) throw new Error(`The server answered ${response.status}.`)
  // The server makes it of its own API.
  return (await response.json()) as ApiDescription
}
