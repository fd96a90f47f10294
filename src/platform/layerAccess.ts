/**
 * Implements the access middlewares: finds the key in the request, verifies it, checks service and scope. It counts
 * every authenticated request against the request rate before the handler runs. The warm path is synchronous. Needs
 * `Authentication` and `RequestRate`.
 */
import { ByteSize, Clock, Context, Effect, type Fiber, Layer, Option } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { grantsAccess, middleware } from "../http/fast/marks.ts"
import { CurrentLoadShedder, tooManyMessage } from "../http/LoadShedder.ts"
import {
  NestedForbidden,
  NestedInvalidRequest,
  NestedRateLimited,
  NestedUnauthorized,
  NestedUnavailable
} from "../http/nestedErrors.ts"
import { type Caller, type RateResult, RequestState, retryAfter, retryAfterMillis } from "../http/RequestState.ts"
import { maximumBodyBytesOf } from "../http/rawBody.ts"
import { unknownParameter } from "../http/unknownNames.ts"
import {
  EnvelopeForbidden,
  EnvelopeInvalidRequest,
  EnvelopeRateLimited,
  EnvelopeUnauthorized,
  EnvelopeUnavailable,
  Forbidden,
  InvalidRequest,
  RateLimited,
  SentenceForbidden,
  SentenceInvalidRequest,
  SentenceRateLimited,
  SentenceUnauthorized,
  SentenceUnavailable,
  Unauthorized,
  Unavailable
} from "../http/wireErrors.ts"
import { overLimit, rateLimitFields } from "../limits/headers.ts"
import type { Decision } from "../limits/rules.ts"
import { Authentication } from "./Authentication.ts"
import {
  BillingAccess,
  CurrentPrincipal,
  DirectoryAccess,
  EventsAccess,
  KeysAccess,
  LeftOutOfRequestLog,
  OpenToPortals,
  OpenToViewers,
  RequiredScopes,
  SendAccess,
  TalkAccess,
  TelcoAccess,
  WebhooksAccess
} from "./access.ts"
import { type AuditLog, actorOf, CurrentAuditLog } from "./audit/AuditLog.ts"
import { actOf, isOfNeitherMode } from "./audit/auditedActs.ts"
import { CallCounts, type CallCountsShape, isCountedByFacts } from "./CallCounts.ts"
import { givenSession, sessionPrefix } from "./consoleCookie.ts"
import { grants, type Principal, type Service } from "./model.ts"
import { mayAsk } from "./people/rules.ts"
import { RequestRate } from "./RequestRate.ts"

const bearer = /^bearer(?: +(.*))?$/i

/**
 * The key of a request, from the first form present (docs/platform.md, 2.4); null without one, undefined when `apiKey`
 * is repeated.
 */
export const givenKey = (
  headers: Readonly<Record<string, string | undefined>>,
  query: Readonly<Record<string, string | ReadonlyArray<string>>> | undefined
): string | null | undefined => {
  const authorization = headers.authorization
  if (authorization !== undefined) {
    const match = bearer.exec(authorization)
    // Another scheme is not one of the forms, so it decides nothing.
    if (match !== null) return asKey(match[1] ?? "")
  }
  const header = headers["x-api-key"]
  if (header !== undefined) return asKey(header)
  const parameter = query?.apiKey
  if (parameter !== undefined) return typeof parameter === "string" ? asKey(parameter) : undefined
  return givenSession(headers) ?? null
}

/** A session's text is not a key: it counts only in its cookie. */
const asKey = (text: string): string => (text.startsWith(sessionPrefix) ? "" : text)

/** How long a key may be looked up. The request itself has its own time after that. */
const verifyTimeoutMillis = 5_000

const portalMessage = "A portal shows webhook endpoints of its label, and nothing else"

const viewerMessage = "A viewer reads, and changes nothing. Ask an owner of the organization for another role"

const unauthorizedMessage = "Invalid or missing API key"

/** The refusals of an access, in its product's shape. */
interface Refusals<E> {
  readonly missing: E
  readonly unauthorized: E
  readonly invalid: (message: string) => E
  readonly forbidden: (message: string) => E
  readonly rateLimited: (message: string) => E
  readonly unavailable: (message: string) => E
}

