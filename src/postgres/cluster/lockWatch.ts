/**
 * Watches the locks of effect/cluster, which stops everything it has placed in two cases that mean different things: a
 * partition goes to another node, or its owner is unknown at the moment (PostgreSQL does not answer, or has ended the
 * session that held the locks). Needs no service.
 */
import { Cause, Effect, Exit } from "effect"
import type { RunnerStorage, ShardId } from "effect/cluster"
import { partitionOfShard } from "./shards.ts"

export class LockWatch {
  /** Partitions whose locks were there when they were looked at last, and have not been given back since. */
  private readonly seen = new Set<number>()

  /** Whether a partition that is to be stopped may still be ours. */
  isUncertain(partition: number): boolean {
    return !this.seen.has(partition)
  }

  private look(asked: Iterable<ShardId.ShardId>, found: Iterable<ShardId.ShardId>): void {
    for (const shard of asked) this.seen.delete(partitionOfShard(shard))
    for (const shard of found) this.seen.add(partitionOfShard(shard))
  }

  /** Reports a failure of the node, once for each time that it begins to fail. */
  private readonly failing = new Set<string>()

  private told<A, E>(what: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.onExit(effect, (exit) => {
      if (Exit.isSuccess(exit))
        return this.failing.delete(what)
          ? Effect.logInfo(`This node can ask and tell PostgreSQL ${what} again`)
          : Effect.void
      if (Cause.hasInterruptsOnly(exit.cause) || this.failing.has(what)) return Effect.void
      this.failing.add(what)
      return Effect.logWarning(`This node cannot ask or tell PostgreSQL ${what}: no partition moves`, exit.cause)
    })
  }

  /** The storage, watched. */
  watch(storage: RunnerStorage.RunnerStorage["Service"]): RunnerStorage.RunnerStorage["Service"] {
    return {
      ...storage,
      // effect/cluster tries again without a word, and until it succeeds nothing moves.
      getRunners: this.told("who is there", storage.getRunners),
      register: (runner, healthy) => this.told("that it is there", storage.register(runner, healthy)),
      acquire: (address, shards) =>
        Effect.tap(storage.acquire(address, shards), (acquired) => Effect.sync(() => this.look([], acquired))),
      refresh: (address, shards) => {
        const asked = [...shards]
        return Effect.onExit(storage.refresh(address, asked), (exit) =>
          // One that is interrupted was given up. One that asks for nothing only sees whether anybody answers.
          Effect.sync(() => this.look(asked, Exit.isSuccess(exit) ? exit.value : []))
        )
      }
    }
  }
}
