/**
 * Defines the bodies of the webhook endpoints' part of the API (docs/platform.md, 6 and 7): requests and answers with
 * endpoints, secrets, deliveries and replays. Schemas only; `api.ts` assigns them to paths.
 */
import { Schema } from "effect"
import { EventId } from "../../events/index.ts"
import { figuresAt, figuresPeriodFields, Percentiles, Rate } from "../../http/figuresParameters.ts"
import { DeliveryAttempt, DeliveryStatus } from "../delivery/model.ts"
import { wholeOrganization } from "../endpoint/deliveryOrder.ts"
import { maximumHeaders } from "../endpoint/headers.ts"
import { labelPattern, maximumLabelLength } from "../endpoint/label.ts"
import { DeliveryOrigin, maximumCountedPending, maximumRateLimit } from "../endpoint/model.ts"
import { replayStatuses } from "../replay/status.ts"

export const Millis = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })

export const url = Schema.String.annotate({
  description: "Where events are posted; https",
  examples: ["https://example.com/hook"]
})

export const enabledEvents = Schema.Array(Schema.String).annotate({
  description: "Patterns: `*`, `<service>.*`, `<service>.<group>.*` or an exact type; 1 to 50",
  examples: [["telco.*"]]
})

export const description = Schema.NullOr(Schema.String).annotate({ description: "At most 500 characters" })

/** Headers of a new endpoint. */
export const headers = Schema.Record(Schema.String, Schema.String).annotate({
  description: `Headers that each delivery carries besides the platform's, by name, at most ${maximumHeaders}. Their values are stored encrypted and never shown again`,
  examples: [{ Authorization: "Bearer of-my-own" }]
})

/** Headers that change. */
export const headerChanges = Schema.NullOr(Schema.Record(Schema.String, Schema.NullOr(Schema.String))).annotate({
  description: "Headers to set; null as a value removes that one, null instead of the object removes all"
})

export const rateLimit = Schema.NullOr(Schema.Int).annotate({
  description: `Attempts per second at most, 1 to ${maximumRateLimit}; null for no limit`
})

export const ordering = Schema.NullOr(
  Schema.Struct({
    key: Schema.String.annotate({
      description: `A path in the data of events, such as \`customer.id\`, or \`${wholeOrganization}\` for all events in one line`,
      examples: ["customer.id"]
    })
  })
).annotate({
  description: "Deliveries of events with the same value at the path go one after the other; null for no order",
  identifier: "WebhookOrdering"
})

/** The customer to whom an endpoint belongs. */
export const label = Schema.NullOr(Schema.String).annotate({
  description: `The name of the customer to whom it belongs, 1 to ${maximumLabelLength} letters, digits and \`. _ : @ -\`; null for none`,
  examples: ["customer-17"]
})

/** A label that is asked for. */
export const askedLabel = Schema.String.check(
  Schema.isPattern(labelPattern, {
    message: `Expected 1 to ${maximumLabelLength} letters, digits and . _ : @ -`
  })
).annotate({
  description: `1 to ${maximumLabelLength} letters, digits and \`. _ : @ -\``,
  examples: ["customer-17"]
})

/** Whether an endpoint's deliveries are signed with a private key too. */
export const asymmetric = Schema.Boolean.annotate({
  description: "Whether deliveries are signed with a private key too, `v1a` of Standard Webhooks (Ed25519)"
})

const publicKey = Schema.NullOr(Schema.String).annotate({
  description: "whpk_…, with which anybody can verify the `v1a` signatures; null where there are none"
})

const headerNames = Schema.Array(Schema.String).annotate({
  description: "Names of the headers that each delivery carries besides the platform's"
})

const signingSecret = Schema.String.annotate({ description: "whsec_…; not to be had again" })

