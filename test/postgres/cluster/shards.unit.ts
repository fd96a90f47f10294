/** Each partition has a shard of effect/cluster to itself, and every node finds the same. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ClusterError, RunnerAddress, type RunnerStorage, ShardId } from "effect/cluster"
import { LockWatch } from "../../../src/postgres/cluster/PlacementCluster.ts"
import { shardNames } from "../../../src/postgres/cluster/shards.ts"

/** As effect/cluster does it. */
const shardOf =
  (partitions: number) =>
  (name: string): number => {
    let hash = 5381
    for (let at = name.length - 1; at >= 0; at--) hash = (hash * 33) ^ name.charCodeAt(at)
    return Math.abs(hash | 0) % partitions
  }

describe("the names of partitions", () => {
  it.each([1, 2, 8, 100, 4_096])("given %i partitions, then each has a shard of its own", (partitions) => {
    const names = shardNames(partitions, shardOf(partitions))
    expect(names.map(shardOf(partitions))).toEqual(Array.from({ length: partitions }, (_, partition) => partition))
    expect(shardNames(partitions, shardOf(partitions))).toEqual(names)
  })

  it("given a shard outside the group, then it is refused rather than looked for without end", () => {
    expect(() => shardNames(2, () => 2)).toThrow("is placed on shard 2 of 2")
  })
})

describe("the watch over locks", () => {
  const self = RunnerAddress.make("one", 1)
  const [first, second] = [ShardId.make("default", 1), ShardId.make("default", 2)]
  const shards = [first!, second!]

  /** A storage that answers what a test says. */
  const watched = (watch: LockWatch) => {
    let answer: Effect.Effect<Array<ShardId.ShardId>, ClusterError.PersistenceError> = Effect.succeed(shards)
    const asked = Effect.suspend(() => answer)
    // Only these two are asked here.
    const storage = { acquire: () => asked, refresh: () => asked } as unknown as RunnerStorage.RunnerStorage["Service"]
    return {
      storage: watch.watch(storage),
      says: (next: typeof answer) => {
        answer = next
      }
    }
  }

  it.effect("given locks that are ours, then what is stopped goes to another node", () =>
    Effect.gen(function* () {
      const watch = new LockWatch()
      const { storage } = watched(watch)
      yield* storage.refresh(self, shards)
      expect([watch.isUncertain(0), watch.isUncertain(1)]).toEqual([false, false])
    })
  )

  it.effect("given a database that does not answer, then nobody knows, until it answers again", () =>
    Effect.gen(function* () {
      const watch = new LockWatch()
      const { says, storage } = watched(watch)
      says(Effect.fail(new ClusterError.PersistenceError({ cause: "away" })))
      yield* Effect.ignore(storage.refresh(self, shards))
      expect(watch.isUncertain(0)).toBe(true)
      // A look that asks for nothing shows that somebody answers, and no lock.
      says(Effect.succeed([]))
      yield* storage.refresh(self, [])
      expect(watch.isUncertain(0)).toBe(true)
      says(Effect.succeed(shards))
      yield* storage.refresh(self, shards)
      expect(watch.isUncertain(0)).toBe(false)
      // A look that hangs is given up.
      says(Effect.never)
      yield* storage.refresh(self, shards).pipe(
        Effect.forkChild({ startImmediately: true }),
        Effect.flatMap((fiber) => Effect.sync(() => fiber.interruptUnsafe()))
      )
      yield* Effect.yieldNow
      expect(watch.isUncertain(1)).toBe(true)
    })
  )

  it.effect("given a session that was ended, then its locks are unclear one by one, until they are taken again", () =>
    Effect.gen(function* () {
      const watch = new LockWatch()
      const { says, storage } = watched(watch)
      says(Effect.succeed([second!]))
      yield* storage.refresh(self, shards)
      expect([watch.isUncertain(0), watch.isUncertain(1)]).toEqual([true, false])
      says(Effect.succeed([first!]))
      yield* storage.acquire(self, [first!])
      expect(watch.isUncertain(0)).toBe(false)
    })
  )
})
