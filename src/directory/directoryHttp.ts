/**
 * Handles requests to the number directory. Reads answer with bytes that the current index caches, so a hot answer is
 * neither built nor encoded again. Needs `Directory`, `DirectoryChanges` and `Health`.
 */
import { createHash } from "node:crypto"
import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { version } from "../common/version.ts"
import { baseApi } from "../http/baseApi.ts"
import { makeTag, type Tag } from "../http/cacheHeaders.ts"
import { databaseFailed } from "../http/databaseFailure.ts"
import { synchronous, type TaggedAnswer } from "../http/fast/marks.ts"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { retryAfter, retryAfterMillis } from "../http/RequestState.ts"
import { builtWith } from "../http/smallContext.ts"
import { InvalidRequest, NotFound, Unavailable } from "../http/wireErrors.ts"
import { DirectoryAccess } from "../platform/access.ts"
import { Health } from "../platform/Health.ts"
import { Directory, type DirectorySnapshot } from "./Directory.ts"
import { DirectoryChanges } from "./DirectoryChanges.ts"
import { DirectoryApi } from "./directoryApi.ts"
import type { EncodedAnswers } from "./EncodedAnswers.ts"
import { healthReport } from "./health.ts"
import type { EntryNotFound } from "./rules.ts"

const tags = new WeakMap<DirectorySnapshot["state"], Tag>()

/**
 * The tag of the records and of the program's version (docs/directory.md, 3.7): the same on every node, and a new one
 * after every ingestion.
 */
const tagOf = ({ state }: DirectorySnapshot): Tag => {
  const known = tags.get(state)
  if (known !== undefined) return known
  const digest = createHash("sha256")
    .update(JSON.stringify([version, state]))
    .digest("base64url")
  const tag = makeTag(digest.slice(0, 16))
  tags.set(state, tag)
  return tag
}

const unavailable = new Unavailable({ error: "unavailable", message: "The number directory is not loaded yet" })

const notRead = new Unavailable({
  error: "unavailable",
  message: "The changes cannot be read right now; the request is safe to repeat"
})

const foreignCursor = new InvalidRequest({
  error: "invalid_request",
  message: "Invalid parameter 'cursor'. Expected one that this list's answer gave."
})

const found = (result: Result.Result<Buffer, EntryNotFound>) =>
  Result.mapError(result, ({ message }) => new NotFound({ error: "not_found", message }))

export const layerDirectory = HttpApiBuilder.group(
  baseApi.add(DirectoryApi),
  "directory",
  Effect.fn(function* (handlers) {
    const directory = yield* Directory
    const changes = yield* DirectoryChanges
    const platform = yield* Health
    yield* platform.register({
      name: "directory",
      part: "service",
      check: Effect.map(directory.ready, (ok) => (ok ? { ok } : { ok, detail: "The index is not loaded yet" }))
    })

    /** Answers from the current index, or `unavailable` when there is none. */
    const read = <E>(
      use: (answers: EncodedAnswers) => Result.Result<Buffer, E>
    ): Result.Result<TaggedAnswer, E | Unavailable> => {
      const snapshot = directory.current()
      if (snapshot === undefined) return Result.fail(unavailable)
      return Result.map(use(snapshot.answers), (bytes) => ({ bytes, tag: tagOf(snapshot) }))
    }

    const health = Effect.map(
      healthReport.pipe(Effect.provideService(Directory, directory), Effect.provideService(Health, platform)),
      ({ record }) => record
    )
    const stats = Effect.catch(directory.statistics, () => Effect.fail(unavailable))

    return handlers.handleAll({
      listCarriers: synchronous(({ query }) => read((answers) => Result.succeed(answers.carriers(query)))),
      getCarrier: synchronous(({ params }) => read((answers) => found(answers.carrier(params.ocn)))),
      getCarrierByQuery: synchronous(({ query }) => read((answers) => found(answers.carrier(query.ocn)))),
      getAreaCode: synchronous(({ params, query }) => read((answers) => found(answers.areaCode(params.npa, query)))),
      getExchange: synchronous(({ params, query }) =>
        read((answers) => found(answers.areaCode(params.npa, { ...query, nxx: params.nxx })))
      ),
      getAreaCodeByQuery: synchronous(({ query }) => read((answers) => found(answers.areaCode(query.npa, query)))),
      listChanges: ({ query }) =>
        changes
          .list({ sinceMillis: query.since, limit: query.limit ?? defaultCursorPageSize, cursor: query.cursor })
          .pipe(
            Effect.catchTags({
              InvalidCursor: () => Effect.fail(foreignCursor),
              SqlError: (error) =>
                databaseFailed(error, Effect.andThen(retryAfter(retryAfterMillis), Effect.fail(notRead)))
            })
          ),
      health: () => health,
      healthUnversioned: () => health,
      stats: () => stats,
      statsUnversioned: () => stats
    })
  })
).pipe(builtWith(Directory, DirectoryChanges, Health, DirectoryAccess))
