/**
 * Decides about the members of an organization (docs/platform.md, 2.13): the rights of each role, which acts are
 * refused, and whether a mailed link is good. Pure: the time is an argument.
 */
import { type Rights, type Role, type Scope, type Service, services } from "../model.ts"

/** Members of an organization, invited ones too. */
export const maximumMembers = 200

const everyService: ReadonlyArray<Service> = services

/** A viewer's scopes: of each product those that read. */
const viewerScopes: ReadonlyArray<Scope> = [
  "platform:webhooks:read",
  "platform:events:read",
  "platform:billing:read",
  "platform:audit:read",
  "platform:requests:read",
  "talk:voices",
  "talk:formats"
]

/** The rights of a session of each role. Services have no scopes for reading: see {@link readsOnly}. */
export const rightsOf: Readonly<Record<Role, Rights>> = {
  owner: { services: everyService, scopes: ["*"] },
  developer: {
    services: everyService,
    scopes: [...viewerScopes, "platform:webhooks:manage", "platform:keys:manage", "talk:*"]
  },
  viewer: { services: everyService, scopes: viewerScopes }
}

/** Whether a role changes nothing, whatever its services. */
export const readsOnly = (role: Role): boolean => role === "viewer"

/** Whether a role sees the contents of mail, which are others' letters. Keys, which have no role, do. */
export const seesContents = (role: Role | undefined): boolean => role !== "viewer"

/** Whether a role may ask an endpoint that its services and scopes open. A session's own end is open to all roles. */
export const mayAsk = (
  role: Role,
  { isOpen, method }: { readonly method: string; readonly isOpen: boolean }
): boolean => !readsOnly(role) || isOpen || method === "GET" || method === "HEAD"

/** How an invitation reached its address. */
export const deliveries = ["mailed", "no_relay", "failed"] as const
export type Delivery = (typeof deliveries)[number]

/** A member as the rules see it. */
export interface Membership {
  readonly id: string
  /** In lower case. */
  readonly email: string
  readonly role: Role
  /** Whether the invitation has been accepted. */
  readonly isJoined: boolean
}

/** An act on the members of one organization. */
export type MemberAct =
  | { readonly _tag: "Invite"; readonly email: string; readonly role: Role }
  | { readonly _tag: "SetRole"; readonly id: string; readonly role: Role }
  | { readonly _tag: "Remove"; readonly id: string }
  | { readonly _tag: "Resend"; readonly id: string }

/** The reason why an act is refused. */
export type MemberRefusal = "NoSuchMember" | "AlreadyMember" | "AlreadyJoined" | "TooManyMembers" | "LastOwner"

/** Whether the organization would have no owner any more who can sign in. */
const endsOwnership = (members: ReadonlyArray<Membership>, member: Membership, role: Role | undefined): boolean =>
  member.isJoined &&
  member.role === "owner" &&
  role !== "owner" &&
  !members.some((other) => other.id !== member.id && other.isJoined && other.role === "owner")

/** Why an act is refused; undefined if it is not. */
export const refusalOf = (members: ReadonlyArray<Membership>, act: MemberAct): MemberRefusal | undefined => {
  if (act._tag === "Invite") {
    if (members.some(({ email }) => email === act.email)) return "AlreadyMember"
    return members.length >= maximumMembers ? "TooManyMembers" : undefined
  }
  const member = members.find(({ id }) => id === act.id)
  if (member === undefined) return "NoSuchMember"
  switch (act._tag) {
    case "SetRole":
      return endsOwnership(members, member, act.role) ? "LastOwner" : undefined
    case "Remove":
      return endsOwnership(members, member, undefined) ? "LastOwner" : undefined
    case "Resend":
      return member.isJoined ? "AlreadyJoined" : undefined
  }
}

/** An invitation opens the console for the first time, a sign-in later. */
export type LinkKind = "invitation" | "sign_in"

/** The life of a mailed link. */
export const linkLifeMillis: Readonly<Record<LinkKind, number>> = {
  invitation: 7 * 24 * 60 * 60_000,
  sign_in: 15 * 60_000
}

/** A mailed link as the rules see it. Times are Unix milliseconds. */
export interface LinkTimes {
  readonly expiresAt: number
  /** When it was used, or another one took its place; null before. */
  readonly endedAt: number | null
}

/** Whether a link still opens a session. */
export const isGoodLink = ({ endedAt, expiresAt }: LinkTimes, now: number): boolean =>
  endedAt === null && now < expiresAt

/** At most so many links in any span of this length. */
export interface LinkLimit {
  readonly links: number
  readonly windowMillis: number
}

const dayMillis = 24 * 60 * 60_000

/** Links of a kind that one address is mailed, by all organizations. */
export const addressLimits: Readonly<Record<LinkKind, ReadonlyArray<LinkLimit>>> = {
  invitation: [
    { links: 3, windowMillis: 60 * 60_000 },
    { links: 10, windowMillis: dayMillis }
  ],
  sign_in: [
    { links: 3, windowMillis: linkLifeMillis.sign_in },
    { links: 20, windowMillis: dayMillis }
  ]
}

/** Invitations of one organization. */
export const organizationLimits: ReadonlyArray<LinkLimit> = [{ links: 100, windowMillis: dayMillis }]

/** How long links are kept, used ones too: longer than they live, and than any window of their limits. */
export const keptLinkMillis = linkLifeMillis.invitation + dayMillis

/** How long the next link must wait after the earlier ones, in milliseconds; 0 if it may be made now. */
export const linkWaitMillis = (
  limits: ReadonlyArray<LinkLimit>,
  madeAt: ReadonlyArray<number>,
  now: number
): number => {
  const newestFirst = madeAt.toSorted((one, other) => other - one)
  return limits.reduce((wait, { links, windowMillis }) => {
    const last = newestFirst[links - 1]
    return last === undefined ? wait : Math.max(wait, last + windowMillis - now)
  }, 0)
}
