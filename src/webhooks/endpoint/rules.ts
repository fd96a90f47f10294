/**
 * Defines the rules of webhook endpoints as actors of the engine (docs/platform.md, 6.4): one actor per endpoint, whose
 * key is the endpoint's id, and one per organization that knows these ids. Endpoints are actors of their own because
 * fifty of them with long URLs would not fit one actor's state. Pure.
 */
import { Result, Schema } from "effect"
import { formatLevels } from "../../common/formatLevels.ts"
import * as Actor from "../../engine/Actor.ts"
import { eventIdPrefix, eventRetentionMillis, InvalidPattern, parsePatterns, publicEvent } from "../../events/index.ts"
import type { Ordering } from "./deliveryOrder.ts"
import { changesOf, problemOf } from "./fields.ts"
import { maximumPortalEndpoints } from "./label.ts"
import {
  Endpoint,
  EndpointCommand,
  EndpointDisabled,
  EndpointExists,
  EndpointFact,
  EndpointHeadersChanged,
  EndpointInvalid,
  EndpointNotFound,
  EndpointPaused,
  EndpointRejection,
  EndpointReply,
  failingAfterFailures,
  maximumEndpoints,
  maximumOverlapSeconds,
  maximumRememberedFailures,
  maximumRememberedRequests,
  type PauseReason,
  pausedAfterFailures,
  TooManyEndpoints
} from "./model.ts"

