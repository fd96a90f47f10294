/**
 * Defines a webhook endpoint as its actor keeps it: state, commands, facts, rejections, and pure functions of the state
 * (docs/platform.md, 6.1 and 6.4). Secrets are not in the log: the state names them by id, and their ciphertext is in
 * PostgreSQL, like the times and statuses of deliveries. Pure.
 */
import { Result, Schema } from "effect"
import {
  catalogue,
  type Event,
  EventId,
  type EventPattern,
  InvalidPattern,
  type Matchable,
  matchesAny,
  parsePatterns
} from "../../events/index.ts"
import { targetPolicies, UrlRefused } from "../target/targets.ts"
import { Ordering } from "./deliveryOrder.ts"

/** The table that shows the endpoints as the log has made them. */
export const endpointsTable = "webhook_endpoints"

/** The work queue of their deliveries, which counts what is pending. */
export const jobsTable = "webhook_jobs"

/** Endpoints of one organization. */
export const maximumEndpoints = 50

/** Consecutive failed deliveries that emit `platform.webhook.failing`. */
export const failingAfterFailures = 5

/** Consecutive failed deliveries that pause the endpoint (docs/platform.md, 7.5). */
export const pausedAfterFailures = 10

/** How long the previous secret signs after a rotation: by default, and at most. In seconds. */
export const defaultOverlapSeconds = 86_400
export const maximumOverlapSeconds = 604_800

/**
 * The bound up to which pending deliveries of an endpoint are counted, so that a long queue does not make the list
 * slow.
 */
export const maximumCountedPending = 1_000

/** The longest description, in characters. */
export const maximumDescriptionLength = 500

/** The highest rate that an endpoint can have, attempts per second. */
export const maximumRateLimit = 10_000

/** The longest id of an endpoint, a secret or a delivery, in characters. */
export const maximumIdLength = 64

/**
 * Failed deliveries that are remembered, so that one reported twice counts once. It is more than an endpoint ever has
 * in flight (64), because a crash repeats only the reports of deliveries in flight.
 */
export const maximumRememberedFailures = 128

/**
 * Requests that are remembered with their results, so that a request repeated after an unknown outcome is not done
 * twice. The repeat normally comes seconds later.
 */
export const maximumRememberedRequests = 16

const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maximumIdLength))
const Millis = Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" })
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Status = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 }))

export const PauseReason = Schema.Literals(["failures", "gone"])
export type PauseReason = typeof PauseReason.Type

/** Headers of an endpoint: their names, and the secret that holds them with their values. */
const SealedHeaders = Schema.Struct({ secretId: Id, names: Schema.Array(Schema.String) })

/** Attempts per second; null for no limit. The rules check its bounds. */
const RateLimit = Schema.NullOr(Schema.Int)

/** The state of an endpoint. See {@link WebhookEndpoints}. */
export const Endpoint = Schema.Struct({
  /** As the owner wrote it. */
  url: Schema.String,
  enabledEvents: Schema.Array(Schema.String),
  description: Schema.NullOr(Schema.String),
  /** The mode of the key that made it: only events of this mode go to it. */
  livemode: Schema.Boolean,
  isActive: Schema.Boolean,
  /** Sent with each delivery; null without any. */
  headers: Schema.NullOr(SealedHeaders),
  rateLimit: RateLimit,
  /** The order of its deliveries; null or missing without one. */
  ordering: Schema.optionalKey(Schema.NullOr(Ordering)),
  /** The name of the customer to whom it belongs; null or missing without one. */
  label: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** Null while it is not paused. */
  paused: Schema.NullOr(Schema.Struct({ reason: PauseReason, at: Millis })),
  consecutiveFailures: Count,
  /** The deliveries that failed since the last success, newest last. */
  failedDeliveries: Schema.Array(Id),
  secretId: Id,
  /** The secret before the last rotation, while it signs too. */
  previousSecret: Schema.NullOr(Schema.Struct({ secretId: Id, until: Millis })),
  /** Requested tests and replays by their random ids, newest last. Missing in states of older versions. */
  recentRequests: Schema.optionalKey(
    Schema.Array(
      Schema.Union([
        Schema.Struct({ id: Id, eventId: EventId }),
        Schema.Struct({ id: Id, since: Millis, until: Millis })
      ])
    )
  ),
  createdAt: Millis
})
export type Endpoint = typeof Endpoint.Type

/** Which endpoint is meant. */
export interface EndpointPlace {
  readonly organizationId: string
  readonly endpointId: string
}

/**
 * An endpoint as the log has made it up to `sequence`. `endpoint` is null after its deletion. See
 * {@link WebhookEndpoint}.
 */
