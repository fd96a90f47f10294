/**
 * Watches what effect/cluster learns of its locks, because it stops whatever it has placed in two cases that mean different things: a partition
 * goes to another node, or nobody knows at the moment whose it is (PostgreSQL does not answer, or has ended the session that held the locks).
 * Needs no service.
 */
import { Effect, Exit } from "effect"
import type { RunnerStorage, ShardId } from "effect/cluster"

export class LockWatch {
  /** Whether the last look at the locks failed. */
  private isAway = false
  /** Shards whose locks were gone when they were looked at. */
  private readonly lost = new Set<number>()

  /** Whether a shard that is to be stopped may still be ours. */
  isUncertain(shard: number): boolean {
    return this.isAway || this.lost.has(shard)
  }

  /** The storage, watched. */
  watch(storage: RunnerStorage.RunnerStorage["Service"]): RunnerStorage.RunnerStorage["Service"] {
    const found = (shards: Iterable<ShardId.ShardId>) => {
      for (const { id } of shards) this.lost.delete(id)
    }
    return {
      ...storage,
      acquire: (address, shards) =>
        Effect.tap(storage.acquire(address, shards), (acquired) => Effect.sync(() => found(acquired))),
      refresh: (address, shards) => {
        const asked = [...shards]
        return Effect.onExit(storage.refresh(address, asked), (exit) =>
          Effect.sync(() => {
            // Also when it is interrupted: that is how it is given up.
            this.isAway = Exit.isFailure(exit)
            if (Exit.isFailure(exit)) return
            for (const { id } of asked) this.lost.add(id)
            found(exit.value)
          })
        )
      }
    }
  }
}
