/**
 * Defines the webhook endpoints' part of the API as an HttpApi group (docs/platform.md, 6): paths, scopes and errors;
 * the bodies are in `forms.ts`. An endpoint's own fields have underscores; everything else is written like the rest of
 * the platform. Definitions only: `webhooksHttp.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, OpenApi } from "effect/http-api"
import { EventId } from "../../events/index.ts"
import { figuresParameters } from "../../http/figuresParameters.ts"
import { IdempotencyKey } from "../../http/idempotency.ts"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import {
  Conflict,
  EnvelopeInvalidRequest,
  EnvelopeRateLimited,
  EnvelopeUnavailable,
  IdempotencyKeyReused,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../http/wireErrors.ts"
import { OpenToPortals, RequiredScopes, WebhooksAccess } from "../../platform/access.ts"
import { deliveryStatuses } from "../delivery/model.ts"
import { defaultOverlapSeconds, maximumOverlapSeconds } from "../endpoint/model.ts"
import {
  askedLabel,
  asymmetric,
  CreatedWebhookEndpoint,
  DeliveryRequestShown,
  description,
  EndpointForm,
  enabledEvents,
  headerChanges,
  headers,
  label,
  Millis,
  ordering,
  PortalLinkForm,
  ReplayProgress,
  RotatedSecret,
  rateLimit,
  SkippedWebhookEvent,
  Unpaused,
  UpdatedWebhookEndpoint,
  url,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookKeys,
  WebhookMetrics,
  WebhookReplay,
  WebhookSources
} from "./forms.ts"
import { verifyPublicText } from "./verifyPublicText.ts"
import { verifyText } from "./verifyText.ts"

/** The two sentences about a URL (docs/platform.md, 6.3). Their bodies hold nothing else. */
export const urlRequired = "url is required"
export const urlNotHttps = "Webhook URL must use HTTPS"

/** 400: the URL is missing, or not HTTPS. */
export class WebhookUrlInvalid extends Schema.Error<WebhookUrlInvalid>("sluice/WebhookUrlInvalid")(
  { _tag: Schema.tagDefaultOmit("WebhookUrlInvalid"), error: Schema.Literals([urlRequired, urlNotHttps]) },
  { httpApiStatus: 400, description: "The URL is missing, or not HTTPS" }
) {}

/** Answers a request without a URL with `urlRequired`. */
export class WebhookUrlRequired extends HttpApiMiddleware.Service<WebhookUrlRequired>()(
  "sluice/webhooks/WebhookUrlRequired",
  { error: [WebhookUrlInvalid] }
) {}

/** Ids are letters, digits and underscores; anything else cannot be one. */
const id = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_]{1,64}$/, { message: "Expected an id of letters, digits and underscores" })
)

const pagination = Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
const cursorPage = {
  limit: Schema.optional(integerParameter(1, maximumPageSize)),
  cursor: Schema.optional(Schema.String)
}

const idempotent = { "idempotency-key": Schema.optional(IdempotencyKey) }
const replayed = { "idempotency-replayed": Schema.optional(Schema.String) }

/**
 * The answer of a request that takes an `Idempotency-Key` (docs/platform.md, 3.2): a repeat gets it too, with
 * `Idempotency-Replayed: true`.
 */
const once = <S extends Schema.Top>(schema: S, status: number) =>
  HttpApiSchema.WithHeaders(schema.pipe(HttpApiSchema.status(status)), replayed)

const read = [RequiredScopes, ["platform:webhooks:read"]] as const
const manage = [RequiredScopes, ["platform:webhooks:manage"]] as const

/** Open to sessions of portals: the handler acts for `ownerOf` the caller, whose label it has. */
const portals = [OpenToPortals, true] as const

const create = HttpApiEndpoint.post("create", "/v1/webhooks", {
  headers: idempotent,
  payload: Schema.Struct({
    url: url.pipe(Schema.annotateKey({ messageMissingKey: urlRequired })),
    enabled_events: enabledEvents,
    description: Schema.optionalKey(description),
    headers: Schema.optionalKey(headers),
    rate_limit: Schema.optionalKey(rateLimit),
    ordering: Schema.optionalKey(ordering),
    label: Schema.optionalKey(label),
    asymmetric: Schema.optionalKey(asymmetric)
  }).annotate({ identifier: "CreateWebhookEndpoint" }),
  success: once(CreatedWebhookEndpoint, 201),
  error: [InvalidRequest, WebhookUrlInvalid, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhookUrlRequired)
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({ summary: "Create an endpoint", description: "The signing secret is in this answer only." })
  )

const list = HttpApiEndpoint.get("list", "/v1/webhooks", {
  query: { label: Schema.optional(askedLabel) },
  success: Schema.Struct({ endpoints: Schema.Array(EndpointForm) }),
  error: [InvalidRequest, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List endpoints, oldest first",
      description: "The webhook endpoints of the key's mode, page by page, without their secrets."
    })
  )

const listSources = HttpApiEndpoint.get("listSources", "/v1/webhooks/source-addresses", {
  success: WebhookSources,
  error: [InvalidRequest, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List the addresses from which deliveries come",
      description: "For firewalls of receivers. An empty list means that they are not known."
    })
  )

const get = HttpApiEndpoint.get("get", "/v1/webhooks/:id", {
  params: { id },
  success: EndpointForm,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get an endpoint",
      description: "One webhook endpoint by its id, without its secret."
    })
  )

