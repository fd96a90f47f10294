/** Names the rights of API keys in words, and the presets by which a key gets them. Pure. */
import type { Answer } from "./endpoints.ts"

type Rights = Pick<Answer<"GET", "/v1/keys">["data"][number], "services" | "scopes">
export type Service = Rights["services"][number]
export type Scope = Rights["scopes"][number]

export const everyService: Rights["services"] = ["directory", "send", "telco", "talk", "voip", "transcribe"]

/** Scopes to choose one by one; `*` stands for all. */
export const everyScope: Rights["scopes"] = [
  "*",
  "platform:webhooks:read",
  "platform:webhooks:manage",
  "platform:events:read",
  "platform:billing:read",
  "platform:billing:manage",
  "platform:keys:manage",
  "platform:audit:read",
  "platform:requests:read",
  "platform:people:manage",
  "talk:*"
]

/** A choice of rights under a name. */
export interface Preset {
  readonly name: string
  readonly hint: string
  readonly rights: Rights
}

export const presets: ReadonlyArray<Preset> = [
  {
    name: "Full access",
    hint: "Everything, also keys, people and the plan",
    rights: { services: everyService, scopes: ["*"] }
  },
  { name: "Sending only", hint: "Sends email and sees what became of it", rights: { services: ["send"], scopes: [] } },
  {
    name: "Webhooks only",
    hint: "Makes and changes webhook endpoints, and reads their deliveries",
    rights: { services: [], scopes: ["platform:webhooks:read", "platform:webhooks:manage"] }
  },
  {
    name: "Read only",
    hint: "Reads events, webhooks, requests, the audit log and billing. Sends nothing",
    rights: {
      services: [],
      scopes: [
        "platform:events:read",
        "platform:webhooks:read",
        "platform:billing:read",
        "platform:audit:read",
        "platform:requests:read"
      ]
    }
  },
  {
    name: "Look-ups only",
    hint: "The number directory and telephone numbers",
    rights: { services: ["directory", "telco"], scopes: [] }
  }
]

const covers = (granted: ReadonlyArray<string>, scope: string): boolean =>
  granted.includes("*") ||
  granted.includes(scope) ||
  (scope !== "*" && granted.includes(`${scope.slice(0, scope.indexOf(":"))}:*`))

/** Whether one set of rights has all of another: nobody gives what they lack. */
export const hasAll = (own: Rights, wanted: Rights): boolean =>
  wanted.services.every((service) => own.services.includes(service)) &&
  wanted.scopes.every((scope) => covers(own.scopes, scope))

/** Whether a key with these rights opens nothing. */
export const isEmpty = ({ scopes, services }: Rights): boolean => scopes.length === 0 && services.length === 0

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((word) => other.includes(word))

/** The preset with exactly these rights. */
export const presetOf = ({ scopes, services }: Rights): Preset | undefined =>
  presets.find(({ rights }) => isSame(rights.scopes, scopes) && isSame(rights.services, services))

const serviceWords: Readonly<Record<Service, string>> = {
  directory: "looks up carriers and area codes",
  send: "sends email",
  telco: "looks up numbers",
  talk: "speech, with a scope for it",
  voip: "voip, which opens nothing yet",
  transcribe: "transcribe, which opens nothing yet"
}

const scopeWords: Readonly<Record<Scope, string>> = {
  "*": "every scope",
  "platform:*": "every scope of the platform",
  "platform:webhooks:read": "reads webhooks and events",
  "platform:webhooks:manage": "changes webhooks",
  "platform:events:read": "reads events",
  "platform:billing:read": "reads billing",
  "platform:billing:manage": "changes the plan",
  "platform:keys:manage": "makes and revokes keys",
  "platform:audit:read": "reads the audit log",
  "platform:requests:read": "reads requests",
  "platform:people:manage": "manages people",
  "talk:*": "speaks texts",
  "talk:speech": "speaks texts",
  "talk:voices": "lists voices",
  "talk:formats": "lists formats"
}

/** The rights of a key, each in words. */
export const rightsInWords = (rights: Rights): ReadonlyArray<string> => {
  const preset = presetOf(rights)
  if (preset !== undefined) return [preset.name]
  const words = [
    ...rights.services.map((service) => serviceWords[service]),
    ...rights.scopes.map((scope) => scopeWords[scope])
  ]
  return words.length === 0 ? ["nothing"] : [...new Set(words)]
}
