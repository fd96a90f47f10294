/** The rights that a key needs (docs/platform.md, 2.5), by the beginning of a path; the first line that fits counts. */
import type { Scope, Service } from "../../../src/platform/model.ts"
import type { Endpoint } from "./endpoints.ts"

export interface Rights {
  readonly service?: Service
  readonly scope?: Scope
  /** A scope that is enough too. */
  readonly also?: Scope
}

const byMethod =
  (read: Scope, change: Scope) =>
  ({ method }: Endpoint): Rights => ({
    scope: method === "GET" ? read : change
  })

const table: ReadonlyArray<readonly [path: RegExp, rights: Rights | ((endpoint: Endpoint) => Rights)]> = [
  [/^\/v1\/(carriers?|npa|directory)\b/, { service: "directory" }],
  [/^\/v1\/telco\//, { service: "telco" }],
  [/^\/v1\/talk\/speech$/, { service: "talk", scope: "talk:speech" }],
  [/^\/v1\/talk\/voices$/, { service: "talk", scope: "talk:voices" }],
  [/^\/v1\/talk\/formats$/, { service: "talk", scope: "talk:formats" }],
  [
    /^\/v1\/webhooks\b|^\/v1\/events\/\{id\}\/deliveries$/,
    byMethod("platform:webhooks:read", "platform:webhooks:manage")
  ],
  [/^\/v1\/events\b/, { scope: "platform:events:read", also: "platform:webhooks:read" }],
  [/^\/v1\/send\//, { service: "send" }],
  [/^\/v1\/billing\//, byMethod("platform:billing:read", "platform:billing:manage")],
  [/^\/v1\/audit$/, { scope: "platform:audit:read" }],
  [/^\/v1\/requests\b/, { scope: "platform:requests:read" }],
  [/^\/v1\/keys\b/, { scope: "platform:keys:manage" }],
  [/^\/v1\/members\b/, { scope: "platform:people:manage" }],
  [/^\/v1\/console\/(sessions?|portal)\b/, {}]
]

export const rightsOf = (endpoint: Endpoint): Rights => {
  const [, rights] = table.find(([path]) => path.test(endpoint.path)) ?? []
  if (rights === undefined) throw new Error(`${endpoint.name}: the table of rights does not say what a key must be for`)
  return typeof rights === "function" ? rights(endpoint) : rights
}