const update = HttpApiEndpoint.patch("update", "/v1/webhooks/:id", {
  params: { id },
  payload: Schema.Struct({
    url: Schema.optionalKey(url),
    enabled_events: Schema.optionalKey(enabledEvents),
    description: Schema.optionalKey(description),
    is_active: Schema.optionalKey(Schema.Boolean),
    headers: Schema.optionalKey(headerChanges),
    rate_limit: Schema.optionalKey(rateLimit),
    ordering: Schema.optionalKey(ordering),
    label: Schema.optionalKey(label)
  }).annotate({ identifier: "UpdateWebhookEndpoint" }),
  success: UpdatedWebhookEndpoint,
  error: [InvalidRequest, WebhookUrlInvalid, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Change an endpoint",
      description: "Fields that are left out stay, and so does a pause."
    })
  )

const remove = HttpApiEndpoint.delete("delete", "/v1/webhooks/:id", {
  params: { id },
  success: Schema.Struct({ id: Schema.String, deleted: Schema.Literal(true) }),
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({ summary: "Delete an endpoint", description: "Pending deliveries are cancelled." })
  )

const test = HttpApiEndpoint.post("test", "/v1/webhooks/:id/test", {
  params: { id },
  headers: idempotent,
  success: once(
    Schema.Struct({ success: Schema.Literal(true), eventId: EventId, message: Schema.String }).annotate({
      identifier: "WebhookTest"
    }),
    200
  ),
  error: [InvalidRequest, NotFound, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send a test event",
      description: "This endpoint alone gets it, subscribed or not, in one attempt and even while paused."
    })
  )

const unpause = HttpApiEndpoint.post("unpause", "/v1/webhooks/:id/unpause", {
  params: { id },
  headers: idempotent,
  payload: [
    Schema.Null,
    Schema.Struct({
      replay: Schema.optionalKey(Schema.Boolean).annotate({
        description: "Whether to send what was missed since the pause"
      })
    })
  ],
  success: once(Unpaused, 200),
  error: [InvalidRequest, NotFound, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Resume a paused endpoint",
      description: "Its failures count from 0 again and its pending deliveries resume."
    })
  )

const rotateSecret = HttpApiEndpoint.post("rotateSecret", "/v1/webhooks/:id/rotate-secret", {
  params: { id },
  headers: idempotent,
  payload: [
    Schema.Null,
    Schema.Struct({
      overlapSeconds: Schema.optionalKey(Schema.Int).annotate({
        description: `How long the secret before signs too: 0 to ${maximumOverlapSeconds}, default ${defaultOverlapSeconds}`
      }),
      asymmetric: Schema.optionalKey(asymmetric)
    })
  ],
  success: once(RotatedSecret, 200),
  error: [InvalidRequest, NotFound, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({ summary: "Give a new signing secret", description: "It is in this answer only." })
  )

const portal = HttpApiEndpoint.post("createPortalLink", "/v1/webhooks/portal", {
  headers: idempotent,
  payload: Schema.Struct({
    label: askedLabel,
    expiresAt: Schema.optionalKey(Millis).annotate({
      description: "End of the portal, milliseconds since the Unix epoch: at most 24 hours from now, by default 8 hours"
    }),
    types: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
      description:
        "Patterns of the events to which its endpoints may subscribe; by default those of every service but `platform`",
      examples: [["telco.*"]]
    })
  }).annotate({ identifier: "CreatePortalLink" }),
  success: once(PortalLinkForm, 201),
  error: [InvalidRequest, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Create a link to the portal of a label",
      description:
        "It opens the console once, for the endpoints of this label alone: for a platform whose customers have webhooks of their own. It is good for an hour. Hand it over like a key."
    })
  )

const keys = HttpApiEndpoint.get("listKeys", "/.well-known/webhook-keys", {
  query: { endpoint: id.annotate({ description: "Id of the endpoint, we_…" }) },
  success: WebhookKeys,
  error: [EnvelopeInvalidRequest, EnvelopeRateLimited, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List the public keys of an endpoint",
    description:
      "No API key needed. Empty for an endpoint that has none, and for an id that is none. A rotation is visible within a minute; `Cache-Control` says how long an answer may be kept, and `If-None-Match` revalidates it. 600 requests a minute from one address."
  })
)

const deliveries = HttpApiEndpoint.get("listDeliveries", "/v1/webhooks/:id/deliveries", {
  params: { id },
  query: {
    ...cursorPage,
    status: Schema.optional(
      Schema.Literals(deliveryStatuses).annotate({
        message: `Expected one of ${deliveryStatuses.join(", ")}`,
        description: "Deliveries of this status only; all without it"
      })
    )
  },
  success: Schema.Struct({ data: Schema.Array(WebhookDelivery), pagination }),
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List deliveries, newest first",
      description:
        "A page with `status` may be shorter than its limit, even empty, and still have more behind it: go by `hasMore`."
    })
  )

