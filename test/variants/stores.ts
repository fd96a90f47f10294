/** Variants of the adapters: the log, signals, checkpoints, cursors and the work queue. */
import type { Variant } from "./runner/variant.ts"

export const stores: ReadonlyArray<Variant> = [
  {
    name: "indexes: one that was cut short counts as built",
    find: "if (plain === undefined || plain.isValid) return []",
    replace: "if (plain === undefined || plain.isThere) return []",
    sentence: "after a build that was cut short lists are slow for ever, and every write pays for the rest of it",
    finders: ["indexBuilds.it"]
  },
  {
    name: "indexes: a day's index is not the table's",
    find: "if (parent !== undefined) yield* session.query(",
    replace: "if (parent === null) yield* session.query(",
    sentence: "an index is built for each day and never used, and built again at each start",
    finders: ["indexBuilds.it"]
  },
  {
    name: "indexes: every node builds",
    find: 'if (lock?.taken !== true) return "elsewhere" as const',
    replace: "void lock",
    sentence: "two nodes drop each other's unfinished index",
    finders: ["indexBuilds.it"]
  },
  {
    name: "postgres: require looks whose certificate it is",
    find: "rejectUnauthorized: verifies,",
    replace: "rejectUnauthorized: true,",
    sentence: "a server that psql connects to is not reachable",
    finders: ["databaseAddress.unit"]
  },
  {
    name: "postgres: a pool in transaction mode is taken",
    find: "if (first === second) return true",
    replace: "",
    sentence: "a platform starts behind a pool that gives its locks away",
    finders: ["pooled.it"]
  },
  {
    name: "journal: any failure to store counts as full",
    find: "const limitReached = errorCode === errorCodes.storeFailed && /^maximum (bytes|messages)/.test(description)",
    replace: "const limitReached = errorCode === errorCodes.storeFailed",
    sentence:
      "a frame that may have been stored counts as surely not stored, because a disk that fails looks like a full log",
    finders: ["publishAnswer.unit", "journal.it"]
  },
  {
    name: "journal: a reader skips what is missing",
    find: "if (sequence !== next || next > through) break",
    replace: "if (next > through) break",
    sentence: "a partition recovers past a frame that is not there, and loses its facts",
    finders: ["journal.it"]
  },
  {
    name: "signals: the last one is taken again",
    find: "from: after + 1",
    replace: "from: after",
    sentence: "the last signal before a restart counts twice",
    finders: ["signals.it"]
  },
  {
    name: "remote: a lost connection counts as not sent",
    find: 'cause.reason === "timeout" || cause.reason === "disconnected"',
    replace: 'cause.reason === "timeout"',
    sentence: "a caller is told that nothing was stored although the owner may have decided",
    finders: ["remote.it"]
  },
  {
    name: "checkpoints: pruning mixes actors of one key",
    find: "and older.kind = newer.kind and older.key = newer.key",
    replace: "and older.key = newer.key",
    sentence: "an actor's state is lost when another kind's actor of the same key has changed",
    finders: ["checkpoints.it"]
  },
  {
    name: "checkpoints: a zombie saves on top of another's",
    find: "and newest_checkpoint =",
    replace: "and newest_checkpoint >= 0 *",
    sentence: "an owner that was replaced overwrites its successor's checkpoint",
    finders: ["checkpoints.it"]
  },
  {
    name: "cursors: unparking takes a whole frame",
    find: "and p.sequence = batch.sequence and p.record_index = batch.record_index",
    replace: "and p.sequence = batch.sequence",
    sentence: "an operator who dismisses one record dismisses others of its frame",
    finders: ["cursors.it"]
  },
  {
    name: "cursors: records are worked on by two operators",
    find: "if (taken.length !== records.length) {",
    replace: "if (taken.length > records.length) {",
    sentence: "the effects of a parked record happen twice when it is retried twice at once",
    finders: ["cursors.it"]
  },
  {
    name: "work queue: a lost job is kept",
    find: "where t.id = batch.id and t.attempts = batch.attempt and t.due_at is not null returning t.id",
    replace: "where t.id = batch.id and t.due_at is not null\n              returning t.id",
    sentence: "two processes believe that a job is theirs",
    finders: ["workQueue.it"]
  },
  {
    name: "postgres: a connection that was given up at COMMIT is lent again",
    find: "this.open = this.lost",
    replace: "this.open = false",
    sentence: "the next caller's statements wait behind a transaction of which nobody knows whether it was stored",
    finders: ["transactions.it", "pool.it", "deadlines.it"]
  },
  {
    name: "locks: what nobody wants any more is kept",
    find: "if (!this.named.has(lock)) this.unwanted.add(lock)",
    replace: "",
    sentence: "partitions of a node that gave up on them have no owner",
    finders: ["cluster/LockKeeper.unit"]
  },
  {
    name: "locks: what is given back counts as held",
    find: "this.held.has(lock) && !this.unwanted.has(lock)",
    replace: "this.held.has(lock)",
    sentence: "two nodes serve a partition for a moment",
    finders: ["cluster/LockKeeper.unit"]
  },
  {
    name: "postgres: a server that takes no writes any more is kept",
    find: "if (yield* isFitting(chosen.server.config)) return",
    replace: "if ((yield* isFitting(chosen.server.config)) || true) return",
    sentence: "after a failover of PostgreSQL the platform must be restarted",
    finders: ["postgres/serverChoice.it"]
  },
  {
    name: "postgres: sessions of a server that is left go on",
    find: "for (const session of left.server.sessions) session.destroy(reason)",
    replace: "",
    sentence: "a node keeps locks at a server that has become a replica",
    finders: ["postgres/serverChoice.it"]
  },
  {
    name: "reactor: a new parked record is forgotten with the old ones",
    find: "for (const organization of exit.value.parked) this.suspect(organization)\n      if (exit.value.hasParked)",
    replace: "if (exit.value.hasParked)",
    sentence: "records overtake a parked one of their organization",
    finders: ["engine/parked.unit", "simulation"]
  }
]