/** The list form of an endpoint. */
export const EndpointForm = Schema.Struct({
  id: Schema.String.annotate({ description: "we_…" }),
  url,
  enabled_events: enabledEvents,
  description,
  header_names: headerNames,
  rate_limit: rateLimit,
  ordering,
  label,
  public_key: publicKey,
  is_active: Schema.Boolean,
  is_paused: Schema.Boolean,
  consecutive_failures: Schema.Int,
  last_delivery_at: Schema.NullOr(Millis),
  last_delivery_status: Schema.NullOr(Schema.Int).annotate({ description: "HTTP status; 0 without an answer" }),
  pending: Schema.Int.annotate({
    description: `Deliveries that wait or are being attempted, counted up to ${maximumCountedPending}`
  }),
  oldest_pending_at: Schema.NullOr(Millis).annotate({
    description: "When the oldest event of those that are counted happened; null where nothing is pending"
  }),
  created_at: Millis
}).annotate({ identifier: "WebhookEndpoint" })
export type EndpointForm = typeof EndpointForm.Type

const warning = Schema.optionalKey(
  Schema.String.annotate({
    description: "Where patterns match no type of the catalogue: nothing is delivered for them"
  })
)

/** The list form after a change. */
export const UpdatedWebhookEndpoint = Schema.Struct({ ...EndpointForm.fields, warning }).annotate({
  identifier: "UpdatedWebhookEndpoint"
})

/** A new endpoint, with its secret. */
export const CreatedWebhookEndpoint = Schema.Struct({
  id: EndpointForm.fields.id,
  url,
  enabled_events: enabledEvents,
  description,
  header_names: headerNames,
  rate_limit: rateLimit,
  ordering,
  label,
  signing_secret: signingSecret,
  public_key: publicKey,
  is_active: Schema.Boolean,
  message: Schema.String,
  warning
}).annotate({ identifier: "CreatedWebhookEndpoint" })

export const WebhookReplay = Schema.Struct({
  replayId: Schema.String.annotate({ description: "rpl_…" }),
  count: Schema.Int.annotate({ description: "Events that it sends" })
}).annotate({ identifier: "WebhookReplay" })

export const ReplayProgress = Schema.Struct({
  id: WebhookReplay.fields.replayId,
  since: Millis,
  until: Millis,
  types: Schema.NullOr(Schema.Array(Schema.String)),
  status: Schema.Literals(replayStatuses).annotate({ description: "`done` once all is queued, whatever became of it" }),
  asked: Schema.Int.annotate({ description: "Events that it sends in all" }),
  queued: Schema.Int.annotate({ description: "Deliveries made of them so far" }),
  delivered: Schema.Int.annotate({ description: "Of these, those that have succeeded" }),
  failed: Schema.Int.annotate({ description: "Of these, those that have failed or expired" }),
  createdAt: Millis,
  finishedAt: Schema.NullOr(Millis).annotate({ description: "Null while it is running" })
}).annotate({ identifier: "WebhookReplayProgress" })

const NothingReplayed = Schema.Struct({
  replayId: Schema.Null,
  count: Schema.Literal(0),
  message: Schema.String.annotate({ description: "Why nothing is sent" })
}).annotate({ identifier: "NothingReplayed" })

export const Unpaused = Schema.Struct({
  ...EndpointForm.fields,
  replay: Schema.optionalKey(Schema.Union([WebhookReplay, NothingReplayed])).annotate({
    description: "Where one was asked for; without an id where the endpoint was not paused"
  })
}).annotate({ identifier: "UnpausedWebhookEndpoint" })

export const RotatedSecret = Schema.Struct({
  id: EndpointForm.fields.id,
  signing_secret: signingSecret,
  public_key: publicKey,
  previous_secret_expires_at: Schema.NullOr(Millis).annotate({
    description: "Until then the secret before signs too; null where it no longer does"
  }),
  message: Schema.String
}).annotate({ identifier: "RotatedWebhookSecret" })

/** The public keys of an endpoint. */
export const WebhookKeys = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      key: Schema.String.annotate({ description: "whpk_ and the 32 bytes of an Ed25519 key in base64" }),
      created_at: Millis
    })
  ).annotate({ description: "The newest first; during a rotation two, since both sign" })
}).annotate({ identifier: "WebhookKeys" })