const delivery = HttpApiEndpoint.get("getDelivery", "/v1/webhooks/:id/deliveries/:deliveryId", {
  params: { id, deliveryId: id },
  success: WebhookDeliveryDetail,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get a delivery with its attempts",
      description: "One delivery to an endpoint: its event, its state, and the answer to each attempt."
    })
  )

const sent = HttpApiEndpoint.get("getDeliveryRequest", "/v1/webhooks/:id/deliveries/:deliveryId/request", {
  params: { id, deliveryId: id },
  success: DeliveryRequestShown,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get what an attempt sends",
      description:
        "The request of the last attempt, or of one that began now: address, headers, body, and what is signed. It is made anew with the secrets of today, so after a rotation the signature of an older attempt was another one. Values of your own headers are left out."
    })
  )

const retry = HttpApiEndpoint.post("retryDelivery", "/v1/webhooks/:id/deliveries/:deliveryId/retry", {
  params: { id, deliveryId: id },
  headers: idempotent,
  success: once(WebhookDeliveryDetail, 202),
  error: [InvalidRequest, NotFound, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send a delivery once more",
      description: "One attempt, which never counts as a failure. 409 while it is pending or the endpoint is disabled."
    })
  )

const skipped = HttpApiEndpoint.get("listSkipped", "/v1/webhooks/:id/skipped", {
  params: { id },
  query: cursorPage,
  success: Schema.Struct({ data: Schema.Array(SkippedWebhookEvent), pagination }),
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List skipped events, newest first",
      description: "Events that the endpoint subscribes to and missed, because it was paused or disabled."
    })
  )

const replay = HttpApiEndpoint.post("replay", "/v1/webhooks/:id/replay", {
  params: { id },
  headers: idempotent,
  payload: Schema.Struct({
    since: Millis.annotate({ description: "Inclusive, milliseconds since the Unix epoch, at most 30 days ago" }),
    until: Schema.optionalKey(Millis).annotate({ description: "Exclusive; default: now" }),
    types: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
      description: "Patterns of which an event must match one besides the endpoint's own"
    })
  }).annotate({ identifier: "ReplayWebhookEvents" }),
  success: once(WebhookReplay, 202),
  error: [InvalidRequest, NotFound, Conflict, IdempotencyKeyReused, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...manage)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send events of the past again",
      description:
        "Every event of the interval that matches, but those whose delivery is pending. 409 while the endpoint is paused or disabled."
    })
  )

const getReplay = HttpApiEndpoint.get("getReplay", "/v1/webhooks/:id/replays/:replayId", {
  params: { id, replayId: id },
  success: ReplayProgress,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get how far a replay has come",
      description: "How many events of a replay are found and delivered, and whether it has ended."
    })
  )

const metrics = HttpApiEndpoint.get("getMetrics", "/v1/webhooks/:id/metrics", {
  params: { id },
  query: figuresParameters,
  success: WebhookMetrics,
  error: [InvalidRequest, NotFound, Unavailable]
})
  .middleware(WebhooksAccess)
  .annotate(...read)
  .annotate(...portals)
  .annotateMerge(
    OpenApi.annotations({
      summary: "Get figures of an endpoint's attempts by hour or day",
      description: "For 30 days. An attempt counts in the hour in which it began, once it has ended."
    })
  )

/** All endpoints of webhooks. */
export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    create,
    keys,
    portal,
    list,
    listSources,
    get,
    update,
    remove,
    test,
    unpause,
    rotateSecret,
    deliveries,
    delivery,
    sent,
    retry,
    skipped,
    replay,
    getReplay,
    metrics
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhooks",
      description: `Endpoints that receive events by HTTP POST, signed with HMAC-SHA256. Deliveries are at least once, and in order where the endpoint asks for one.\n\n${verifyText()}\n\n${verifyPublicText()}`
    })
  ) {}
