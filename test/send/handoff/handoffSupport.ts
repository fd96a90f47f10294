/** Stores of a test's own on the run's PostgreSQL and nats-server, for processes that hand mail over. */
import { randomUUID } from "node:crypto"
import { Effect, Logger, Redacted, type Scope } from "effect"
import { inject } from "vitest"
import { migrations } from "../../../src/app/migrations.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import * as PgClient from "../../../src/postgres/PgClient.ts"
import { makeDatabase } from "../../support/database.ts"
import type { Deployment } from "./handoffProcess.ts"

/** Stores of the test's own. */
export const deploy: Effect.Effect<Deployment, never, Scope.Scope> = Effect.gen(function* () {
  const { url } = yield* makeDatabase
  yield* migrate(migrations).pipe(Effect.provide(PgClient.layer({ url })), Effect.provide(Logger.layer([])))
  const natsUrl = Redacted.make(inject("natsUrl"))
  return { databaseUrl: url, natsUrl, namespace: `test-${randomUUID().slice(0, 12)}`, taken: [] }
}).pipe(Effect.orDie)
