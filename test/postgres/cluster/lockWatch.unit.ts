/** A node reports a PostgreSQL that does not answer effect/cluster, which tries again without a word. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { type RunnerAddress, type RunnerStorage, ShardId } from "effect/cluster"
import { LockWatch } from "../../../src/postgres/cluster/PlacementCluster.ts"
import { partitionOfShard } from "../../../src/postgres/cluster/shards.ts"

const shards = [1, 2].map((id) => ShardId.make("default", id))

/** A storage that answers or fails as it is told. */
const storage = () => {
  const state = { fails: false, held: shards }
  const answer = <A>(value: () => A) =>
    Effect.suspend(() => (state.fails ? Effect.fail(new Error("PostgreSQL is away")) : Effect.succeed(value())))
  const found = {
    getRunners: answer(() => []),
    register: () => answer(() => 1),
    acquire: () => answer(() => state.held),
    refresh: () => answer(() => state.held)
  } as unknown as RunnerStorage.RunnerStorage["Service"]
  return { state, found }
}

const address = {} as RunnerAddress.RunnerAddress

describe("the watch on locks", () => {
  it.effect("says once that nothing moves, and once that it does again", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(Array.isArray(message) ? message[0] : message)))
    return Effect.gen(function* () {
      const { found, state } = storage()
      const watched = new LockWatch().watch(found)
      yield* watched.getRunners
      state.fails = true
      for (let attempt = 0; attempt < 3; attempt++) yield* Effect.ignore(watched.getRunners)
      state.fails = false
      for (let attempt = 0; attempt < 3; attempt++) yield* watched.getRunners
      expect(lines).toEqual([
        "This node cannot ask or tell PostgreSQL who is there: no partition moves",
        "This node can ask and tell PostgreSQL who is there again"
      ])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("is certain of what is not ours only while it saw the locks last", () =>
    Effect.gen(function* () {
      const { found, state } = storage()
      const watch = new LockWatch()
      const watched = watch.watch(found)
      const isUncertain = () => shards.map((shard) => watch.isUncertain(partitionOfShard(shard)))
      expect(isUncertain()).toEqual([true, true])
      yield* watched.acquire(address, shards)
      expect(isUncertain()).toEqual([false, false])
      state.held = [shards[1]!]
      yield* watched.refresh(address, shards)
      expect(isUncertain()).toEqual([true, false])
      state.fails = true
      yield* Effect.ignore(watched.refresh(address, shards))
      expect(isUncertain()).toEqual([true, true])
    })
  )
})