export interface FoldedEndpoint {
  readonly endpointId: string
  readonly organizationId: string
  readonly partition: number
  readonly sequence: number
  readonly endpoint: Endpoint | null
}

/** The origin of a delivery; only failures of those of events count. See {@link WebhookEndpoints}. */
export const DeliveryOrigin = Schema.Literals(["event", "test", "retry"])
export type DeliveryOrigin = typeof DeliveryOrigin.Type

const Targets = Schema.Literals(targetPolicies)

/**
 * The mode of the caller, and the only label that it may see: endpoints of the other mode, or of another label, do not
 * exist for it. Each is omitted if any is meant.
 */
const asked = { livemode: Schema.optionalKey(Schema.Boolean), onlyLabel: Schema.optionalKey(Schema.String) }

/** A request that an endpoint decides. See {@link WebhookEndpoints}. */
export const EndpointCommand = Schema.Union([
  /**
   * The caller chooses the endpoint's id (the actor's key) and the secret's at random, so that repeating the command
   * changes nothing.
   */
  Schema.TaggedStruct("Create", {
    url: Schema.String,
    enabledEvents: Schema.Array(Schema.String),
    description: Schema.NullOr(Schema.String),
    secretId: Id,
    headers: Schema.optionalKey(SealedHeaders),
    rateLimit: Schema.optionalKey(RateLimit),
    ordering: Schema.optionalKey(Ordering),
    label: Schema.optionalKey(Schema.String),
    /** Its mode, for good; default: live. A caller that sees one label alone makes endpoints of that label. */
    ...asked,
    targets: Targets
  }),
  /**
   * Changes the given fields. `targets` is the policy for `url`. Headers that are based on earlier ones name the secret
   * of those (null for none) as `headersBefore`, and are refused if the endpoint has others by now.
   */
  Schema.TaggedStruct("Update", {
    url: Schema.optionalKey(Schema.String),
    enabledEvents: Schema.optionalKey(Schema.Array(Schema.String)),
    description: Schema.optionalKey(Schema.NullOr(Schema.String)),
    isActive: Schema.optionalKey(Schema.Boolean),
    headers: Schema.optionalKey(Schema.NullOr(SealedHeaders)),
    headersBefore: Schema.optionalKey(Schema.NullOr(Id)),
    rateLimit: Schema.optionalKey(RateLimit),
    ordering: Schema.optionalKey(Schema.NullOr(Ordering)),
    label: Schema.optionalKey(Schema.NullOr(Schema.String)),
    ...asked,
    targets: Targets
  }),
  Schema.TaggedStruct("Delete", asked),
  Schema.TaggedStruct("Get", asked),
  /**
   * With `replayId`, chosen at random by the caller, the events that were missed since the pause are replayed under
   * that id. Repeating the command changes nothing.
   */
  Schema.TaggedStruct("Unpause", { replayId: Schema.optionalKey(Id), ...asked }),
  /**
   * Sends events of the past again: those from `since` on and before `until` (at most and by default now) that match
   * the endpoint's patterns and, if given, `types`. The caller chooses the id at random; the same id again is the same
   * replay.
   */
  Schema.TaggedStruct("RequestReplay", {
    replayId: Id,
    since: Millis,
    until: Schema.NullOr(Millis),
    types: Schema.NullOr(Schema.Array(Schema.String)),
    ...asked
  }),
  Schema.TaggedStruct("RotateSecret", { secretId: Id, overlapSeconds: Schema.Finite, ...asked }),
  /** The caller chooses the id at random. Repeating the command answers the same event. */
  Schema.TaggedStruct("RequestTest", { requestId: Schema.optionalKey(Id), ...asked }),
  /**
   * A delivery has succeeded, whatever its origin. Need not be reported while the endpoint has no consecutive
   * failures.
   */
  Schema.TaggedStruct("RecordSuccess", {}),
  /** The last attempt of a delivery has failed. */
  Schema.TaggedStruct("RecordFailure", { deliveryId: Id, origin: DeliveryOrigin, status: Status }),
  /**
   * An attempt was answered with 410 and the delivery has attempts left; after the last one it is `RecordFailure` with
   * that status.
   */
  Schema.TaggedStruct("RecordGone", { origin: DeliveryOrigin })
])
export type EndpointCommand = typeof EndpointCommand.Type

