/** The contract of the checkpoints, on PostgreSQL. */
import { Layer } from "effect"
import * as CheckpointsPostgres from "../../src/postgres/CheckpointsPostgres.ts"
import { createEngineTables } from "../../src/postgres/engineTables.ts"
import { checkpointsContract } from "../engine/contracts/checkpoints.ts"
import { freshDatabase } from "../support/database.ts"

checkpointsContract(
  "PostgreSQL",
  CheckpointsPostgres.layer.pipe(Layer.provide(Layer.effectDiscard(createEngineTables)), Layer.provide(freshDatabase()))
)
