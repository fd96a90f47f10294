/**
 * Describes the event log's endpoints as an HttpApi group (docs/platform.md, 5.4 and 5.5): paths, parameters, answers
 * and errors. Definitions only; `http.ts` implements them and the typed client shares them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { includeTotal, PaginationWithTotal } from "../http/listTotal.ts"
import { integerParameter, maximumPageSize } from "../http/parameters.ts"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeRateLimited,
  EnvelopeUnavailable
} from "../http/wireErrors.ts"
import { EventsAccess, OpenToPortals, RequiredScopes } from "../platform/access.ts"
import { catalogue } from "./catalogue.ts"
import { Event, objectExpression } from "./event.ts"

// Writes the event catalogue as text for the documentation, from the catalogue itself so that the two agree. Pure.

interface Description {
  readonly type?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Description>
  readonly items?: Description
  readonly properties?: Readonly<Record<string, Description>>
  readonly allOf?: ReadonlyArray<Description>
}

const typeOf = (field: Description): string => {
  if (field.enum !== undefined) return field.enum.map((value) => `\`${value}\``).join(" or ")
  if (field.anyOf !== undefined) return field.anyOf.map(typeOf).join(" or ")
  if (field.type === "array") return `${typeOf(field.items ?? {})}[]`
  return field.type ?? "any"
}

/** The description of the field itself, or of the schema that checks it. */
const descriptionOf = (field: Description): string =>
  field.description ?? field.allOf?.map(({ description }) => description ?? "").find((text) => text !== "") ?? ""

const fieldsOf = (of: Description, prefix: string): ReadonlyArray<string> =>
  Object.entries(of.properties ?? {}).flatMap(([name, field]) => [
    `| \`${prefix}${name}\` | ${typeOf(field)} | ${descriptionOf(field)} |`,
    ...fieldsOf(field, `${prefix}${name}.`)
  ])

