/** Handles an event's deliveries. Needs `Endpoints` and `Deliveries`; the access middleware gives the principal. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { baseApi } from "../../http/baseApi.ts"
import { defaultCursorPageSize } from "../../http/PageCursors.ts"
import {
  EnvelopeInvalidRequest,
  EnvelopeNotFound,
  EnvelopeUnavailable,
  type InvalidRequest,
  type NotFound,
  type Unavailable
} from "../../http/wireErrors.ts"
import { CurrentPrincipal } from "../../platform/access.ts"
import { ownerOf } from "../../platform/model.ts"
import { Deliveries } from "../delivery/Deliveries.ts"
import { Endpoints } from "../endpoint/Endpoints.ts"
import { refused } from "./errors.ts"
import { EventDeliveriesApi } from "./eventDeliveriesApi.ts"

/** The same fault in the event log's shape. */
const enveloped = (fault: InvalidRequest | NotFound | Unavailable) => {
  switch (fault._tag) {
    case "InvalidRequest":
      return EnvelopeInvalidRequest.of(fault.message)
    case "NotFound":
      return EnvelopeNotFound.of(fault.message)
    case "Unavailable":
      return EnvelopeUnavailable.of(fault.message)
  }
}

export const layerEventDeliveries = HttpApiBuilder.group(
  baseApi.add(EventDeliveriesApi),
  "eventDeliveries",
  Effect.fn(function* (handlers) {
    const endpoints = yield* Endpoints
    const deliveries = yield* Deliveries
    return handlers.handleAll({
      list: ({ params, query }) =>
        Effect.gen(function* () {
          const owner = ownerOf(yield* CurrentPrincipal)
          const views = yield* endpoints.list(owner)
          const page = yield* deliveries.ofEvent(
            owner,
            params.id,
            views.map(({ id }) => id),
            { limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor }
          )
          return { ...page, data: page.data.map(({ attempts: _attempts, ...delivery }) => delivery) }
        }).pipe(refused("NotFound"), Effect.mapError(enveloped))
    })
  })
)
