/**
 * Defines organizations and API keys (docs/platform.md, 2): their fields, plans, services and scopes, and the pure
 * rules on them. An organization owns everything; a key gives access to some services and scopes of one.
 */

import { Schema } from "effect"
import { type PlatformPlan, platformPlans } from "../limits/plans.ts"

/** Platform plans; they set the request rate (docs/platform.md, 3.1). */
export { type PlatformPlan, platformPlans }

/** Send plans (docs/platform.md, 2.2). See {@link ProbationWindow}. */
export const sendPlans = ["hobby", "pro", "enterprise"] as const
/** A plan of the send product (docs/platform.md, 2.1). See {@link Admission}. */
export type SendPlan = (typeof sendPlans)[number]

/** Risk at sign-up, kept for the send product (docs/platform.md, 2.2). See {@link ProbationWindow}. */
export const risks = ["standard", "higher"] as const
/** The risk of an account at sign-up. See {@link riskOf}. */
export type Risk = (typeof risks)[number]

/** Product services a key can be given. */
export const services = ["directory", "send", "telco", "talk", "voip", "transcribe"] as const
export type Service = (typeof services)[number]

/** Every scope (docs/platform.md, 2.5). `<product>:*` grants a product's scopes and `*` all. */
export const scopes = [
  "*",
  "platform:*",
  "platform:webhooks:read",
  "platform:webhooks:manage",
  "platform:events:read",
  "platform:billing:read",
  "platform:billing:manage",
  "platform:keys:manage",
  "platform:audit:read",
  "platform:requests:read",
  "platform:people:manage",
  "talk:*",
  "talk:speech",
  "talk:voices",
  "talk:formats"
] as const
export type Scope = (typeof scopes)[number]

/** Whether one of the granted scopes covers the required one. */
export const grants = (granted: ReadonlySet<string>, required: string): boolean =>
  granted.has("*") || granted.has(required) || granted.has(`${required.slice(0, required.indexOf(":"))}:*`)

const timestamp = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

/** Roles of members of an organization (docs/platform.md, 2.13), from the one with the most rights on. */
export const roles = ["owner", "developer", "viewer"] as const
export type Role = (typeof roles)[number]

export const Organization = Schema.Struct({
  id: Schema.String.annotate({ description: "org_…", examples: ["org_5pVbXq2nLr8sWc1yTzKd3M"] }),
  name: Schema.String,
  email: Schema.NullOr(Schema.String).annotate({ description: "Contact for notifications" }),
  plan: Schema.Literals(platformPlans),
  sendPlan: Schema.Literals(sendPlans),
  risk: Schema.Literals(risks),
  requestsPerMinute: Schema.NullOr(Schema.Union([Schema.Int, Schema.Literal("unlimited")])).annotate({
    description: "Custom request rate in place of the plan's; null for the plan's own"
  }),
  createdAt: timestamp
}).annotate({ identifier: "Organization" })
export type Organization = typeof Organization.Type

/** A listed key: everything but the key itself, of which only a digest is stored. */
export const ApiKey = Schema.Struct({
  id: Schema.String.annotate({ description: "key_…" }),
  organizationId: Schema.String,
  name: Schema.NullOr(Schema.String),
  prefix: Schema.String.annotate({ description: "First characters of the key, to tell keys apart" }),
  mode: Schema.Literals(["live", "test"]),
  services: Schema.Array(Schema.Literals(services)),
  scopes: Schema.Array(Schema.Literals(scopes)),
  active: Schema.Boolean,
  createdAt: timestamp,
  expiresAt: Schema.NullOr(timestamp),
  lastUsedAt: Schema.NullOr(timestamp).annotate({ description: "To the minute" })
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** The verified key of a request, with its rights. */
export interface Principal {
  readonly keyId: string
  readonly organizationId: string
  readonly mode: "live" | "test"
  readonly plan: PlatformPlan
  readonly sendPlan: SendPlan
  readonly services: ReadonlySet<string>
  readonly scopes: ReadonlySet<string>
  /** Milliseconds since the epoch after which the key is refused; null for never. */
  readonly expiresAtMillis: number | null
  /** Only for a console's session (docs/platform.md, 12.1), which acts for the key that signed in. */
  readonly session?: {
    readonly id: string
    /** When the key that signed in ends by itself; null for never. Keys created in the session may live as long. */
    readonly keyEndsAtMillis: number | null
    /** Only for the session of a portal, which sees the webhook endpoints of one label alone. */
    readonly portal?: Portal
    /** Only for the session of a member of the organization. */
    readonly member?: SessionMember
  }
}

/** The member who acts in a session (docs/platform.md, 2.13). */
export interface SessionMember {
  readonly id: string
  readonly email: string
  readonly role: Role
  /**
   * Whether the link that opened it was mailed to the address and shown to nobody else. Only then the session may go on
   * in other organizations of the same address.
   */
  readonly isProven: boolean
}

/** The rights of a key. */
export interface Rights {
  readonly services: ReadonlyArray<Service>
  readonly scopes: ReadonlyArray<Scope>
}

/** The rights that a principal lacks, in words; undefined if it has all. */
export const lackOf = (
  principal: Pick<Principal, "services" | "scopes">,
  { scopes, services }: Rights
): string | undefined => {
  const service = services.find((one) => !principal.services.has(one))
  if (service !== undefined) return `the service ${service}`
  const scope = scopes.find((one) => !grants(principal.scopes, one))
  return scope === undefined ? undefined : `the scope ${scope}`
}

/** The rights of a portal (docs/platform.md, 6.14). */
export interface Portal {
  /** The label of the endpoints that it sees, changes and makes. */
  readonly label: string
  /** Patterns of the events to which they may subscribe. */
  readonly types: ReadonlyArray<string>
}

/** The owner of a thing, and its mode: keys of the other mode do not see it. */
export interface Owner {
  readonly organizationId: string
  readonly livemode: boolean
  /** Set for the session of a portal, which sees webhook endpoints of this label alone. */
  readonly label?: string
}

/**
 * The owner of everything that a key creates, sees and changes: its organization, in its own mode; for a portal's
 * session, its label within them.
 */
export const ownerOf = ({ mode, organizationId, session }: Principal): Owner => ({
  organizationId,
  livemode: mode === "live",
  ...(session?.portal === undefined ? {} : { label: session.portal.label })
})