const codedUnauthorized = new Unauthorized({ error: "unauthorized", message: unauthorizedMessage })

const coded: Refusals<InvalidRequest | Unauthorized | Forbidden | RateLimited | Unavailable> = {
  missing: codedUnauthorized,
  unauthorized: codedUnauthorized,
  invalid: (message) => new InvalidRequest({ error: "invalid_request", message }),
  forbidden: (message) => new Forbidden({ error: "forbidden", message }),
  rateLimited: (message) => new RateLimited({ error: "rate_limited", message }),
  unavailable: (message) => new Unavailable({ error: "unavailable", message })
}

const enveloped: Refusals<
  EnvelopeInvalidRequest | EnvelopeUnauthorized | EnvelopeForbidden | EnvelopeRateLimited | EnvelopeUnavailable
> = {
  missing: EnvelopeUnauthorized.of(unauthorizedMessage),
  unauthorized: EnvelopeUnauthorized.of(unauthorizedMessage),
  invalid: EnvelopeInvalidRequest.of,
  forbidden: EnvelopeForbidden.of,
  rateLimited: EnvelopeRateLimited.of,
  unavailable: EnvelopeUnavailable.of
}

/** The refusals of sending. */
export const nestedRefusals: Refusals<
  NestedInvalidRequest | NestedUnauthorized | NestedForbidden | NestedRateLimited | NestedUnavailable
> = {
  missing: NestedUnauthorized.of(unauthorizedMessage),
  unauthorized: NestedUnauthorized.of(unauthorizedMessage),
  invalid: NestedInvalidRequest.of,
  forbidden: NestedForbidden.of,
  rateLimited: NestedRateLimited.of,
  unavailable: NestedUnavailable.of
}

const sentences: Refusals<
  SentenceInvalidRequest | SentenceUnauthorized | SentenceForbidden | SentenceRateLimited | SentenceUnavailable
> = {
  missing: new SentenceUnauthorized({
    error: "API key required. Give it as 'Authorization: Bearer <API key>' or in the header X-API-Key."
  }),
  unauthorized: new SentenceUnauthorized({ error: "Invalid API key" }),
  invalid: (error) => new SentenceInvalidRequest({ error }),
  forbidden: (error) => new SentenceForbidden({ error }),
  rateLimited: (error) => new SentenceRateLimited({ error }),
  unavailable: (error) => new SentenceUnavailable({ error })
}

/** The query parameter that every endpoint of the directory takes. */
const queryKeyNames = ["apiKey"]

type RequestFiber = Fiber.Fiber<unknown, unknown>

interface AccessOptions<Refusal> {
  /** The service that the key must have; none if only scopes decide. */
  readonly service?: Service
  /** Whether `?apiKey=` is one of the forms. */
  readonly queryKey?: boolean
  readonly refusals: Refusals<Refusal>
  /** The headers of a counted request's answer, names in lower case; by default those of the platform's rate. */
  readonly fieldsOf?: (decision: Decision) => Record<string, string> | undefined
}

/** The services that access uses: the principals of keys, and the counters of their requests. */
export interface AccessServices {
  readonly authentication: Authentication["Service"]
  readonly requestRate: Pick<RequestRate["Service"], "take">
  /** Receives the admitted calls; without it they are not counted. */
  readonly calls?: CallCountsShape
  /** Receives the acts that are done; without it none is kept. */
  readonly audit?: Pick<AuditLog["Service"], "record"> | undefined
}

/** The reason why an endpoint refuses a principal; undefined when it does not. */
type RefusalOf<Refusal> = (principal: Principal) => Refusal | undefined

