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
  readonly properties?: Readonly<Record<string, unknown>>
}

/** Schemas are inlined, since payloads name no other schema. */
const schemaOf = (schema: unknown): JsonObject =>
  Schema.toJsonSchemaDocument(schema as Schema.ConstraintCodec<unknown, unknown>).schema as JsonObject

const header = (name: string, description: string, required: boolean) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" }
})

const headers = [
  header(signatureHeader, '`t=<timestamp>,v1=<hex>`, see "Verify a delivery"', true),
  header(eventIdHeader, "Id of the event", true),
  header(timestampHeader, "Unix seconds of this attempt", true),
  header(standardIdHeader, "Standard Webhooks: id of the event", false),
  header(standardTimestampHeader, "Standard Webhooks: Unix seconds of this attempt", false),
  header(standardSignatureHeader, "Standard Webhooks: `v1,<base64>`, several with a space between them", false)
]

/** By type, a path item each. */
export const webhooksDocument = (): Readonly<Record<string, unknown>> => {
  const event = schemaOf(Event)
  return Object.fromEntries(
    Object.entries(catalogue).map(([type, { data, description, example, service }]) => {
      const properties = {
        ...event.properties,
        type: { type: "string", const: type },
        service: { type: "string", const: service },
        data: schemaOf(data)
      }
      const whole = { eventId: "evt_00040000-0001-8000-8000-0000d0000000", type, service, data: example }
      const post = {
        operationId: `deliver ${type}`,
        tags: ["Deliveries"],
        summary: description,
        parameters: headers,
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: { ...event, properties },
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
}