const ListFact = Schema.Union([
  Schema.TaggedStruct("Added", { endpointId: Schema.String, label: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("Labelled", { endpointId: Schema.String, label: Schema.NullOr(Schema.String) }),
  Schema.TaggedStruct("Removed", { endpointId: Schema.String })
])

const ListState = Schema.Struct({
  endpointIds: Schema.Array(Schema.String),
  /** The labels of endpoints that have one, by their ids; missing if none has. */
  labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})

/** The list with these ids, and labels of those alone. */
const listOf = (
  endpointIds: ReadonlyArray<string>,
  labels: Readonly<Record<string, string | null>>
): typeof ListState.Type => {
  const labelled = endpointIds.flatMap((id) => (labels[id] == null ? [] : [[id, labels[id]] as const]))
  return labelled.length === 0 ? { endpointIds } : { endpointIds, labels: Object.fromEntries(labelled) }
}

const evolveList = (
  { endpointIds, labels = {} }: typeof ListState.Type,
  fact: typeof ListFact.Type
): typeof ListState.Type => {
  const { endpointId } = fact
  if (fact._tag === "Removed")
    return listOf(
      endpointIds.filter((id) => id !== endpointId),
      labels
    )
  const ids = fact._tag === "Added" ? [...endpointIds, endpointId] : endpointIds
  return listOf(ids, { ...labels, [endpointId]: fact.label ?? null })
}

/**
 * The ids of the organization's endpoints, oldest first, and their labels. Only the endpoints' own decisions change it.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import type { Engine } from "sluice"
 * import { WebhookEndpoints } from "sluice/webhook/dispatcher"
 *
 * export const idsOf = (engine: Engine.Engine["Service"], organization: string) =>
 *   Effect.map(engine.state(WebhookEndpoints, { organization }), ({ endpointIds }) => endpointIds)
 * ```
 */
export const WebhookEndpoints = Actor.make({
  kind: "webhookEndpoints",
  command: Schema.TaggedStruct("List", {}),
  fact: ListFact,
  state: ListState,
  reply: ListState,
  initial: () => ({ endpointIds: [] }),
  isOver: ({ endpointIds }) => endpointIds.length === 0,
  evolve: evolveList,
  decide: (state) => Actor.decided({ reply: state })
})

type Decision = Actor.Decision<EndpointFact, EndpointReply, EndpointRejection>
type Command<Tag extends EndpointCommand["_tag"]> = Extract<EndpointCommand, { readonly _tag: Tag }>

const created = (fact: Extract<EndpointFact, { readonly _tag: "Created" }>): Endpoint => ({
  url: fact.url,
  enabledEvents: fact.enabledEvents,
  description: fact.description,
  livemode: fact.livemode,
  isActive: true,
  headers: fact.headers ?? null,
  rateLimit: fact.rateLimit ?? null,
  ...(fact.ordering === undefined ? {} : { ordering: fact.ordering }),
  ...(fact.label === undefined ? {} : { label: fact.label }),
  paused: null,
  consecutiveFailures: 0,
  failedDeliveries: [],
  secretId: fact.secretId,
  previousSecret: null,
  createdAt: fact.at
})

type RememberedRequest = NonNullable<Endpoint["recentRequests"]>[number]

const remembering = (endpoint: Endpoint, request: RememberedRequest): Endpoint => ({
  ...endpoint,
  recentRequests: [...(endpoint.recentRequests ?? []), request].slice(-maximumRememberedRequests)
})

/** The result of an earlier request with this id, if there was one. */
const rememberedTest = (endpoint: Endpoint, id: string | undefined): string | undefined => {
  const request = endpoint.recentRequests?.find((one) => one.id === id)
  return request !== undefined && "eventId" in request ? request.eventId : undefined
}
const rememberedReplay = (endpoint: Endpoint, id: string | undefined): EndpointReply["replay"] => {
  const request = endpoint.recentRequests?.find((one) => one.id === id)
  if (request === undefined || "eventId" in request) return undefined
  return { replayId: request.id, since: request.since, until: request.until }
}

/** Whether this is the endpoint's current or previous secret. */
const hasSecret = ({ previousSecret, secretId }: Endpoint, id: string): boolean =>
  secretId === id || previousSecret?.secretId === id

const evolveEndpoint = (endpoint: Endpoint, fact: EndpointFact): Endpoint | null => {
  switch (fact._tag) {
    case "Created":
      return created(fact)
    case "Updated": {
      const { _tag, ...changes } = fact
      return { ...endpoint, ...changes }
    }
    case "Deleted":
      return null
    case "DeliveryFailed":
      return {
        ...endpoint,
        consecutiveFailures: endpoint.consecutiveFailures + 1,
        failedDeliveries: [...endpoint.failedDeliveries, fact.deliveryId].slice(-maximumRememberedFailures)
      }
    case "FailuresReset":
      return { ...endpoint, consecutiveFailures: 0, failedDeliveries: [] }
    case "Paused":
      return { ...endpoint, paused: { reason: fact.reason, at: fact.at } }
    case "Unpaused":
      // Keep the failed deliveries, because one that was in flight may still be reported again.
      return { ...endpoint, paused: null, consecutiveFailures: 0 }
    case "SecretRotated": {
      const { previousUntil, secretId } = fact
      const previousSecret = previousUntil === null ? null : { secretId: endpoint.secretId, until: previousUntil }
      return { ...endpoint, secretId, previousSecret }
    }
    case "PreviousSecretEnded":
      return { ...endpoint, previousSecret: null }
    case "TestRequested": {
      const { eventId, requestId } = fact
      return requestId === undefined ? endpoint : remembering(endpoint, { id: requestId, eventId })
    }
    case "ReplayRequested":
      return remembering(endpoint, { id: fact.replayId, since: fact.since, until: fact.until })
  }
}

const evolve = (state: Endpoint | null, fact: EndpointFact): Endpoint | null =>
  state !== null ? evolveEndpoint(state, fact) : fact._tag === "Created" ? created(fact) : null

/** Accepts with facts; the reply is the endpoint after them. */
const after = (
  state: Endpoint | null,
  facts: ReadonlyArray<EndpointFact>,
  more: Pick<Parameters<typeof Actor.decided>[0], "events" | "others"> & Omit<EndpointReply, "endpoint"> = {}
): Decision => {
  const { eventId, replay, ...rest } = more
  const reply = { ...(eventId === undefined ? {} : { eventId }), ...(replay === undefined ? {} : { replay }) }
  return Actor.decided({ ...rest, facts, reply: { endpoint: facts.reduce(evolve, state), ...reply } })
}

const tooEarly = (field: string): EndpointInvalid =>
  new EndpointInvalid({ field, message: `${field} can be set once all nodes run this version` })

/** Refuses labels while nodes may be about that would show the endpoints of one to the sessions of another one. */
export const labelLevelProblem = (level: number): EndpointInvalid | undefined =>
  level < formatLevels.endpointLabels ? tooEarly("label") : undefined

/** Refuses an order or a label while nodes may be about that would go on without it. */
const levelProblem = (
  { label, ordering }: { readonly label?: string | null; readonly ordering?: Ordering | null },
  level: number
): EndpointInvalid | undefined => {
  if (ordering !== null && ordering !== undefined && level < formatLevels.orderedDeliveries) return tooEarly("ordering")
  return label === null || label === undefined ? undefined : labelLevelProblem(level)
}

/** Refuses another label than the only one that the caller may see. */
const ownLabelProblem = (
  onlyLabel: string | undefined,
  label: string | null | undefined
): EndpointInvalid | undefined =>
  onlyLabel === undefined || label === undefined || label === onlyLabel
    ? undefined
    : new EndpointInvalid({ field: "label", message: "label cannot be another one here: each endpoint has yours" })

/** Refuses one more endpoint if its organization has its maximum, or the label of the caller has. */
const placeProblem = (
  { endpointIds, labels = {} }: typeof ListState.Type,
  onlyLabel: string | undefined
): TooManyEndpoints | undefined => {
  if (endpointIds.length >= maximumEndpoints) return new TooManyEndpoints({ maximum: maximumEndpoints })
  const own = Object.values(labels).filter((label) => label === onlyLabel)
  return own.length < maximumPortalEndpoints || onlyLabel === undefined
    ? undefined
    : new TooManyEndpoints({ maximum: maximumPortalEndpoints, label: onlyLabel })
}

const create = (state: Endpoint | null, command: Command<"Create">, context: Actor.DecideContext): Decision => {
  const endpointId = context.self.key
  const { _tag, livemode = true, onlyLabel, targets, ...given } = command
  const fields = onlyLabel === undefined ? given : { ...given, label: onlyLabel }
  const problem =
    problemOf(fields, targets) ?? levelProblem(fields, context.level) ?? ownLabelProblem(onlyLabel, given.label)
  if (problem !== undefined) return Actor.rejected(problem)
  // The secret's id is random too, so the same one means a repeat of the same command after an unknown outcome.
  if (state !== null)
    return hasSecret(state, fields.secretId) ? after(state, []) : Actor.rejected(new EndpointExists({ endpointId }))
  const full = placeProblem(context.read(WebhookEndpoints), onlyLabel)
  if (full !== undefined) return Actor.rejected(full)
  const { label } = fields
  return after(state, [{ _tag: "Created", ...fields, livemode, at: context.now }], {
    others: [WebhookEndpoints.facts("", [{ _tag: "Added", endpointId, ...(label === undefined ? {} : { label }) }])]
  })
}

const update = (
  endpoint: Endpoint,
  command: Command<"Update">,
  { level, self: { key: endpointId } }: Actor.DecideContext
): Decision => {
  const { headers, headersBefore, label, onlyLabel } = command
  const problem =
    problemOf(command, command.targets) ?? levelProblem(command, level) ?? ownLabelProblem(onlyLabel, label)
  if (problem !== undefined) return Actor.rejected(problem)
  const changes = changesOf(endpoint, command)
  const isOfOthers = headersBefore !== undefined && headersBefore !== (endpoint.headers?.secretId ?? null)
  // If they are of the same secret, the command is a repeat.
  if (headers !== undefined && "headers" in changes && isOfOthers)
    return Actor.rejected(new EndpointHeadersChanged({ endpointId }))
  return after(endpoint, Object.keys(changes).length === 0 ? [] : [{ _tag: "Updated", ...changes }], {
    ...(changes.label === undefined
      ? {}
      : { others: [WebhookEndpoints.facts("", [{ _tag: "Labelled", endpointId, label: changes.label }])] })
  })
}

const rotate = (endpoint: Endpoint, command: Command<"RotateSecret">, now: number): Decision => {
  const { overlapSeconds, secretId } = command
  if (!(Number.isInteger(overlapSeconds) && overlapSeconds >= 0 && overlapSeconds <= maximumOverlapSeconds))
    return Actor.rejected(
      new EndpointInvalid({
        field: "overlapSeconds",
        message: `overlapSeconds must be an integer from 0 to ${maximumOverlapSeconds}`
      })
    )
  if (hasSecret(endpoint, secretId)) return after(endpoint, [])
  const previousUntil = overlapSeconds === 0 ? null : now + overlapSeconds * 1000
  return after(endpoint, [{ _tag: "SecretRotated", secretId, previousUntil }])
}

/** Accepts with a replay of the interval, behind other facts of the same decision. */
const replayed = (
  endpoint: Endpoint,
  before: ReadonlyArray<EndpointFact>,
  replay: { readonly replayId: string; readonly since: number; readonly until: number },
  types: ReadonlyArray<string> | null
): Decision =>
  after(
    endpoint,
    [
      ...before,
      {
        _tag: "ReplayRequested",
        ...replay,
        patterns: endpoint.enabledEvents,
        types,
        livemode: endpoint.livemode
      }
    ],
    { replay }
  )

const requestReplay = (
  endpoint: Endpoint,
  command: Command<"RequestReplay">,
  { now, self }: Actor.DecideContext
): Decision => {
  const { replayId, since, types } = command
  const done = rememberedReplay(endpoint, replayId)
  if (done !== undefined) return after(endpoint, [], { replay: done })
  // Events already decided in this millisecond belong to the interval.
  const until = Math.min(command.until ?? now + 1, now + 1)
  const refuse = (field: string, message: string) => Actor.rejected(new EndpointInvalid({ field, message }))
  if (since < now - eventRetentionMillis) return refuse("since", "since is more than 30 days ago")
  if (since >= until) return refuse("since", "since must be before until, and not in the future")
  const checked = types === null ? undefined : parsePatterns(types)
  if (checked !== undefined && Result.isFailure(checked)) {
    const { message, reason } = checked.failure
    // A message about the list itself would name the usual field of patterns.
    return Actor.rejected(new InvalidPattern({ reason, message: message.replace("enabled_events", "types") }))
  }
  if (!endpoint.isActive) return Actor.rejected(new EndpointDisabled({ endpointId: self.key }))
  if (endpoint.paused !== null) return Actor.rejected(new EndpointPaused({ endpointId: self.key }))
  return replayed(endpoint, [], { replayId, since, until }, types)
}

const unpause = (endpoint: Endpoint, { replayId }: Command<"Unpause">, context: Actor.DecideContext): Decision => {
  const { now, self } = context
  const done = rememberedReplay(endpoint, replayId)
  if (done !== undefined) return after(endpoint, [], { replay: done })
  if (replayId !== undefined && !endpoint.isActive)
    return Actor.rejected(new EndpointDisabled({ endpointId: self.key }))
  if (endpoint.paused === null) return after(endpoint, [])
  if (replayId === undefined) return after(endpoint, [{ _tag: "Unpaused" }])
  const since = Math.max(endpoint.paused.at, now - eventRetentionMillis)
  return replayed(endpoint, [{ _tag: "Unpaused" }], { replayId, since, until: now + 1 }, null)
}

/** Accepts a failure: counts it if it is a delivery's, and pauses the endpoint if that is due. */
const fail = (
  endpoint: Endpoint,
  failure: Extract<EndpointFact, { readonly _tag: "DeliveryFailed" }> | undefined,
  status: number,
  context: Actor.DecideContext
): Decision => {
  // A failure that was still under way at the pause adds nothing; the count stays at the pause's.
  if (endpoint.paused !== null) return after(endpoint, [])
  const consecutiveFailures = endpoint.consecutiveFailures + (failure === undefined ? 0 : 1)
  const facts: Array<EndpointFact> = failure === undefined ? [] : [failure]
  const data = {
    endpoint_id: context.self.key,
    url: endpoint.url,
    consecutive_failures: consecutiveFailures,
    last_delivery_status: status
  }
  const events: Array<Actor.PublicEvent> = []
  if (failure !== undefined && consecutiveFailures === failingAfterFailures)
    events.push(publicEvent("platform.webhook.failing", data, endpoint.livemode))
  const reason: PauseReason | undefined =
    status === 410 ? "gone" : consecutiveFailures >= pausedAfterFailures ? "failures" : undefined
  if (reason !== undefined) {
    facts.push({ _tag: "Paused", reason, at: context.now })
    events.push(publicEvent("platform.webhook.paused", { ...data, reason }, endpoint.livemode))
  }
  return after(endpoint, facts, { events })
}

/** Whether the caller has the other mode, or sees another label alone, and may not know of the endpoint. */
const isHidden = (state: Endpoint | null, command: EndpointCommand): boolean =>
  state !== null &&
  (("livemode" in command && command.livemode !== state.livemode) ||
    ("onlyLabel" in command && command.onlyLabel !== state.label))

const decide = (state: Endpoint | null, command: EndpointCommand, context: Actor.DecideContext): Decision => {
  if (command._tag === "Create") return create(state, command, context)
  if (isHidden(state, command)) return Actor.rejected(new EndpointNotFound({ endpointId: context.self.key }))
  if (state === null) {
    // An outcome may come after the deletion; that is not a mistake.
    return command._tag.startsWith("Record")
      ? after(null, [])
      : Actor.rejected(new EndpointNotFound({ endpointId: context.self.key }))
  }
  switch (command._tag) {
    case "Get":
      return after(state, [])
    case "Update":
      return update(state, command, context)
    case "Delete":
      return after(state, [{ _tag: "Deleted" }], {
        others: [WebhookEndpoints.facts("", [{ _tag: "Removed", endpointId: context.self.key }])]
      })
    case "Unpause":
      return unpause(state, command, context)
    case "RequestReplay":
      return requestReplay(state, command, context)
    case "RotateSecret":
      return rotate(state, command, context.now)
    case "RequestTest": {
      const { requestId } = command
      const done = rememberedTest(state, requestId)
      if (done !== undefined) return after(state, [], { eventId: done })
      if (!state.isActive) return Actor.rejected(new EndpointDisabled({ endpointId: context.self.key }))
      const eventId = `${eventIdPrefix}${context.id(0)}`
      const fact = { _tag: "TestRequested", eventId, ...(requestId === undefined ? {} : { requestId }) } as const
      return after(state, [fact], { eventId })
    }
    case "RecordSuccess":
      return after(state, state.consecutiveFailures === 0 ? [] : [{ _tag: "FailuresReset" }])
    case "RecordFailure": {
      const { deliveryId, origin, status } = command
      if (origin !== "event" || state.failedDeliveries.includes(deliveryId)) return after(state, [])
      return fail(state, { _tag: "DeliveryFailed", deliveryId, status }, status, context)
    }
    case "RecordGone":
      return command.origin === "event" ? fail(state, undefined, 410, context) : after(state, [])
  }
}

const hasMode = (fact: unknown): fact is object => {
  const { _tag } = fact as EndpointFact
  return _tag === "Created" || _tag === "ReplayRequested"
}

/**
 * One endpoint of an organization; the actor's key is its id.
 *
 * @example
 * ```ts
 * import { given } from "sluice/simulation"
 * import { WebhookEndpoint } from "sluice/webhook/dispatcher"
 *
 * // an attempt for an endpoint that is gone counts nowhere
 * given(WebhookEndpoint, [], { key: "we_1" }).when({ _tag: "RecordSuccess" }).then([])
 * ```
 */
export const WebhookEndpoint = Actor.make<
  EndpointCommand,
  EndpointFact,
  Endpoint | null,
  EndpointReply,
  EndpointRejection
>({
  kind: "webhookEndpoint",
  command: EndpointCommand,
  fact: EndpointFact,
  state: Schema.NullOr(Endpoint),
  reply: EndpointReply,
  rejection: EndpointRejection,
  initial: () => null,
  isOver: (state) => state === null,
  evolve,
  decide,
  touches: (command) =>
    command._tag === "Create" || command._tag === "Delete" || (command._tag === "Update" && command.label !== undefined)
      ? [WebhookEndpoints.at()]
      : [],
  wakeAt: (state) => state?.previousSecret?.until,
  wake: (state) => after(state, state?.previousSecret ? [{ _tag: "PreviousSecretEnded" }] : []),
  version: 3,
  upcastFact: {
    // Before there were modes, every endpoint was live.
    1: (fact) => (hasMode(fact) ? { ...fact, livemode: true } : fact),
    // Before there were headers and rates, a fact without them had the same meaning.
    2: (fact) => fact
  },
  upcastState: {
    1: (state) => (state === null ? null : { ...(state as object), livemode: true }),
    2: (state) => (state === null ? null : { ...(state as object), headers: null, rateLimit: null })
  }
})