/** Makes the check of service and scope of each endpoint, and whether it is open to sessions of portals. */
const makeCheck =
  <Refusal>({ refusals, service }: AccessOptions<Refusal>) =>
  (endpoint: HttpApiEndpoint.Top): RefusalOf<Refusal> => {
    const scopes = Context.get(endpoint.annotations, RequiredScopes)
    const isOpenToPortals = Context.get(endpoint.annotations, OpenToPortals)
    const asked = { method: endpoint.method, isOpen: Context.get(endpoint.annotations, OpenToViewers) }
    return (principal) => {
      const role = principal.session?.member?.role
      if (role !== undefined && !mayAsk(role, asked)) return refusals.forbidden(viewerMessage)
      if (principal.session?.portal !== undefined && !isOpenToPortals) return refusals.forbidden(portalMessage)
      if (service !== undefined && !principal.services.has(service)) {
        return refusals.forbidden(`API key does not have access to the ${service} service`)
      }
      return scopes.length === 0 || scopes.some((scope) => grants(principal.scopes, scope))
        ? undefined
        : refusals.forbidden(`Insufficient scope. Required: ${scopes[0]}`)
    }
  }

/** Makes the counter of the requests to each endpoint, which also reports the admitted calls. */
const makeTake =
  <Refusal>({ calls, requestRate }: AccessServices, { service }: AccessOptions<Refusal>) =>
  (endpoint: HttpApiEndpoint.Top): ((principal: Principal) => RateResult<Decision>) => {
    if (calls === undefined || isCountedByFacts(endpoint)) return requestRate.take
    const product = service ?? "platform"
    const tell = (principal: Principal, decision: Decision | undefined): void => {
      // A request that the limiter could not count is still a call. Reading in the console is not usage.
      if (principal.session !== undefined) return
      if (decision === undefined || decision.allowed) calls.count(principal.organizationId, product)
    }
    return (principal) => {
      const taken = requestRate.take(principal)
      if (Effect.isEffect(taken)) return Effect.tap(taken, (decision) => Effect.sync(() => tell(principal, decision)))
      tell(principal, taken)
      return taken
    }
  }

/** The caller whose request the request log keeps. Reading in the console, and acting there, is no call of a program. */
const loggedOf = (principal: Principal): Caller | undefined => (principal.session === undefined ? principal : undefined)

/** Makes the fast lane's view of an access: the principal if nothing must be refused or looked up. */
const makeMark = <Refusal>(
  { audit, authentication }: AccessServices,
  takeOf: (endpoint: HttpApiEndpoint.Top) => (principal: Principal) => RateResult<Decision>,
  checkOf: (endpoint: HttpApiEndpoint.Top) => RefusalOf<Refusal>,
  { fieldsOf = rateLimitFields, refusals }: AccessOptions<Refusal>
) =>
  grantsAccess<Principal, Decision>({
    principal: CurrentPrincipal,
    principalOf: (endpoint) => {
      const refusalOf = checkOf(endpoint)
      return (headers, nowMillis) => {
        // Node gives the headers that hold keys as single values.
        const key = givenKey(headers as Readonly<Record<string, string | undefined>>, undefined)
        const principal = typeof key === "string" ? authentication.verifyWarm(key, nowMillis) : undefined
        return principal == null || refusalOf(principal) !== undefined ? undefined : principal
      }
    },
    isLeft: (endpoint) =>
      Context.get(endpoint.annotations, LeftOutOfRequestLog) || (audit !== undefined && actOf(endpoint) !== undefined),
    organizationOf: ({ organizationId }) => organizationId,
    loggedOf,
    callerOf: (headers, nowMillis) => {
      // Node gives the headers that hold keys as single values.
      const key = givenKey(headers as Readonly<Record<string, string | undefined>>, undefined)
      return typeof key === "string" ? (authentication.verifyWarm(key, nowMillis) ?? undefined) : undefined
    },
    takeOf,
    fieldsOf,
    refusalOf: (decision) => refusals.rateLimited(overLimit(decision))
  })

/** The bound of bodies if an endpoint has its own. */
const lesser = (fiber: RequestFiber, maximumBytes: number): ByteSize.ByteSize => {
  const ofServer = fiber.getRef(HttpIncomingMessage.MaxBodySize)
  const own = ByteSize.bytes(maximumBytes)
  return ofServer === undefined || own < ofServer ? own : ofServer
}

/** The id of the thing that an act was done to: the one that the path names, or that the answer gives. */
const objectOf = (
  params: Readonly<Record<string, string | undefined>>,
  { body }: HttpServerResponse.HttpServerResponse
) => {
  const named = params.id ?? params.idOrEmail
  if (named !== undefined) return named
  if (body._tag !== "Uint8Array") return null
  try {
    const { id } = JSON.parse(new TextDecoder().decode(body.body)) as { readonly id?: unknown }
    return typeof id === "string" ? id : null
  } catch {
    return null
  }
}

