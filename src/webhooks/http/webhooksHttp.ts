/**
 * Handles the webhook endpoints' part of the API. Each POST is done once per `Idempotency-Key`. Needs `Endpoints`,
 * `Deliveries`, `IdempotentRequests`, `WebhookSecrets`, `PortalLinks` and `Cursors`; the access middleware gives the
 * organization.
 */
import { Clock, Effect, identity, Layer, SchemaIssue } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, type HttpApiEndpoint, HttpApiError, HttpApiSchema } from "effect/http-api"
import { figuresPeriodOf } from "../../common/figuresPeriod.ts"
import { randomText } from "../../common/identifiers.ts"
import { baseApi } from "../../http/baseApi.ts"
import { hasAlready } from "../../http/cacheHeaders.ts"
import { effectful, middleware } from "../../http/fast/marks.ts"
import { idempotentRequest } from "../../http/idempotency.ts"
import { defaultCursorPageSize } from "../../http/PageCursors.ts"
import { retryAfter, retryAfterMillis } from "../../http/RequestState.ts"
import { EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { makeAddressRate } from "../../platform/AddressRate.ts"
import { CurrentPrincipal } from "../../platform/access.ts"
import { IdempotentRequests, type Keep, type Once } from "../../platform/IdempotentRequests.ts"
import { type Owner, ownerOf, type Principal } from "../../platform/model.ts"
import { type PortalLink, PortalLinks, portalLinkPrefix } from "../../platform/PortalLinks.ts"
import { Deliveries, type Delivery } from "../delivery/Deliveries.ts"
import { Endpoints, newEndpointId, newReplayId, newTestId } from "../endpoint/Endpoints.ts"
import { newSecretId } from "../endpoint/endpointCommands.ts"
import { defaultOverlapSeconds, type Endpoint, type EndpointInvalid, signingSecretIds } from "../endpoint/model.ts"
import { AttemptFigures } from "../metrics/AttemptFigures.ts"
import { Replays } from "../replay/Replays.ts"
import { SecretsUnavailable } from "../secret/errors.ts"
import { PublicKeys } from "../secret/PublicKeys.ts"
import { deliveryHeaders } from "../secret/signature.ts"
import { WebhookSecrets } from "../secret/WebhookSecrets.ts"
import {
  askedOf,
  createdEndpoint,
  nothingMissed,
  shownOnce,
  warningOf,
  wireEndpoint,
  withOwn,
  withPublicKey
} from "./answers.ts"
import { isRejection, refused } from "./errors.ts"
import { PortalAddress } from "./PortalAddress.ts"
import { type AskedPortal, portalOf, portalPatternsProblem } from "./portal.ts"
import { SourceAddresses } from "./SourceAddresses.ts"
import { urlRequired, WebhooksApi, WebhookUrlInvalid, WebhookUrlRequired } from "./webhooksApi.ts"

/** Requests a minute that an address may make for public keys. */
const keysRequestsPerMinute = 600

const listed = ({ attempts: _attempts, ...delivery }: Delivery) => delivery

const withReplayed = <Answer>({ answer, isReplayed }: { readonly answer: Answer; readonly isReplayed: boolean }) =>
  HttpApiSchema.withHeaders({ body: answer, headers: isReplayed ? { "idempotency-replayed": "true" } : {} })

type IdempotencyHeaders = { readonly "idempotency-key"?: string | undefined }

const asOwner = <A, E, R>(use: (owner: Owner) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(CurrentPrincipal, (principal) => use(ownerOf(principal)))

/** The same for a request that gives patterns, which a portal bounds. */
const asOwnerOf = <A, E, R>(
  enabledEvents: ReadonlyArray<string>,
  use: (owner: Owner) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | EndpointInvalid, R | CurrentPrincipal> =>
  Effect.flatMap(CurrentPrincipal, (principal): Effect.Effect<A, E | EndpointInvalid, R> => {
    const problem = portalPatternsProblem(principal, enabledEvents)
    return problem === undefined ? use(ownerOf(principal)) : Effect.fail(problem)
  })

/** Carries out a POST once, whatever the outcome of earlier attempts with the same key. */
const once = <Chosen, Answer, E, R>(
  requests: IdempotentRequests["Service"],
  owner: Owner,
  headers: IdempotencyHeaders,
  /** The content of the request, to tell a repeat from another request. */
  asked: object,
  choose: () => Chosen,
  act: Once<Chosen, Answer, E, R>["act"],
  /** Completes an answer kept by an earlier version. */
  complete: (answer: Answer) => Answer = identity
) =>
  requests
    .once(owner, idempotentRequest(headers["idempotency-key"], asked), { choose, act, isRejection })
    .pipe(Effect.map(({ answer, isReplayed }) => withReplayed({ answer: complete(answer), isReplayed })))

/** Returns a replay with the number of its events. */
const countOf = (
  replays: Replays["Service"],
  { organizationId }: Owner,
  endpointId: string,
  endpoint: Endpoint,
  { replayId, since, until }: { readonly replayId: string; readonly since: number; readonly until: number },
  types: ReadonlyArray<string> | null
) =>
  Effect.map(
    replays.count(replayId, {
      organizationId,
      endpointId,
      since,
      until,
      patterns: endpoint.enabledEvents,
      types,
      livemode: endpoint.livemode
    }),
    (count) => ({ replayId, count })
  )

interface Services {
  readonly endpoints: Endpoints["Service"]
  readonly replays: Replays["Service"]
  readonly deliveries: Deliveries["Service"]
  readonly figures: AttemptFigures["Service"]
  readonly requests: IdempotentRequests["Service"]
  readonly secrets: WebhookSecrets["Service"]
  readonly publicKeys: PublicKeys["Service"]
  readonly portals: PortalLinks["Service"]
  readonly portalAddress: () => string
}

/** Handlers of some of the endpoints, each with its endpoint's types. */
type Handling = {
  readonly [Id in keyof Described]?: HttpApiEndpoint.Handler<
    Described[Id],
    HttpApiEndpoint.MiddlewareError<Described[Id]>,
    unknown
  >
}
type Described = (typeof WebhooksApi)["endpoints"]

/** Handlers of an owner's data: endpoints and their secrets. */
const endpointHandlers = ({ endpoints, requests, secrets }: Services) =>
  ({
    create: effectful(({ headers, payload }) =>
      asOwnerOf(payload.enabled_events, (owner) => {
        const { asymmetric = false, description = null, enabled_events, headers: own = {}, url } = payload
        const { label = null, ordering = null, rate_limit: rateLimit = null } = payload
        const endpoint = { url, enabledEvents: enabled_events, description }
        const added = { headers: own, rateLimit, ordering, label, asymmetric }
        return Effect.andThen(
          endpoints.check({ ...endpoint, ...added }),
          once(
            requests,
            owner,
            headers,
            { operation: "create", ...endpoint, ...askedOf(secrets, added) },
            () => ({ endpointId: newEndpointId(), secretId: newSecretId(), headersId: newSecretId() }),
            (ids) =>
              Effect.map(endpoints.create(owner, ids, { ...endpoint, ...added }), (made) =>
                createdEndpoint(ids.endpointId, made)
              ),
            withOwn
          )
        )
      }).pipe(refused("WebhookUrlInvalid", "Conflict", "IdempotencyKeyReused"))
    ),

    list: ({ query }) =>
      asOwner((owner) => endpoints.list(owner, query.label)).pipe(
        Effect.map((views) => ({ endpoints: views.map(wireEndpoint) })),
        refused<never>()
      ),

    listSources: () => Effect.map(SourceAddresses, (addresses) => ({ addresses })),

    get: ({ params }) =>
      asOwner((owner) => endpoints.get(owner, params.id)).pipe(Effect.map(wireEndpoint), refused("NotFound")),

    update: ({ params, payload }) =>
      asOwnerOf(payload.enabled_events ?? [], (owner) => {
        const {
          description,
          enabled_events: enabledEvents,
          headers,
          is_active: isActive,
          label,
          ordering,
          rate_limit,
          url
        } = payload
        const own = { headers, rateLimit: rate_limit, ordering, label }
        return endpoints.update(owner, params.id, { url, enabledEvents, description, isActive, ...own })
      }).pipe(
        Effect.map((view) => ({ ...wireEndpoint(view), ...warningOf(payload.enabled_events ?? []) })),
        refused("NotFound", "WebhookUrlInvalid")
      ),

    delete: ({ params }) =>
      asOwner((owner) => endpoints.remove(owner, params.id)).pipe(
        Effect.as({ id: params.id, deleted: true as const }),
        refused("NotFound")
      )
  }) satisfies Handling

/** Handlers of secrets and their public keys. */
const secretHandlers = ({ endpoints, publicKeys, requests }: Services, keysRate: ReturnType<typeof makeAddressRate>) =>
  ({
    listKeys: ({ query, request }) =>
      Effect.gen(function* () {
        yield* keysRate
        const { freshUntil, keys, tag } = yield* publicKeys.of(query.endpoint)
        const seconds = Math.max(0, Math.floor((freshUntil - (yield* Clock.currentTimeMillis)) / 1_000))
        const headers = { etag: tag, "cache-control": `public, max-age=${seconds}` }
        return hasAlready(request.headers["if-none-match"], tag)
          ? HttpServerResponse.empty({ status: 304, headers })
          : HttpServerResponse.jsonUnsafe(
              { keys: keys.map(({ createdAt, key }) => ({ key, created_at: createdAt })) },
              { headers }
            )
      }).pipe(
        Effect.catchTag("SecretsUnavailable", () =>
          Effect.andThen(
            retryAfter(retryAfterMillis),
            Effect.fail(EnvelopeUnavailable.of("The keys cannot be read right now; the request is safe to repeat"))
          )
        )
      ),

    rotateSecret: effectful(({ headers, params, payload }) =>
      asOwner((owner) => {
        const { asymmetric, overlapSeconds = defaultOverlapSeconds } = payload ?? {}
        return once(
          requests,
          owner,
          headers,
          {
            operation: "rotate-secret",
            id: params.id,
            overlapSeconds,
            ...(asymmetric === undefined ? {} : { asymmetric })
          },
          () => ({ secretId: newSecretId() }),
          ({ secretId }) =>
            Effect.map(
              Effect.tap(endpoints.rotateSecret(owner, params.id, secretId, overlapSeconds, asymmetric), () =>
                publicKeys.forget(params.id)
              ),
              ({ endpoint, publicKey, signingSecret }) => ({
                id: params.id,
                signing_secret: signingSecret,
                public_key: publicKey,
                previous_secret_expires_at: endpoint.previousSecret?.until ?? null,
                message: shownOnce
              })
            ),
          withPublicKey
        )
      }).pipe(refused("NotFound", "Conflict", "IdempotencyKeyReused"))
    )
  }) satisfies Handling

const newPortalId = (): string => `ptl_${randomText()}`

/**
 * The text of a link: a keyed digest of a random id, so that a repeat of the request has the same text and nothing keeps
 * it. 128 bits of it are as good as random ones.
 */
const portalTextOf = (secrets: WebhookSecrets["Service"], portalId: string): string =>
  `${portalLinkPrefix}${secrets.fingerprint(`portal link\n${portalId}`).slice(0, 32)}`

/** Handlers of links to portals. */
const portalHandlers = ({ endpoints, portalAddress, portals, requests, secrets }: Services) => {
  const create = Effect.fnUntraced(function* (principal: Principal, asked: AskedPortal, portalId: string) {
    const { expiresAtMillis, portal } = yield* Effect.fromResult(portalOf(asked, yield* Clock.currentTimeMillis))
    const problem = endpoints.labelsProblem()
    if (problem !== undefined) return yield* problem
    const link = yield* portals.create(principal, portalTextOf(secrets, portalId), portal, expiresAtMillis)
    return { ...link, portalId }
  })

  const shown = ({ portalId, ...link }: PortalLink & { readonly portalId: string }) => ({
    url: `${portalAddress()}/console#link=${portalTextOf(secrets, portalId)}`,
    ...link
  })

  return {
    createPortalLink: effectful(({ headers, payload }) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        requests.once(
          ownerOf(principal),
          idempotentRequest(headers["idempotency-key"], { operation: "portal", ...payload }),
          {
            choose: () => ({ portalId: newPortalId() }),
            act: ({ portalId }) => create(principal, payload, portalId),
            isRejection
          }
        )
      ).pipe(
        Effect.map(({ answer, isReplayed }) => withReplayed({ answer: shown(answer), isReplayed })),
        refused("Conflict", "IdempotencyKeyReused")
      )
    )
  } satisfies Handling
}

/** Handlers that send something to an endpoint: a test, the end of a pause, a replay. */
const sendingHandlers = ({ endpoints, replays, requests }: Services) =>
  ({
    test: effectful(({ headers, params }) =>
      asOwner((owner) =>
        once(
          requests,
          owner,
          headers,
          { operation: "test", id: params.id },
          () => ({ testId: newTestId() }),
          ({ testId }) =>
            Effect.map(endpoints.test(owner, params.id, testId), (eventId) => ({
              success: true as const,
              eventId,
              message: "The test event is published and will be delivered shortly."
            }))
        )
      ).pipe(refused("NotFound", "Conflict", "IdempotencyKeyReused"))
    ),

    unpause: effectful(({ headers, params, payload }) =>
      asOwner((owner) => {
        const wanted = payload?.replay === true
        return once(
          requests,
          owner,
          headers,
          { operation: "unpause", id: params.id, replay: wanted },
          () => ({ replayId: newReplayId() }),
          ({ replayId }) =>
            Effect.gen(function* () {
              const { replay, view } = yield* endpoints.unpause(owner, params.id, wanted ? replayId : undefined)
              const answer = wireEndpoint(view)
              if (replay === undefined) return wanted ? { ...answer, replay: nothingMissed } : answer
              return { ...answer, replay: yield* countOf(replays, owner, params.id, view.endpoint, replay, null) }
            }),
          withOwn
        )
      }).pipe(refused("NotFound", "Conflict", "IdempotencyKeyReused"))
    ),

    replay: effectful(({ headers, params, payload }) =>
      asOwner((owner) => {
        const { since, types = null, until = null } = payload
        return once(
          requests,
          owner,
          headers,
          { operation: "replay", id: params.id, since, until, types },
          () => ({ replayId: newReplayId() }),
          ({ replayId }) =>
            Effect.flatMap(
              endpoints.requestReplay(owner, params.id, { replayId, since, until, types }),
              ({ endpoint, replay }) => countOf(replays, owner, params.id, endpoint, replay, types)
            )
        )
      }).pipe(refused("NotFound", "Conflict", "IdempotencyKeyReused"))
    ),

    getReplay: ({ params }) =>
      asOwner((owner) =>
        Effect.andThen(
          endpoints.find(owner, params.id),
          replays.get({ organizationId: owner.organizationId, endpointId: params.id }, params.replayId)
        )
      ).pipe(refused("NotFound"))
  }) satisfies Handling

/** Handlers of an endpoint's figures. */
const figureHandlers = ({ endpoints, figures }: Services) =>
  ({
    getMetrics: ({ params, query }) =>
      asOwner((owner) =>
        Effect.gen(function* () {
          yield* endpoints.find(owner, params.id)
          const period = yield* Effect.fromResult(figuresPeriodOf(query, yield* Clock.currentTimeMillis))
          const { series, totals } = yield* figures.of(params.id, period)
          const { interval, since, until } = period
          return { id: params.id, interval, since, until, totals, series }
        })
      ).pipe(refused("NotFound"))
  }) satisfies Handling

/** Handlers of an endpoint's deliveries and missed events. */
const deliveryHandlers = ({ deliveries, endpoints, requests, secrets }: Services) =>
  ({
    listDeliveries: ({ params, query }) =>
      asOwner((owner) =>
        Effect.andThen(
          endpoints.find(owner, params.id),
          deliveries.list(
            { organizationId: owner.organizationId, endpointId: params.id },
            { limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor, status: query.status }
          )
        )
      ).pipe(
        Effect.map((page) => ({ ...page, data: page.data.map(listed) })),
        refused("NotFound")
      ),

    getDelivery: ({ params }) =>
      asOwner((owner) =>
        Effect.andThen(
          endpoints.find(owner, params.id),
          deliveries.get({ organizationId: owner.organizationId, endpointId: params.id }, params.deliveryId)
        )
      ).pipe(refused("NotFound")),

    getDeliveryRequest: ({ params }) =>
      asOwner((owner) =>
        Effect.gen(function* () {
          const endpoint = yield* endpoints.find(owner, params.id)
          const place = { organizationId: owner.organizationId, endpointId: params.id }
          const { attempts, eventCreatedAt, eventId } = yield* deliveries.get(place, params.deliveryId)
          const body = yield* deliveries.bodyOf(owner.organizationId, eventId, eventCreatedAt)
          const at = attempts.at(-1)?.at ?? (yield* Clock.currentTimeMillis)
          const ids = signingSecretIds(endpoint, at)
          const opened = yield* secrets.open(ids)
          const texts = ids.flatMap((id) => opened.get(id) ?? [])
          if (texts.length === 0) return yield* new SecretsUnavailable({ message: "the endpoint has no secret" })
          const own = (endpoint.headers?.names ?? []).map((name) => ({ name, value: null }))
          const signed = deliveryHeaders({ eventId, nowMillis: at, rawBody: body, secrets: texts })
          return {
            method: "POST" as const,
            url: endpoint.url,
            at,
            headers: [...Object.entries(signed).map(([name, value]) => ({ name, value })), ...own],
            body,
            signedText: `${Math.floor(at / 1_000)}.${body}`
          }
        })
      ).pipe(refused("NotFound")),

    retryDelivery: effectful(({ headers, params }) =>
      asOwner((owner) =>
        once(
          requests,
          owner,
          headers,
          { operation: "retry", ...params },
          () => null,
          (_: null, keep: Keep<Delivery>) =>
            Effect.andThen(
              endpoints.findActive(owner, params.id),
              deliveries.retry({ organizationId: owner.organizationId, endpointId: params.id }, params.deliveryId, keep)
            )
        )
      ).pipe(refused("NotFound", "Conflict", "IdempotencyKeyReused"))
    ),

    listSkipped: ({ params, query }) =>
      asOwner((owner) =>
        Effect.andThen(
          endpoints.find(owner, params.id),
          deliveries.skipped(
            { organizationId: owner.organizationId, endpointId: params.id },
            { limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor }
          )
        )
      ).pipe(refused("NotFound"))
  }) satisfies Handling

export const layerWebhooks = HttpApiBuilder.group(
  baseApi.add(WebhooksApi),
  "webhooks",
  Effect.fn(function* (handlers) {
    const services: Services = {
      endpoints: yield* Endpoints,
      replays: yield* Replays,
      deliveries: yield* Deliveries,
      figures: yield* AttemptFigures,
      requests: yield* IdempotentRequests,
      secrets: yield* WebhookSecrets,
      publicKeys: yield* PublicKeys,
      portals: yield* PortalLinks,
      portalAddress: yield* PortalAddress
    }
    return handlers.handleAll({
      ...endpointHandlers(services),
      ...secretHandlers(services, makeAddressRate(keysRequestsPerMinute)),
      ...portalHandlers(services),
      ...sendingHandlers(services),
      ...deliveryHandlers(services),
      ...figureHandlers(services)
    })
  })
)

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** Whether a body failed to decode because it has no URL. */
const lacksUrl = (error: unknown): boolean =>
  HttpApiError.HttpApiSchemaError.is(error) &&
  error.kind === "Payload" &&
  formatIssue(error.cause.issue).issues[0]?.message === urlRequired

const urlRequiredIfLacking = <E>(error: E): WebhookUrlInvalid | E =>
  lacksUrl(error) ? new WebhookUrlInvalid({ error: urlRequired }) : error

/** Answers `urlRequired` for a missing URL (docs/platform.md, 6.3); other missing fields have the general message. */
export const layerWebhookUrlRequired: Layer.Layer<WebhookUrlRequired> = Layer.succeed(WebhookUrlRequired)(
  middleware(
    WebhookUrlRequired.of((httpEffect) => Effect.mapError(httpEffect, urlRequiredIfLacking)),
    { _tag: "Failures", map: urlRequiredIfLacking }
  )
)