/** A new link to a portal. */
export const PortalLinkForm = Schema.Struct({
  url: Schema.String.annotate({ description: "Opens the portal once; not to be had again" }),
  label: Schema.String,
  types: Schema.Array(Schema.String).annotate({
    description: "Patterns of the events to which its endpoints may subscribe"
  }),
  linkExpiresAt: Millis.annotate({ description: "Until then the link opens, milliseconds since the Unix epoch" }),
  expiresAt: Millis.annotate({ description: "End of the portal, milliseconds since the Unix epoch" })
}).annotate({ identifier: "WebhookPortalLink" })

/** The addresses from which deliveries come. */
export const WebhookSources = Schema.Struct({
  addresses: Schema.Array(Schema.String).annotate({
    description: "IP addresses and ranges in CIDR form; empty where they are not known",
    examples: [["203.0.113.7", "2001:db8::/48"]]
  })
}).annotate({ identifier: "WebhookSources" })

/** A listed delivery. */
export const WebhookDelivery = Schema.Struct({
  id: Schema.String.annotate({ description: "dlv_…" }),
  endpointId: Schema.String,
  eventId: EventId,
  eventType: Schema.String,
  eventCreatedAt: Millis,
  origin: DeliveryOrigin,
  replayId: Schema.NullOr(Schema.String).annotate({
    description: "The replay that made it; null where it was the event"
  }),
  status: DeliveryStatus,
  attemptCount: Schema.Int,
  createdAt: Millis,
  nextAttemptAt: Schema.NullOr(Millis).annotate({ description: "Null once it is over" }),
  settledAt: Schema.NullOr(Millis).annotate({ description: "Null while it is pending" })
}).annotate({ identifier: "WebhookDelivery" })

export const WebhookDeliveryDetail = Schema.Struct({
  ...WebhookDelivery.fields,
  attempts: Schema.Array(DeliveryAttempt).annotate({ description: "Oldest first; the newest 20 of them" })
}).annotate({ identifier: "WebhookDeliveryDetail" })

export const SkippedWebhookEvent = Schema.Struct({
  eventId: EventId,
  eventType: Schema.String,
  eventCreatedAt: Millis,
  reason: Schema.Literals(["paused", "disabled"])
}).annotate({ identifier: "SkippedWebhookEvent" })

/** The content of an attempt (docs/platform.md, 7.2). */
export const DeliveryRequestShown = Schema.Struct({
  method: Schema.Literal("POST"),
  url: Schema.String,
  at: Schema.Int.annotate({ description: "The attempt it stands for, milliseconds since the Unix epoch" }),
  headers: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.NullOr(Schema.String) })).annotate({
    description: "In order; the value of a header of your own is null"
  }),
  body: Schema.String.annotate({ description: "The event, byte for byte" }),
  signedText: Schema.String.annotate({ description: "The text that is signed: `<timestamp>.<body>`" })
}).annotate({ identifier: "WebhookDeliveryRequest" })

const attempts = (description: string) => Schema.Int.annotate({ description })

const figures = {
  attempts: attempts("Attempts of deliveries to the endpoint"),
  succeeded: attempts("Attempts that succeeded"),
  failed: attempts("Attempts that failed"),
  retried: attempts("Failed attempts that another attempt follows"),
  successRate: Rate("Succeeded of all attempts"),
  latency: Percentiles.annotate({ description: "Until the answer, or until the attempt was given up" })
}

/** Figures of an endpoint over time (docs/platform.md, 7.11). */
export const WebhookMetrics = Schema.Struct({
  id: Schema.String,
  ...figuresPeriodFields,
  totals: Schema.Struct(figures).annotate({ identifier: "WebhookFigures" }),
  series: Schema.Array(
    Schema.Struct({ at: figuresAt, ...figures }).annotate({ identifier: "WebhookFiguresAt" })
  ).annotate({ description: "Every hour or day of the period, in order" })
}).annotate({ identifier: "WebhookMetrics" })
