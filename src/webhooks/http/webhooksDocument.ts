/**
 * Writes the `webhooks` of the OpenAPI document, which describe the deliveries to receivers: one entry per type of the
 * catalogue, with its headers and payload. Pure.
 */
import { Schema } from "effect"
import { catalogue, Event } from "../../events/index.ts"
import {
  eventIdHeader,
  signatureHeader,
  standardIdHeader,
  standardSignatureHeader,
  standardTimestampHeader,
  timestampHeader
} from "../secret/signature.ts"

interface JsonObject {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, unknown>>
}

/** A schema itself, and not the reference to it that one with a name is. */
const schemaOf = (schema: unknown): JsonObject => {
  const found = Schema.toJsonSchemaDocument(schema as Schema.ConstraintCodec<unknown, unknown>)
  const whole = found.schema as JsonObject
  return whole.$ref === undefined ? whole : (found.definitions[whole.$ref.split("/").at(-1)!] as JsonObject)
}

const header = (name: string, description: string, required: boolean) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" }
})

const parameters = {
  WebhookSignature: header(signatureHeader, '`t=<timestamp>,v1=<hex>`, see "Verify a delivery"', true),
  WebhookEventId: header(eventIdHeader, "Id of the event", true),
  WebhookTimestamp: header(timestampHeader, "Unix seconds of this attempt", true),
  StandardWebhookId: header(standardIdHeader, "Standard Webhooks: id of the event", false),
  StandardWebhookTimestamp: header(standardTimestampHeader, "Standard Webhooks: Unix seconds of this attempt", false),
  StandardWebhookSignature: header(
    standardSignatureHeader,
    "Standard Webhooks: `v1,<base64>`, several with a space between them",
    false
  )
}

/** `telco.lookup.completed` as the name of a type: `TelcoLookupCompleted`. */
const typeName = (type: string): string =>
  type
    .split(/[._]/)
    .map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`)
    .join("")

/** The description of deliveries. */
interface WebhooksDocument {
  /** A path item for each type of the catalogue. */
  readonly webhooks: Readonly<Record<string, unknown>>
  /** The schema of each type's event, such as `TelcoLookupCompletedEvent`. */
  readonly schemas: Readonly<Record<string, unknown>>
  /** The headers of every delivery. */
  readonly parameters: Readonly<Record<string, unknown>>
}

/** Describes the deliveries. */
export const webhooksDocument = (): WebhooksDocument => {
  const event = schemaOf(Event)
  const headers = Object.keys(parameters).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  const schemas: Record<string, unknown> = {}
  const webhooks = Object.fromEntries(
    Object.entries(catalogue).map(([type, { data, description, example, service }]) => {
      const properties = {
        ...event.properties,
        type: { type: "string", const: type },
        service: { type: "string", const: service },
        data: schemaOf(data)
      }
      const whole = { eventId: "evt_00040000-0001-8000-8000-0000d0000000", type, service, data: example }
      const name = typeName(type)
      schemas[`${name}Event`] = { ...event, properties, description }
      const post = {
        operationId: `deliveries.${name[0]!.toLowerCase()}${name.slice(1)}`,
        tags: ["Deliveries"],
        summary: description,
        parameters: headers,
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: { $ref: `#/components/schemas/${name}Event` },
              example: { ...whole, livemode: type !== "platform.test", createdAt: 1_767_225_600_000 }
            }
          }
        },
        responses: {
          "2XX": { description: "Taken, whatever the body" },
          "410": { description: "Nobody is there any more: the endpoint is paused" },
          default: { description: "Failed; attempted again" }
        }
      }
      return [type, { post }]
    })
  )
  return { webhooks, schemas, parameters }
}
