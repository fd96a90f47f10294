import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { Runner, RunnerAddress, RunnerStorage, ShardId, ShardingConfig, SqlRunnerStorage } from "effect/cluster"
import { SqlClient } from "effect/sql"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { freshDatabase, TestDatabase } from "../support/database.ts"
import { terminate } from "./support.ts"

const shards = [1, 2, 3].map((id) => ShardId.make("default", id))

/** One machine of a cluster, with its own pool and its own lock session. */
const machine = (port: number) =>
  Effect.gen(function* () {
    const { config } = yield* TestDatabase
    const address = RunnerAddress.make("127.0.0.1", port)
    const services = yield* Layer.build(
      SqlRunnerStorage.layer.pipe(
        Layer.provide(ShardingConfig.layer({ runnerAddress: Option.some(address) })),
        Layer.provide(PgClient.layer({ ...config, maxConnections: 3, applicationName: `machine ${port}` }))
      )
    )
    return { address, storage: Context.get(services, RunnerStorage.RunnerStorage) }
  })

/** effect/cluster is the most demanding user of the client: reserved sessions, advisory locks, numbers compared by it. */
layer(freshDatabase(), { excludeTestServices: true })("effect/cluster's runner storage on this client", (it) => {
  it.effect("gives each shard to one machine, and to another when its session dies", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* machine(1001), yield* machine(1002)]
      const register = (address: RunnerAddress.RunnerAddress) =>
        Runner.make({ address, groups: ["default"], weight: 1 })
      const ids = [
        yield* one.storage.register(register(one.address), true),
        yield* two.storage.register(register(two.address), true)
      ]
      expect(ids.map((id) => typeof id)).toEqual(["number", "number"])
      expect((yield* two.storage.getRunners).length).toBe(2)

      expect(yield* one.storage.acquire(one.address, shards)).toEqual(shards)
      expect(yield* two.storage.acquire(two.address, shards)).toEqual([])
      expect(yield* one.storage.refresh(one.address, shards)).toEqual(shards)
      yield* one.storage.release(one.address, shards[0]!)
      expect(yield* two.storage.acquire(two.address, shards)).toEqual([shards[0]])

      const sql = yield* SqlClient.SqlClient
      const [holder] = yield* sql<{ readonly pid: number }>`SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity
        USING (pid) WHERE locktype = 'advisory' AND application_name = 'machine 1001'`
      expect(yield* terminate(holder!.pid)).toBe(true)
      expect(yield* two.storage.acquire(two.address, shards)).toEqual(shards)
    })
  )
})
