/** Variants of members, their links and their sessions. */
import type { Variant } from "./runner/variant.ts"

export const people: ReadonlyArray<Variant> = [
  {
    name: "people: the last owner may go",
    find: '!members.some((other) => other.id !== member.id && other.isJoined && other.role === "owner")',
    replace: '!members.some((other) => other.id !== member.id && other.role === "owner")',
    sentence: "an organization is left to an owner who never accepted, and nobody can invite any more",
    finders: ["people/rules.unit"]
  },
  {
    name: "people: a link works until somebody looks at it twice",
    find: "yield* sql`update ${sql(memberLinksTable)} set ended_at = ${now} where digest = ${keyDigest(text)}`",
    replace: "",
    sentence: "a mailed link signs in again and again, for everybody who finds it in a mailbox",
    finders: ["members.it"]
  },
  {
    name: "people: a link lives a moment too long",
    find: "endedAt === null && now < expiresAt",
    replace: "endedAt === null && now <= expiresAt",
    sentence: "a link is good at the time at which it has ended",
    finders: ["people/rules.unit"]
  },
  {
    name: "people: a viewer changes what its services open",
    find: '!readsOnly(role) || isOpen || method === "GET" || method === "HEAD"',
    replace: "true",
    sentence: "a viewer sends email, because sending has no scopes",
    finders: ["people/rules.unit", "members.it"]
  },
  {
    name: "people: a changed role waits for the session's end",
    find: "update api_keys set services = ${[...services]}, scopes = ${[...scopes]} where member_id = ${id}",
    replace:
      "update api_keys set services = ${[...services]}, scopes = ${[...scopes]} where member_id = ${id} and false",
    sentence: "who was an owner goes on making keys for eight hours",
    finders: ["members.it"]
  },
  {
    name: "people: a link that the inviter saw proves the address",
    find: "if (session === undefined || member?.isProven !== true) return yield* refused",
    replace: "if (session === undefined || member === undefined) return yield* refused",
    sentence: "who invites the owner of another organization takes the link, and goes on in that organization",
    finders: ["members.it"]
  },
  {
    name: "people: a removed invitation is forgotten by the limits",
    find: "where email = ${email} and kind = ${kind} and made_at > ${since} order by made_at desc limit 100",
    replace:
      "where email = ${email} and kind = ${kind} and made_at > ${since} and member_id = ${id} order by made_at desc limit 100",
    sentence: "who invites and revokes in turn has the platform mail a stranger without end",
    finders: ["members.it"]
  }
]
