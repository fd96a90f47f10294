/** Variants of domains and addresses that are to become senders. */
import type { Finder, Variant } from "./runner/variant.ts"

const checking: Finder = { kind: "unit", files: ["test/send/domains/checking.unit.ts"] }
const domains: Finder = { kind: "servers", files: ["test/send/http/domains.e2e.ts"] }
const senders: Finder = { kind: "servers", files: ["test/send/http/senders.e2e.ts"] }
const tenants: Finder = { kind: "servers", files: ["test/send/http/tenants.e2e.ts"] }

const suppressions: Finder = { kind: "servers", files: ["test/send/http/suppressions.e2e.ts"] }
const deletion: Finder = { kind: "servers", files: ["test/admin/organizationDeletion.it.ts"] }

export const sendSenders: ReadonlyArray<Variant> = [
  {
    name: "senders: a repeat under a key suppresses again",
    file: "src/send/suppressions/SuppressionList.ts",
    find: "yield* repeats.isRepeat(account, request)",
    replace: "(yield* repeats.isRepeat(account, request)) && emails.length === 0",
    sentence: "an address that was taken off the list meanwhile is on it again",
    finders: [suppressions]
  },
  {
    name: "deletion: the key of contents stays",
    file: "src/admin/OrganizationDeletion.ts",
    find: "yield* rows.forgetContentKey(id)\n    if (Option.isSome(contentKeys)) yield* contentKeys.value.forget(id)",
    replace: "",
    sentence: "what a deleted organization has sent can be read from a copy of the stream",
    finders: [deletion]
  },
  {
    name: "deletion: keys go on",
    file: "src/admin/OrganizationDeletion.ts",
    find: "yield* apiKeys.removeAll(id)",
    replace: "",
    sentence: "whoever has a key of a deleted organization goes on sending",
    finders: [deletion]
  },
  {
    name: "deletion: rows are not waited for",
    file: "src/admin/OrganizationDeletion.ts",
    find: "const ended = yield* end(id, until)",
    replace: "const ended: ReadonlyArray<string> | undefined = []",
    sentence: "endpoints and senders of a deleted organization go on",
    finders: [deletion]
  },
  {
    name: "senders: any DKIM record is the domain's",
    file: "src/send/domains/records.ts",
    find: 'return tags.get("p") === publicKey && ',
    replace: 'return tags.has("p") && ',
    sentence: "a domain is verified whose mail nobody can verify",
    finders: [checking]
  },
  {
    name: "senders: one record is enough",
    file: "src/send/domains/checking.ts",
    find: 'seen.ownership === "found" && seen.dkim === "found"',
    replace: 'seen.ownership === "found" || seen.dkim === "found"',
    sentence:
      "who copies the public key of a domain into its zone, or owns no more than a token, sends from it unsigned",
    finders: [checking, domains]
  },
  {
    name: "senders: a name server that is silent takes records away",
    file: "src/send/domains/checking.ts",
    find: 'if (seen === "unknown") return before',
    replace: 'if (seen === "unknown") return before === "verified" ? "temporary_failure" : before',
    sentence: "every outage of a name server is told to owners as a fault of their zones",
    finders: [checking]
  },
  {
    name: "senders: the row of a deleted domain goes, its sender stays",
    file: "src/send/domains/Domains.ts",
    find: 'engine.ask(SendSender, targetOf(domain), { _tag: "Remove" })',
    replace: 'engine.ask(SendSender, targetOf(domain), { _tag: "Check" })',
    sentence: "a deleted domain goes on sending, and nobody can see it",
    finders: [domains]
  },
  {
    name: "senders: opening a link is enough",
    file: "src/send/http/confirmationPage.ts",
    find: "Effect.map(senders.linked(token), ({ email }) =>",
    replace: "Effect.map(senders.confirm(token), ({ email }) =>",
    sentence: "a mail scanner that opens links verifies addresses for whoever asked",
    finders: [senders]
  },
  {
    name: "senders: a link is good for ever",
    file: "src/send/senders/Senders.ts",
    find: "expiresAt: now + linkMillis",
    replace: "expiresAt: now + 1_000 * linkMillis",
    sentence: "a link in an old mailbox verifies an address years later",
    finders: [senders]
  },
  {
    name: "senders: a test account that begins anew forgets who waits",
    file: "src/send/actors/SendAccount.ts",
    find: "return { ...initialSendAccount, custom, plan, senders, waiting }",
    replace: "return { ...initialSendAccount, custom, plan, senders, waiting: waiting.slice(waiting.length) }",
    sentence: "mail that was held by a pause stays held after the reset",
    finders: [tenants]
  }
]
