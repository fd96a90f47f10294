/**
 * The event log's endpoints as an HttpApi group (docs/platform.md, 5.4 and 5.5): paths, parameters, answers and errors.
 * Definitions only; `http.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { EventsAccess, RequiredScopes } from "../platform/access.ts"
import { catalogueText } from "./catalogueText.ts"
import { Event } from "./event.ts"

/** A key needs one of these (docs/platform.md, 2.5). */
const readScopes = ["platform:events:read", "platform:webhooks:read"] as const

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

const pattern = "`*`, `telco.*`, `send.email.*` or a type"

export const EventPage = Schema.Struct({
  data: Schema.Array(Event),
  pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
}).annotate({ identifier: "EventPage" })

const list = HttpApiEndpoint.get("list", "/v1/events", {
  query: {
    type: Schema.optional(Schema.String).annotate({ description: `Pattern of types: ${pattern}` }),
    since: time("Events from this time on, milliseconds since the Unix epoch"),
    until: time("Events before this time, milliseconds since the Unix epoch"),
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
  },
  success: EventPage,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List events",
    description:
      "Events of the last 30 days, newest first, each as it is delivered to webhook endpoints. Eventually consistent, normally under a second. A page with `type` may be shorter than its limit and still have more behind it: go by `hasMore`."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/events/:id", {
  params: { id: Schema.String.annotate({ description: "Id of the event, evt_ followed by a UUID" }) },
  success: Event,
  error: [EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(OpenApi.annotations({ summary: "Get an event" }))

const stream = HttpApiEndpoint.get("stream", "/v1/events/stream", {
  query: {
    type: Schema.optional(Schema.Array(Schema.String)).annotate({
      description: `Pattern of types: ${pattern}; may be given several times; all events without it`
    }),
    types: Schema.optional(Schema.String).annotate({
      description: "The same, patterns separated by commas; the name of earlier versions"
    })
  },
  headers: {
    "last-event-id": Schema.optional(Schema.String).annotate({
      description: "Goes on behind this event; without it the stream begins with the next one"
    })
  },
  success: HttpApiSchema.StreamSse({ data: Event }),
  error: [EnvelopeInvalidRequest, EnvelopeRateLimited, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Follow events",
    description:
      "Server-sent events as they come: `id` is the event's id, `event` its type, `data` the event. A comment every 15 s shows that the stream lives. When it ends, connect again with `Last-Event-ID`."
  })
)

/** All endpoints of the event log. */
export class EventsApi extends HttpApiGroup.make("events")
  .add(list, stream, get)
  .middleware(EventsAccess)
  .annotateEndpoints(RequiredScopes, readScopes)
  .annotateMerge(
    OpenApi.annotations({
      title: "Events",
      description: `The event log: what happened in the organization, for 30 days.\n\n${catalogueText()}`
    })
  ) {}
