/**
 * Gives handlers the request's body as raw bytes, and bounds its length per endpoint. Both paths through the server
 * keep to it.
 */
import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RequestState } from "./RequestState.ts"

/**
 * Most bytes of an endpoint's body, if that is less than the server's bound. Only endpoints with an access keep to it.
 */
export const MaximumBodyBytes = Context.Reference<number | undefined>("sluice/http/MaximumBodyBytes", {
  defaultValue: () => undefined
})

/** The bound of an endpoint's own, if it has one. */
export const maximumBodyBytesOf = ({ annotations }: HttpApiEndpoint.Top): number | undefined =>
  Context.get(annotations, MaximumBodyBytes)

/** The bytes of the body, for handlers: they were read before, for decoding. */
export const rawBody: Effect.Effect<Uint8Array> = Effect.withFiber((fiber) => {
  const { body } = Context.getUnsafe(fiber.context, RequestState)
  if (body !== undefined) return Effect.succeed(body)
  // Only the general path has it, and may not have decoded the body.
  const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
  return Effect.orDie(Effect.map(request.arrayBuffer, (buffer) => new Uint8Array(buffer)))
})
