/**
 * Every endpoint of both APIs, from their descriptions: `openapi.json` for the public one, and what is derived for the admin API. A new endpoint is in it by itself.
 */
import { readFileSync } from "node:fs"
import { OpenApi } from "effect/http-api"
import { AdminApi } from "../../../src/admin/adminApi.ts"

/** What the tests read of a JSON schema. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly examples?: ReadonlyArray<unknown>
}

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required?: boolean
  readonly schema: JsonSchema
}

/** Who may ask: holders of an API key, other sites, operators, or anybody. */
export type Access = "key" | "site" | "admin" | "open"

export interface Endpoint {
  /** Method and path, as in the description. */
  readonly name: string
  readonly method: string
  /** With `{parameters}`. */
  readonly path: string
  readonly isAdmin: boolean
  readonly access: Access
  readonly parameters: ReadonlyArray<Parameter>
  /** The body without references; undefined where none is taken. */
  readonly body: JsonSchema | undefined
  /** The example of its body. */
  readonly example: unknown
  /** The least status of success. */
  readonly success: number
  readonly statuses: ReadonlyArray<number>
}

interface Operation {
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, object>>
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** Puts what a reference names in its place. */
const resolved = (schema: JsonSchema, schemas: Description["components"]["schemas"]): JsonSchema => {
  if (schema.$ref !== undefined) return resolved(schemas[schema.$ref.split("/").at(-1)!]!, schemas)
  const { anyOf, items, properties } = schema
  return {
    ...schema,
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((one) => resolved(one, schemas)) }),
    ...(items === undefined ? {} : { items: resolved(items, schemas) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, one]) => [name, resolved(one, schemas)])
          )
        })
  }
}

/** The admin API's own sign-in asks for nothing. */
const signIn = "/admin/v1/console/sessions"

const accessOf = (path: string, isAdmin: boolean, { security = [] }: Operation): Access => {
  if (isAdmin) return path === signIn ? "open" : "admin"
  if (security.length === 0) return "open"
  return security.some((one) => "siteCredential" in one) ? "site" : "key"
}

const endpointsOf = ({ components, paths }: Description, isAdmin: boolean): ReadonlyArray<Endpoint> =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, operation]): Endpoint => {
      const method = verb.toUpperCase()
      const statuses = Object.keys(operation.responses).map(Number)
      const content = Object.values(operation.requestBody?.content ?? {})[0]
      const body = content?.schema
      return {
        name: `${method} ${path}`,
        method,
        path,
        isAdmin,
        access: accessOf(path, isAdmin, operation),
        parameters: (operation.parameters ?? []).map((one) => ({
          ...one,
          schema: resolved(one.schema, components.schemas)
        })),
        body: body === undefined ? undefined : resolved(body, components.schemas),
        example: content?.example,
        success: Math.min(...statuses),
        statuses
      }
    })
  )

const publicText = readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")

export const endpoints: ReadonlyArray<Endpoint> = [
  ...endpointsOf(JSON.parse(publicText) as Description, false),
  // The description is JSON, which its type does not say.
  ...endpointsOf(OpenApi.fromApi(AdminApi) as unknown as Description, true)
]

/** Names of the parameters that an endpoint takes in a place. */
export const namesOf = ({ parameters }: Endpoint, place: Parameter["in"]): ReadonlyArray<string> =>
  parameters.filter((one) => one.in === place).map(({ name }) => name)

/** The object that a body is, or whose list it is; undefined where it is none. */
export const objectOf = (schema: JsonSchema | undefined): JsonSchema | undefined => {
  if (schema === undefined || schema.properties !== undefined) return schema
  return objectOf(schema.anyOf?.find((one) => one.properties !== undefined) ?? schema.items)
}

/** The JSON types of a schema's values. */
export const typesOf = ({ anyOf, enum: values, type }: JsonSchema): ReadonlyArray<string> => {
  if (anyOf !== undefined) return anyOf.flatMap(typesOf)
  if (type !== undefined) return [type === "integer" ? "number" : type]
  return (values ?? []).map((value) => typeof value)
}