/** Keeps the act of an endpoint in the audit log once it is done. */
const kept = <E, R>(
  handled: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  endpoint: HttpApiEndpoint.Top,
  audit: AccessServices["audit"]
) => {
  const act = actOf(endpoint)
  if (act === undefined || audit === undefined) return handled
  return Effect.tap(handled, (response) =>
    Effect.withFiber((fiber) => {
      // A repeat under an idempotency key is answered, and nothing is done. A refusal is a failure, but the one for the
      // type of a body (415) is an answer of the decoder.
      if (response.status >= 400 || response.headers["idempotency-replayed"] !== undefined) return Effect.void
      const principal = Context.getUnsafe(fiber.context as Context.Context<CurrentPrincipal>, CurrentPrincipal)
      const { remoteAddress } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const route = Context.getOption(fiber.context, HttpRouter.RouteContext)
      return audit.record({
        organizationId: principal.organizationId,
        act,
        mode: isOfNeitherMode(act) ? null : principal.mode,
        actor: actorOf(principal),
        address: Option.getOrNull(remoteAddress),
        object: objectOf(Option.match(route, { onNone: () => ({}), onSome: ({ params }) => params }), response),
        requestId: Context.getUnsafe(fiber.context, RequestState).requestId
      })
    })
  )
}

/** Makes an access, also for products whose requests are counted in their own way. */
export const makeAccess = <Refusal>(services: AccessServices, options: AccessOptions<Refusal>) => {
  const { authentication } = services
  const takeOf = makeTake(services, options)
  const { fieldsOf = rateLimitFields, queryKey = false, refusals } = options
  const checkOf = makeCheck(options)
  const before = <E, R>(
    handled: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }
  ) => {
    const httpEffect = kept(handled, endpoint, services.audit)
    const refusalOf = checkOf(endpoint)
    const maximumBytes = maximumBodyBytesOf(endpoint)
    const take = takeOf(endpoint)
    const isLogged = !Context.get(endpoint.annotations, LeftOutOfRequestLog)
    const requestClass = endpoint.method === "GET" || endpoint.method === "HEAD" ? "read" : "write"
    type Admitted = Effect.Effect<HttpServerResponse.HttpServerResponse, E | Refusal, Exclude<R, CurrentPrincipal>>
    const enter = (fiber: RequestFiber, principal: Principal): Admitted => {
      const refusal = refusalOf(principal)
      if (refusal !== undefined) return Effect.fail(refusal)
      const { url } = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      if (url.includes("?")) {
        const given = Object.keys(Context.getUnsafe(fiber.context, HttpServerRequest.ParsedSearchParams))
        const unknown = unknownParameter(given, endpoint, queryKey ? queryKeyNames : [])
        if (unknown !== undefined) return Effect.fail(refusals.invalid(unknown))
      }
      // The request's fiber gets its context back when the request is over.
      const granted = Context.add(fiber.context, CurrentPrincipal, principal)
      fiber.setContext(
        maximumBytes === undefined
          ? granted
          : Context.add(granted, HttpIncomingMessage.MaxBodySize, lesser(fiber, maximumBytes))
      )
      return httpEffect as Admitted
    }
    const proceed = (fiber: RequestFiber, principal: Principal, decision: Decision | undefined): Admitted => {
      if (decision === undefined) return enter(fiber, principal)
      Context.getUnsafe(fiber.context, RequestState).responseHeaders = fieldsOf(decision)
      if (decision.allowed) return enter(fiber, principal)
      // The headers carry the decision.
      return Effect.fail(refusals.rateLimited(overLimit(decision)))
    }
    const counted = (fiber: RequestFiber, principal: Principal, taken: RateResult<Decision>): Admitted =>
      Effect.isEffect(taken)
        ? Effect.flatMap(taken, (decision) => proceed(fiber, principal, decision))
        : proceed(fiber, principal, taken)
    /**
     * Counts every authenticated request, even one that is refused for its service or answered 400 later; one that has
     * waited too long is not counted.
     */
    const admit = (fiber: RequestFiber, principal: Principal | null): Admitted => {
      if (principal === null) return Effect.fail(refusals.unauthorized)
      const now = Number(fiber.getRef(Clock.Clock).monotonicTimeNanosUnsafe()) / 1e6
      const { organizationId } = principal
      const state = Context.getUnsafe(fiber.context, RequestState)
      if (isLogged) state.caller = loggedOf(principal)
      if (!Context.get(fiber.context, CurrentLoadShedder).admits(organizationId, requestClass, now))
        return Effect.andThen(retryAfter(retryAfterMillis), Effect.fail(refusals.unavailable(tooManyMessage)))
      state.admitted = organizationId
      return counted(fiber, principal, take(principal))
    }
    return Effect.withFiber((fiber): Admitted => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const query = queryKey ? Context.getUnsafe(fiber.context, HttpServerRequest.ParsedSearchParams) : undefined
      const key = givenKey(request.headers, query)
      if (key === null) return Effect.fail(refusals.missing)
      if (key === undefined) {
        return Effect.fail(refusals.invalid("The parameter 'apiKey' was given more than once."))
      }
      const warm = authentication.verifyWarm(key, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
      if (warm !== undefined) return admit(fiber, warm)
      return authentication.verify(key).pipe(
        Effect.timeout(verifyTimeoutMillis),
        Effect.tapError(() => retryAfter(retryAfterMillis)),
        Effect.mapError(() => refusals.unavailable("The API key cannot be checked right now")),
        Effect.flatMap((principal) => admit(fiber, principal))
      )
    })
  }
  return middleware(before, makeMark(services, takeOf, checkOf, options))
}

