/** The contract of workers' jobs on PostgreSQL. */
import { Data, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ReactorTransaction } from "../../src/engine/ports/Cursors.ts"
import * as WorkerJobsPostgres from "../../src/postgres/WorkerJobsPostgres.ts"
import { WorkerJobsHarness, workerJobsContract } from "../engine/contracts/workerJobs.ts"
import { engineTables, freshDatabase } from "../support/database.ts"

class RolledBack extends Data.TaggedError("RolledBack") {}

workerJobsContract(
  "PostgreSQL",
  Layer.effect(
    WorkerJobsHarness,
    Effect.gen(function* () {
      yield* engineTables
      const sql = yield* SqlClient.SqlClient
      const jobs = yield* WorkerJobsPostgres.make
      return WorkerJobsHarness.of({
        jobs,
        put: (worker, rows, end = "commit") =>
          jobs.put(worker, rows).pipe(
            Effect.provideService(ReactorTransaction, { onCommit: () => undefined }),
            Effect.andThen(end === "commit" ? Effect.void : Effect.fail(new RolledBack())),
            sql.withTransaction,
            Effect.catchTag("RolledBack", () => Effect.void)
          )
      })
    })
  ).pipe(Layer.provide(freshDatabase()))
)
