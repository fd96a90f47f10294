/**
 * Handlers of the number directory. Reads are answered with the text that the current index keeps, so a hot answer is
 * neither built nor encoded again. Needs `Directory` and `Health`.
 */
import { Clock, Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { SluiceApi } from "../http/api.ts"
import { builtWith } from "../http/lean.ts"
import { NotFound, Unavailable } from "../http/wireErrors.ts"
import { DirectoryAccess } from "../platform/access.ts"
import { Health } from "../platform/Health.ts"
import { version } from "../version.ts"
import { Directory, type DirectorySnapshot } from "./Directory.ts"
import type { NotFound as NothingFound } from "./rules.ts"
import type { Health as HealthRecord } from "./schema.ts"

/** How long ingested data counts as fresh (decisions, "Number directory"): 90 days. */
export const freshDataMillis = 90 * 24 * 60 * 60 * 1000

const respond = (text: string) => HttpServerResponse.text(text, { contentType: "application/json" })

const unavailable = new Unavailable({ error: "unavailable", message: "The number directory is not loaded yet" })

const found = (result: Result.Result<string, NothingFound>) =>
  Result.isSuccess(result)
    ? Effect.succeed(respond(result.success))
    : Effect.fail(new NotFound({ error: "not_found", message: result.failure.message }))

/** The status of the health record (decisions, "Number directory"). */
export const healthStatus = (given: {
  readonly database: boolean
  readonly jetstream: boolean
  /** Milliseconds since the epoch, null before the first ingestion. */
  readonly lastIngestionMillis: number | null
  readonly nowMillis: number
}): HealthRecord["status"] => {
  if (!given.database) return "unhealthy"
  const stale = given.lastIngestionMillis === null || given.nowMillis - given.lastIngestionMillis > freshDataMillis
  return stale || !given.jetstream ? "degraded" : "healthy"
}

export const layerDirectory = HttpApiBuilder.group(
  SluiceApi,
  "directory",
  Effect.fn(function* (handlers) {
    const directory = yield* Directory
    const platform = yield* Health
    yield* platform.register({
      name: "directory",
      required: true,
      check: Effect.map(directory.ready, (ok) => (ok ? { ok } : { ok, detail: "The index is not loaded yet" }))
    })

    /** Answers from the current index; without one there is nothing to answer from. */
    const read = <A, E>(use: (snapshot: DirectorySnapshot) => Effect.Effect<A, E>) =>
      Effect.matchEffect(directory.snapshot, { onFailure: () => Effect.fail(unavailable), onSuccess: use })

    const health = Effect.gen(function* () {
      const { checks } = yield* platform.readiness
      const database = yield* platform.database
      const last = yield* Effect.orElseSucceed(directory.lastIngestion, () => null)
      return {
        status: healthStatus({
          database,
          jetstream: checks.nats?.ok !== false,
          lastIngestionMillis: last === null ? null : Date.parse(last),
          nowMillis: yield* Clock.currentTimeMillis
        }),
        database: database ? ("connected" as const) : ("error" as const),
        last_ingestion: last,
        version
      }
    })
    const stats = Effect.catch(directory.statistics, () => Effect.fail(unavailable))

    return handlers.handleAll({
      listCarriers: ({ query }) => read(({ answers }) => Effect.succeed(respond(answers.carriers(query)))),
      getCarrier: ({ params }) => read(({ answers }) => found(answers.carrier(params.ocn))),
      getCarrierByQuery: ({ query }) => read(({ answers }) => found(answers.carrier(query.ocn))),
      getAreaCode: ({ params, query }) => read(({ answers }) => found(answers.areaCode(params.npa, query))),
      getExchange: ({ params, query }) =>
        read(({ answers }) => found(answers.areaCode(params.npa, { ...query, nxx: params.nxx }))),
      getAreaCodeByQuery: ({ query }) => read(({ answers }) => found(answers.areaCode(query.npa, query))),
      health: () => health,
      healthUnversioned: () => health,
      stats: () => stats,
      statsUnversioned: () => stats
    })
  })
).pipe(builtWith(Directory, Health, DirectoryAccess))