export const EndpointFact = Schema.Union([
  Schema.TaggedStruct("Created", {
    url: Schema.String,
    enabledEvents: Schema.Array(Schema.String),
    description: Schema.NullOr(Schema.String),
    secretId: Id,
    /** Omitted if there are none, as in facts of older versions. */
    headers: Schema.optionalKey(SealedHeaders),
    rateLimit: Schema.optionalKey(RateLimit),
    ordering: Schema.optionalKey(Ordering),
    label: Schema.optionalKey(Schema.String),
    livemode: Schema.Boolean,
    at: Millis
  }),
  /** Only what has changed. */
  Schema.TaggedStruct("Updated", {
    url: Schema.optionalKey(Schema.String),
    enabledEvents: Schema.optionalKey(Schema.Array(Schema.String)),
    description: Schema.optionalKey(Schema.NullOr(Schema.String)),
    isActive: Schema.optionalKey(Schema.Boolean),
    headers: Schema.optionalKey(Schema.NullOr(SealedHeaders)),
    rateLimit: Schema.optionalKey(RateLimit),
    ordering: Schema.optionalKey(Schema.NullOr(Ordering)),
    label: Schema.optionalKey(Schema.NullOr(Schema.String))
  }),
  Schema.TaggedStruct("Deleted", {}),
  Schema.TaggedStruct("DeliveryFailed", { deliveryId: Id, status: Status }),
  Schema.TaggedStruct("FailuresReset", {}),
  Schema.TaggedStruct("Paused", { reason: PauseReason, at: Millis }),
  Schema.TaggedStruct("Unpaused", {}),
  /** With `previousUntil` null the previous secret no longer signs. */
  Schema.TaggedStruct("SecretRotated", { secretId: Id, previousUntil: Schema.NullOr(Millis) }),
  Schema.TaggedStruct("PreviousSecretEnded", {}),
  Schema.TaggedStruct("TestRequested", { eventId: EventId, requestId: Schema.optionalKey(Id) }),
  /**
   * The events of the interval are before this fact in the log, except some of its last millisecond, which are
   * delivered anyway. `patterns` are the endpoint's at that place, `livemode` is its mode.
   */
  Schema.TaggedStruct("ReplayRequested", {
    replayId: Id,
    since: Millis,
    until: Millis,
    patterns: Schema.Array(Schema.String),
    types: Schema.NullOr(Schema.Array(Schema.String)),
    livemode: Schema.Boolean
  })
])
export type EndpointFact = typeof EndpointFact.Type

/** The endpoint after the command, null when there is none; with `eventId` for a test and `replay` for a replay. See {@link WebhookEndpoints}. */
export const EndpointReply = Schema.Struct({
  endpoint: Schema.NullOr(Endpoint),
  eventId: Schema.optionalKey(EventId),
  replay: Schema.optionalKey(Schema.Struct({ replayId: Id, since: Millis, until: Millis }))
})
export type EndpointReply = typeof EndpointReply.Type

/** The organization has no such endpoint. See {@link Webhooks}. */
export class EndpointNotFound extends Schema.TaggedError<EndpointNotFound>()("EndpointNotFound", {
  endpointId: Schema.String
}) {
  override get message(): string {
    return `There is no webhook endpoint ${this.endpointId}`
  }
}

/** Another endpoint has this id already. See {@link WebhookEndpoints}. */
export class EndpointExists extends Schema.TaggedError<EndpointExists>()("EndpointExists", {
  endpointId: Schema.String
}) {
  override get message(): string {
    return `The id ${this.endpointId} is taken`
  }
}

/**
 * The organization has its maximum of endpoints, or the label that of its portals. See {@link WebhookEndpoints}.
 */
export class TooManyEndpoints extends Schema.TaggedError<TooManyEndpoints>()("TooManyEndpoints", {
  maximum: Schema.Int,
  label: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    return this.label === undefined
      ? `An organization has at most ${this.maximum} webhook endpoints`
      : `${this.label} has at most ${this.maximum} webhook endpoints of its own`
  }
}

/** The request needs an endpoint that is not disabled. See {@link Webhooks}. */
export class EndpointDisabled extends Schema.TaggedError<EndpointDisabled>()("EndpointDisabled", {
  endpointId: Schema.String
}) {
  override get message(): string {
    return `The webhook endpoint ${this.endpointId} is disabled`
  }
}

/** The request needs an endpoint that is not paused. See {@link WebhookEndpoints}. */
export class EndpointPaused extends Schema.TaggedError<EndpointPaused>()("EndpointPaused", {
  endpointId: Schema.String
}) {
  override get message(): string {
    return `The webhook endpoint ${this.endpointId} is paused`
  }
}

