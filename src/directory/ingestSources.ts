import { Effect, type FileSystem, Queue, Stream } from "effect"
import type { HttpClient } from "effect/http"
import type { SqlClient } from "effect/sql"
import { type Admission, NothingToRetire } from "./fileAdmission.ts"
import { openSource, sourceName } from "./files/read.ts"
import { ingestFile } from "./ingest.ts"
import {
  type IngestionError,
  type IngestionEvent,
  IngestionFailure,
  IngestionProgress,
  IngestionSkipped
} from "./ingestionSchema.ts"

/**
 * Ingests several sources one after the other, every file in them on its own, and reports what happens as events. A
 * source that fails does not keep the next one from being tried. Needs `SqlClient`, `FileSystem` and `HttpClient`.
 */

/** Events that wait for a slow reader. Progress beyond them is dropped; the outcome of a file waits. */
export const waitingEventsLimit = 64

/** An error as the event that ends its file. */
export const failureOf = (error: IngestionError): IngestionFailure =>
  IngestionFailure.make({
    source: error.source,
    code: "reason" in error ? error.reason : error._tag,
    message: error.message
  })

/** Works while the stream is read. Interrupting the reader stops the current file and leaves nothing of it behind. */
export const ingestSources = (
  sources: ReadonlyArray<string>,
  options: Admission & { readonly dryRun: boolean }
): Stream.Stream<IngestionEvent, never, SqlClient.SqlClient | FileSystem.FileSystem | HttpClient.HttpClient> =>
  Stream.callback(
    Effect.fnUntraced(function* (events) {
      const onProgress = (progress: IngestionProgress) =>
        Effect.sync(() => {
          Queue.offerUnsafe(events, progress)
        })
      let refused = 0
      const onFailure = (error: IngestionError) => {
        refused++
        return Queue.offer(events, failureOf(error))
      }
      const onSuccess = (event: IngestionEvent) => Queue.offer(events, event)
      const retired = new Set<string>()
      for (const source of sources) {
        const name = sourceName(source)
        yield* onProgress(IngestionProgress.make({ source: name, phase: "opening", rows: 0, fraction: null }))
        yield* Effect.gen(function* () {
          const { files, skipped } = yield* openSource(source)
          for (const { name, reason } of skipped) yield* onSuccess(IngestionSkipped.make({ source: name, reason }))
          for (const file of files) {
            yield* ingestFile(file, { ...options, onProgress }).pipe(
              Effect.tap((summary) =>
                Effect.sync(() => {
                  for (const npa of summary.retired) retired.add(npa)
                })
              ),
              Effect.matchEffect({ onSuccess, onFailure })
            )
          }
        }).pipe(Effect.scoped, Effect.catch(onFailure))
      }
      // If a file was refused, the refusal says why.
      const missed = refused > 0 ? [] : options.retire.filter((wanted) => !retired.has(wanted))
      for (const npa of missed) {
        const message = `Area code ${npa} was not retired: nothing of it is stored in the data that was taken`
        yield* onFailure(new NothingToRetire({ source: npa, message }))
      }
      yield* Queue.end(events)
    }),
    { bufferSize: waitingEventsLimit }
  )