const services = Effect.gen(function* () {
  return {
    authentication: yield* Authentication,
    requestRate: yield* RequestRate,
    calls: yield* CallCounts,
    audit: yield* CurrentAuditLog
  }
})

/** The number directory's access. */
export const layerDirectoryAccess: Layer.Layer<DirectoryAccess, never, Authentication | RequestRate> = Layer.effect(
  DirectoryAccess,
  Effect.map(services, (given) => makeAccess(given, { service: "directory", queryKey: true, refusals: coded }))
)

/** Telco's access. */
export const layerTelcoAccess: Layer.Layer<TelcoAccess, never, Authentication | RequestRate> = Layer.effect(
  TelcoAccess,
  Effect.map(services, (given) => makeAccess(given, { service: "telco", refusals: coded }))
)

/** Talk's access. */
export const layerTalkAccess: Layer.Layer<TalkAccess, never, Authentication | RequestRate> = Layer.effect(
  TalkAccess,
  Effect.map(services, (given) => makeAccess(given, { service: "talk", refusals: sentences }))
)

/** The webhook endpoints' access. */
export const layerWebhooksAccess: Layer.Layer<WebhooksAccess, never, Authentication | RequestRate> = Layer.effect(
  WebhooksAccess,
  Effect.map(services, (given) => makeAccess(given, { refusals: coded }))
)

/** The event log's access. */
export const layerEventsAccess: Layer.Layer<EventsAccess, never, Authentication | RequestRate> = Layer.effect(
  EventsAccess,
  Effect.map(services, (given) => makeAccess(given, { refusals: enveloped }))
)

/** Billing's access. */
export const layerBillingAccess: Layer.Layer<BillingAccess, never, Authentication | RequestRate> = Layer.effect(
  BillingAccess,
  Effect.map(services, (given) => makeAccess(given, { refusals: enveloped }))
)

/** The access to an organization's own keys. */
export const layerKeysAccess: Layer.Layer<KeysAccess, never, Authentication | RequestRate> = Layer.effect(
  KeysAccess,
  Effect.map(services, (given) => makeAccess(given, { refusals: enveloped }))
)

/** Sending's access, for all of its endpoints except those that accept email. */
export const layerSendAccess: Layer.Layer<SendAccess, never, Authentication | RequestRate> = Layer.effect(
  SendAccess,
  Effect.map(services, (given) => makeAccess(given, { service: "send", refusals: nestedRefusals }))
)