/** A field outside its bounds; the message names it and the bounds. See {@link Webhooks}. */
export class EndpointInvalid extends Schema.TaggedError<EndpointInvalid>()("EndpointInvalid", {
  field: Schema.String,
  message: Schema.String
}) {}

/** The endpoint's headers are no longer those on which the change was based. Make it again from the new ones. See {@link WebhookEndpoints}. */
export class EndpointHeadersChanged extends Schema.TaggedError<EndpointHeadersChanged>()("EndpointHeadersChanged", {
  endpointId: Schema.String
}) {
  override get message(): string {
    return `The headers of the webhook endpoint ${this.endpointId} were changed meanwhile`
  }
}

export const EndpointRejection = Schema.Union([
  EndpointNotFound,
  EndpointExists,
  TooManyEndpoints,
  EndpointDisabled,
  EndpointPaused,
  EndpointInvalid,
  EndpointHeadersChanged,
  UrlRefused,
  InvalidPattern
])
export type EndpointRejection = typeof EndpointRejection.Type

/**
 * The states of docs/platform.md, 6.4. An endpoint that is disabled and paused counts as Disabled; enabled again it is
 * Paused.
 * See {@link WebhookEndpoints}.
 */
export type EndpointStatus = "active" | "disabled" | "paused"

export const statusOf = (endpoint: Endpoint): EndpointStatus =>
  !endpoint.isActive ? "disabled" : endpoint.paused !== null ? "paused" : "active"

/** The ids of all secrets that an endpoint names. */
export const secretIdsOf = ({ headers, previousSecret, secretId }: Endpoint): ReadonlyArray<string> => [
  secretId,
  ...(previousSecret === null ? [] : [previousSecret.secretId]),
  ...(headers === null ? [] : [headers.secretId])
]

/** The ids of the secrets that sign at `now`, the new one first. */
export const signingSecretIds = (endpoint: Endpoint, now: number): ReadonlyArray<string> => {
  const { previousSecret, secretId } = endpoint
  return previousSecret !== null && now < previousSecret.until ? [secretId, previousSecret.secretId] : [secretId]
}

/** The event of an endpoint's `TestRequested`, which was decided at `createdAt` (docs/platform.md, 6.5). */
export const testEventOf = (
  endpointId: string,
  fact: Extract<EndpointFact, { readonly _tag: "TestRequested" }>,
  createdAt: number
): Event => ({
  eventId: fact.eventId,
  type: "platform.test",
  service: catalogue["platform.test"].service,
  data: { ...catalogue["platform.test"].example, endpoint_id: endpointId },
  livemode: false,
  createdAt
})

/**
 * Parsed patterns by their list, which states share unchanged. They are cached because each event is matched with each
 * endpoint.
 */
const parsed = new WeakMap<ReadonlyArray<string>, ReadonlyArray<EventPattern>>()

/**
 * Never fails: a stored pattern that this version would refuse makes its endpoint match nothing instead of stopping a
 * follower. First segments were checked when the pattern was given; an embedder has types of its own.
 */
const patternsOf = (enabledEvents: ReadonlyArray<string>): ReadonlyArray<EventPattern> => {
  const known = parsed.get(enabledEvents)
  if (known !== undefined) return known
  const patterns = Result.getOrElse(parsePatterns(enabledEvents, "any"), (): ReadonlyArray<EventPattern> => [])
  parsed.set(enabledEvents, patterns)
  return patterns
}

/**
 * The endpoints of an event: those of its mode whose patterns match, those of both modes (an operator's test events),
 * or one chosen endpoint, whatever its mode and patterns.
 */
export type Reach = "mode" | "both modes" | "chosen"

/**
 * The result of an event for an endpoint in its state at the event's place in the log: a delivery, an entry in its list
 * of skipped events (it subscribes, but is Paused or Disabled), or nothing. A test event goes to its own endpoint
 * whatever the patterns, even while Paused.
 */
export const dispositionOf = (
  endpointId: string,
  endpoint: Endpoint,
  event: Matchable & { readonly data: unknown; readonly livemode: boolean },
  reach: Reach = "mode"
): "delivered" | "skipped" | "ignored" => {
  if (event.type === "platform.test") {
    const { endpoint_id } = event.data as { readonly endpoint_id?: unknown }
    return endpoint_id !== endpointId ? "ignored" : endpoint.isActive ? "delivered" : "skipped"
  }
  if (reach === "mode" && event.livemode !== endpoint.livemode) return "ignored"
  if (reach !== "chosen" && !matchesAny(patternsOf(endpoint.enabledEvents), event)) return "ignored"
  return statusOf(endpoint) === "active" ? "delivered" : "skipped"
}
