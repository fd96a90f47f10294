/** Handles requests to the admin API's group for look-ups. Needs `SqlClient`, and uses `Directory` where there is one. */
import { Effect, Option, Semaphore } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Directory, type DirectoryIndex } from "../directory/index.ts"
import { loadIndex } from "../directory/load.ts"
import { EnvelopeUnavailable } from "../http/wireErrors.ts"
import { numberResult } from "../telco/numberResult.ts"
import { AdminApi } from "./adminApi.ts"
import { unavailable } from "./failures.ts"

export const layerLookups = HttpApiBuilder.group(
  AdminApi,
  "lookups",
  Effect.fn(function* (handlers) {
    const directory = yield* Effect.serviceOption(Directory)
    const sql = yield* SqlClient.SqlClient
    const loading = yield* Semaphore.make(1)
    let loaded: DirectoryIndex | undefined
    // A command that runs without a platform reads the index once, for all its requests.
    const ownIndex = loading.withPermit(
      Effect.gen(function* () {
        loaded ??= (yield* Effect.provideService(loadIndex, SqlClient.SqlClient, sql)).index
        return loaded
      })
    )
    const index: Effect.Effect<DirectoryIndex, EnvelopeUnavailable> = Option.isSome(directory)
      ? directory.value.snapshot.pipe(
          Effect.map(({ index }) => index),
          Effect.mapError(({ message }) => EnvelopeUnavailable.of(message))
        )
      : Effect.catchTag(ownIndex, "SqlError", unavailable)
    return handlers.handleAll({
      run: ({ payload }) =>
        Effect.map(index, (index) => ({ data: payload.numbers.map((text) => numberResult(index, text)) }))
    })
  })
)