/** Markdown: a table of the fields and an example for each type. */
export const catalogueText = (): string => {
  const sections = Object.entries(catalogue).map(([type, { data, description, example, service }]) => {
    // One payload schema each, described by the library as JSON Schema.
    const { schema } = Schema.toJsonSchemaDocument(data as Schema.ConstraintCodec<unknown, unknown>)
    return [
      `### \`${type}\``,
      `${description}. Service \`${service}\`.`,
      ["| Field of `data` | Type | |", "|---|---|---|", ...fieldsOf(schema as Description, "")].join("\n"),
      `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
    ].join("\n\n")
  })
  return ["## Event catalogue", ...sections].join("\n\n")
}

/** A key needs one of these (docs/platform.md, 2.5). */
const readScopes = ["platform:events:read", "platform:webhooks:read"] as const

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

const pattern = "`*`, `telco.*`, `send.email.*` or a type"

export const EventPage = Schema.Struct({
  data: Schema.Array(Event),
  pagination: PaginationWithTotal
}).annotate({ identifier: "EventPage" })

const expectedText = "Expected a text of 3 to 100 characters"

const list = HttpApiEndpoint.get("list", "/v1/events", {
  query: {
    type: Schema.optional(Schema.String).annotate({ description: `Pattern of types: ${pattern}` }),
    since: time("Events from this time on, milliseconds since the Unix epoch"),
    until: time("Events before this time, milliseconds since the Unix epoch"),
    object: Schema.optional(
      Schema.String.check(Schema.isPattern(objectExpression, { message: "Expected an id, a number or a sender" }))
    ).annotate({
      description: "Events about this email, endpoint, subscription, invoice, sender or number alone"
    }),
    text: Schema.optional(
      Schema.String.check(
        Schema.isMinLength(3, { message: expectedText }),
        Schema.isMaxLength(100, { message: expectedText })
      )
    ).annotate({
      description:
        "Events whose JSON contains this text only, whatever the case of ASCII letters. A page looks through 10,000 events, so it may be short while `hasMore` is true"
    }),
    include: includeTotal,
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String).annotate({ description: "`nextCursor` of the page before" })
  },
  success: EventPage,
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List events",
    description:
      "Events of the last 30 days, newest first, each as it is delivered to webhook endpoints. Eventually consistent, normally under a second."
  })
)

const get = HttpApiEndpoint.get("get", "/v1/events/:id", {
  params: { id: Schema.String.annotate({ description: "Id of the event, evt_ followed by a UUID" }) },
  success: Event,
  error: [EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Get an event",
    description: "One event by its id, as it was delivered to webhook endpoints. Events are kept for 30 days."
  })
)

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

const types = HttpApiEndpoint.get("types", "/v1/events/types", {
  query: {
    pattern: Schema.optional(Schema.Array(Schema.String)).annotate({
      description: `Pattern of types: ${pattern}; may be given several times; every type matches without it`
    })
  },
  success: Schema.Struct({
    data: Schema.Array(
      Schema.Struct({
        type: Schema.String,
        service: Schema.String,
        description: Schema.String,
        example: Schema.Unknown.annotate({ description: "An example of the event's `data`" }),
        matches: Schema.Boolean
      }).annotate({ identifier: "EventTypeDescription" })
    )
  }).annotate({ identifier: "EventTypes" }),
  error: [EnvelopeInvalidRequest, EnvelopeUnavailable]
})
  .annotate(OpenToPortals, true)
  .annotateMerge(
    OpenApi.annotations({
      summary: "List the types of events",
      description: "The whole catalogue, and which types the patterns match: what an endpoint with them would get."
    })
  )

const rates = HttpApiEndpoint.get("rates", "/v1/events/rates", {
  success: Schema.Struct({
    data: Schema.Array(
      Schema.Struct({
        minute: Schema.Int.annotate({ description: "When the minute begins, milliseconds since the Unix epoch" }),
        type: Schema.String,
        count: Schema.Int
      }).annotate({ identifier: "EventRate" })
    )
  }).annotate({ identifier: "EventRates" }),
  error: [EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Count events by the minute",
    description:
      "Of the last hour, by type, in order; minutes without an event are left out. Of more than 100,000 events the newest are counted."
  })
)

const origin = HttpApiEndpoint.get("origin", "/v1/events/:id/origin", {
  params: { id: Schema.String.annotate({ description: "Id of the event, evt_ followed by a UUID" }) },
  success: Schema.Struct({
    partition: Schema.Int,
    sequence: Schema.Int.annotate({ description: "The frame's place in the log of the partition" }),
    index: Schema.Int.annotate({ description: "The event's place in the frame" }),
    frame: Schema.NullOr(
      Schema.Struct({
        epoch: Schema.Int,
        number: Schema.Int,
        decidedAt: Schema.Int.annotate({ description: "Milliseconds since the Unix epoch" }),
        records: Schema.Array(
          Schema.Struct({
            index: Schema.Int,
            kind: Schema.String.annotate({ description: "Kind of the actor that decided it" }),
            key: Schema.String,
            isEvent: Schema.Boolean,
            record: Schema.Unknown
          })
        )
      })
    ).annotate({ description: "Null where the log does not hold the frame any more" })
  }).annotate({ identifier: "EventOrigin" }),
  error: [EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "Tell which decision an event comes from",
    description:
      "The frame of the log, and the facts of your organization in it, at most 200 around the event. A test key sees those of the actor that caused the event."
  })
)

/** All endpoints of the event log. */
export class EventsApi extends HttpApiGroup.make("events")
  .add(list, stream, types, rates, get, origin)
  .middleware(EventsAccess)
  .annotateEndpoints(RequiredScopes, readScopes)
  .annotateMerge(
    OpenApi.annotations({
      title: "Events",
      description: `The event log: what happened in the organization, for 30 days.\n\n${catalogueText()}`
    })
  ) {}
