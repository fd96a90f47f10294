/**
 * Defines the deliveries of an event as part of the API: under the event log's paths, with its errors, and with the
 * webhooks' own deliveries. Definitions only.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { integerParameter, maximumPageSize } from "../../http/parameters.ts"
import { EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../../http/wireErrors.ts"
import { EventsAccess, RequiredScopes } from "../../platform/access.ts"
import { WebhookDelivery } from "./forms.ts"

const list = HttpApiEndpoint.get("list", "/v1/events/:id/deliveries", {
  params: { id: Schema.String.annotate({ description: "Id of the event, evt_ followed by a UUID" }) },
  query: {
    limit: Schema.optional(integerParameter(1, maximumPageSize)),
    cursor: Schema.optional(Schema.String)
  },
  success: Schema.Struct({
    data: Schema.Array(WebhookDelivery),
    pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
  }),
  error: [EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable]
}).annotateMerge(
  OpenApi.annotations({
    summary: "List an event's deliveries, newest first",
    description:
      "To every endpoint of the key's mode that there is, those of replays included. Deliveries to deleted endpoints go with them."
  })
)

export class EventDeliveriesApi extends HttpApiGroup.make("eventDeliveries")
  .add(list)
  .middleware(EventsAccess)
  .annotateEndpoints(RequiredScopes, ["platform:webhooks:read"] as const)
  .annotateMerge(
    OpenApi.annotations({
      title: "Deliveries of events",
      description: "The deliveries of one event, of all endpoints."
    })
  ) {}
