/** Maps failures of the services to the admin API's answers (docs/platform.md, 1.4). */
import { Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import type { SqlError } from "effect/sql"
import { OutcomeUnknown } from "../engine/errors.ts"
import { databaseFailed } from "../http/databaseFailure.ts"
import { unlessRead } from "../http/RequestState.ts"
import { EnvelopeConflict, EnvelopeInvalidRequest, EnvelopeNotFound, EnvelopeUnavailable } from "../http/wireErrors.ts"
import { isOutOfSpace } from "../postgres/transactions.ts"

export const unavailable = (error: SqlError.SqlError) =>
  databaseFailed(
    error,
    Effect.fail(
      EnvelopeUnavailable.of(
        isOutOfSpace(error)
          ? "The database has no room left, so nothing was changed; make room on its disk and repeat the request"
          : "The database cannot be reached right now; the request is safe to repeat"
      )
    )
  )

export const notFound = (error: Error) => EnvelopeNotFound.of(error.message)

/** The engine's own sentence names no secret, and an operator needs it. */
export const repeatable = (error: Error) => {
  const sentence = `${error.message}. The request is safe to repeat.`
  const told = error instanceof OutcomeUnknown ? unlessRead(sentence) : Effect.succeed(sentence)
  return Effect.flatMap(told, (message) => Effect.fail(EnvelopeUnavailable.of(message)))
}

export const conflict = (error: Error) => EnvelopeConflict.of(error.message)

export const invalidCursor = () =>
  EnvelopeInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave.")

/** Marks the answer to a repeated request (docs/platform.md, 3.2). */
export const withReplayed = <A>(body: A, replayed: boolean) =>
  HttpApiSchema.withHeaders({ body, headers: replayed ? { "idempotency-replayed": "true" } : {} })
