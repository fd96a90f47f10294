/** Handles the endpoints of domains. Needs `Domains` and `PageCursors`; the access middleware gives the account. */
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { PageCursors } from "../../http/PageCursors.ts"
import { quote } from "../../http/parameters.ts"
import type { Tier } from "../limits.ts"
import { DomainChecks } from "../senders/domains/DomainChecks.ts"
import { Domains, type DomainView } from "../senders/domains/Domains.ts"
import { nextKeyRecord, shownRecords } from "../senders/domains/dnsRecords.ts"
import { type Domain, statusOf } from "../senders/domains/model.ts"
import type { SenderProgress } from "../senders/domains/senderProgress.ts"
import { answerPage } from "./answerPage.ts"
import { currentAccount } from "./currentAccount.ts"
import { SendDomainsApi } from "./domainsApi.ts"
import { available, SendConflict, SendIdempotencyConflict, SendInvalidRequest, SendNotFound } from "./sendErrors.ts"

const iso = (at: number): string => new Date(at).toISOString()

const listed = (domain: Domain) => ({
  id: domain.id,
  name: domain.name,
  status: statusOf(domain),
  created_at: iso(domain.createdAt),
  region: domain.region
})

const withTiers = (domains: ReadonlyArray<Domain>, tiers: ReadonlyArray<Tier | null>) =>
  domains.map((one, at) => ({ ...listed(one), tier: tiers[at] ?? null }))

/** A standing as it is answered. */
export const shownProgress = ({ nextTier, ...standing }: SenderProgress) => ({
  ...standing,
  nextTier: nextTier === null ? null : { ...nextTier, notBefore: iso(nextTier.notBefore) }
})

/** The verdicts about SPF and DMARC as they are answered. */
export const shownAuthentication = ({ authentication }: Pick<Domain, "authentication">) =>
  authentication === null
    ? []
    : authentication.verdicts.map((verdict) => ({ ...verdict, checkedAt: iso(authentication.checkedAt) }))

const recordsOf = (domain: Domain, nextKey: DomainView["nextKey"], advisedSpf: string) => [
  ...shownRecords(domain, domain.records, advisedSpf),
  ...(nextKey === undefined ? [] : [nextKeyRecord(domain.name, nextKey)])
]

const shownWith =
  (advisedSpf: string) =>
  ({ domain, nextKey, ...standing }: DomainView) => ({
    object: "domain" as const,
    ...listed(domain),
    records: recordsOf(domain, nextKey, advisedSpf),
    authentication: shownAuthentication(domain),
    ...shownProgress(standing)
  })

/** The name that was given, under one of its two fields. */
const nameOf = ({ domain, name }: { readonly name?: string; readonly domain?: string }) => {
  if (domain !== undefined && name !== undefined)
    return Effect.fail(SendInvalidRequest.of("Give 'name' or 'domain', not both."))
  const given = name ?? domain
  return given === undefined
    ? Effect.fail(SendInvalidRequest.of("Missing required field 'name'."))
    : Effect.succeed(given)
}

const notFound = ({ message }: { readonly message: string }) => Effect.fail(SendNotFound.of(message))
const conflict = ({ message }: { readonly message: string }) => Effect.fail(SendConflict.of(message))

/** The records of a domain with what stands at their names now. */
const seenRecords = (domains: Domains["Service"], checks: DomainChecks["Service"], id: string) =>
  Effect.gen(function* () {
    const { domain, nextKey } = yield* domains.get(yield* currentAccount, id)
    const expected = recordsOf(domain, nextKey, checks.advisedSpf)
    const seen = yield* checks.seen(
      domain,
      expected.map(({ name }) => name)
    )
    return { data: expected.map((record, at) => ({ ...record, seen: seen[at] ?? null })) }
  }).pipe(available, Effect.catchTags({ DomainNotFound: notFound }))

export const layerSendDomains = HttpApiBuilder.group(
  baseApi.add(SendDomainsApi),
  "sendDomains",
  Effect.fn(function* (handlers) {
    const domains = yield* Domains
    const checks = yield* DomainChecks
    const shown = shownWith(checks.advisedSpf)
    const cursors = yield* PageCursors
    const paged = Effect.provideService(PageCursors, cursors)
    return handlers.handleAll({
      create: ({ headers, payload }) =>
        Effect.gen(function* () {
          const account = yield* currentAccount
          const name = yield* nameOf(payload)
          const { region = null } = payload
          const request = idempotentRequest(headers["idempotency-key"], { operation: "createDomain", name, region })
          const { isReplayed, view } = yield* domains.create(account, { name, region }, request)
          return HttpApiSchema.withHeaders({
            body: shown(view),
            headers: isReplayed ? { "idempotency-replayed": "true" } : {}
          })
        }).pipe(
          available,
          Effect.catchTags({
            DomainInvalid: ({ given }) =>
              Effect.fail(
                SendInvalidRequest.of(`Invalid field 'name': ${quote(given)}. Expected a domain, such as example.com.`)
              ),
            DomainConflict: conflict,
            IdempotencyConflict: ({ message }) => Effect.fail(SendIdempotencyConflict.of(message))
          })
        ),

      list: ({ query }) =>
        Effect.gen(function* () {
          const account = yield* currentAccount
          const page = yield* answerPage(`sendDomains ${account.organizationId} ${account.mode}`, query, {
            placeOf: (id) =>
              Effect.map(
                Effect.catchTag(domains.find(account, id), "DomainNotFound", () => Effect.succeed(undefined)),
                (domain) => domain?.createdAt
              ),
            page: (beyond, limit) => domains.page(account, beyond, limit),
            at: ({ createdAt, id }) => ({ at: createdAt, id })
          })
          return { object: "list" as const, ...page, data: withTiers(page.data, yield* domains.tiers(page.data)) }
        }).pipe(paged, available),

      get: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => domains.get(account, params.id)).pipe(
          Effect.map(shown),
          available,
          Effect.catchTags({ DomainNotFound: notFound })
        ),

      records: ({ params }) => seenRecords(domains, checks, params.id),

      verify: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => domains.verify(account, params.id)).pipe(
          Effect.map((domain) => ({ object: "domain" as const, id: domain.id, status: statusOf(domain) })),
          available,
          Effect.catchTags({
            DomainNotFound: notFound,
            DomainConflict: conflict
          })
        ),

      rotateKey: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => domains.rotateKey(account, params.id)).pipe(
          Effect.map(shown),
          available,
          Effect.catchTags({ DomainNotFound: notFound, DomainConflict: conflict })
        ),

      delete: ({ params }) =>
        Effect.flatMap(currentAccount, (account) => domains.remove(account, params.id)).pipe(
          Effect.as({ object: "domain" as const, id: params.id, deleted: true as const }),
          available,
          Effect.catchTags({ DomainNotFound: notFound, DomainConflict: conflict })
        )
    })
  })
)
