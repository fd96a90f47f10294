/** Databases into which a backup may be restored: those that nobody has used, also after a restore that was cut short. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { requireEmptyDatabase } from "../../../src/app/backup/emptyStores.ts"
import { migrations } from "../../../src/app/migrations.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import { freshDatabase } from "../../support/database.ts"
import { patienceMillis } from "../../support/patience.ts"

layer(freshDatabase(), { excludeTestServices: true, timeout: patienceMillis })("a database", (it) => {
  it.effect("is empty before and after its migrations, and not once it is used", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* requireEmptyDatabase
      yield* migrate(migrations)
      yield* requireEmptyDatabase
      yield* sql`insert into engine_deployment (partitions) values (8)`
      const { message } = yield* Effect.flip(requireEmptyDatabase)
      assert.match(
        message,
        /^The database test_\w+ is not empty: its table engine_deployment has rows\. Nothing was changed/
      )
    })
  )
})
