/**
 * Runs an ingestion in the worker thread of `Ingestions.layer`: takes one order, ingests on a database connection of
 * its own, sends every event and at last `Done`. When the other side closes it, its work is interrupted and rolled
 * back. Started only by `Ingestions.ts`, as a module of its own.
 */
import { workerData } from "node:worker_threads"
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import { Effect, Layer, Logger, Redacted, Stream } from "effect"
import { WorkerRunner } from "effect/workers"
import * as PgClient from "../postgres/PgClient.ts"
import { layer as readersLayer } from "./files/read.ts"
import type { IngestionOrder, IngestionReply, IngestionWorkerData } from "./Ingestions.ts"
import { ingestSources } from "./ingestSources.ts"

const run = Effect.gen(function* () {
  const platform = yield* WorkerRunner.WorkerRunnerPlatform
  const runner = yield* platform.start<IngestionReply, IngestionOrder>()
  yield* runner.run((port, { sources, ...options }) =>
    ingestSources(sources, options).pipe(
      Stream.runForEach((event) => runner.send(port, event)),
      Effect.andThen(runner.send(port, { _tag: "Done" }))
    )
  )
})

const { databaseUrl } = workerData as IngestionWorkerData

/** Nobody waits for an answer here, and a busy server may take longer for a new connection than a request would wait. */
const connectTimeoutMillis = 30_000

const layers = Layer.mergeAll(
  NodeWorkerRunner.layer,
  readersLayer,
  PgClient.layer({
    url: Redacted.make(databaseUrl),
    maxConnections: 1,
    applicationName: "sluice ingest",
    connectTimeoutMillis
  }),
  // No logs: everything worth knowing is an event, and a line on stdout would end up in somebody's JSON.
  Logger.layer([])
)

Effect.runFork(Effect.provide(run, layers))
