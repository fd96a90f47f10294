/** Variants of what PostgreSQL keeps for the engine and the dispatcher: checkpoints, cursors, the work queue. */
import type { Finder, Variant } from "./runner/variant.ts"

const servers = (...files: ReadonlyArray<string>): Finder => ({
  kind: "servers",
  files: files.map((file) => `test/${file}.it.ts`)
})

const checkpoints: Pick<Variant, "file" | "finders"> = {
  file: "src/postgres/CheckpointsPostgres.ts",
  finders: [servers("postgres/checkpoints")]
}

const cursors: Pick<Variant, "file" | "finders"> = {
  file: "src/postgres/CursorsPostgres.ts",
  finders: [servers("postgres/cursors")]
}

export const postgres: ReadonlyArray<Variant> = [
  {
    name: "checkpoints: a page of superseded timers is the last one",
    ...checkpoints,
    find: "if (page.length < limit) break",
    replace: "break",
    sentence: "alarms of actors that are not in memory do not ring when many others have rung before them"
  },
  {
    name: "checkpoints: pruning mixes actors of one key",
    ...checkpoints,
    find: "and older.kind = newer.kind and older.key = newer.key",
    replace: "and older.key = newer.key",
    sentence: "an actor's state is lost when another kind's actor of the same key has changed"
  },
  {
    name: "checkpoints: what was pruned is remembered past a discard",
    ...checkpoints,
    find: "pruned_through = least(pruned_through, ",
    replace: "pruned_through = greatest(pruned_through, ",
    sentence: "after an operator has accepted a loss superseded rows are kept"
  },
  {
    name: "checkpoints: a zombie saves on top of another's",
    ...checkpoints,
    find: " and newest_checkpoint = ",
    replace: " and newest_checkpoint >= 0 * ",
    sentence: "an owner that was replaced overwrites its successor's checkpoint"
  },
  {
    name: "checkpoints: any statement may be planned with the removals' index",
    file: "src/postgres/migrations.ts",
    finders: [servers("postgres/actorPlans")],
    find: "engine_actors (partition, sequence) where sequence > 0 and expires_at is null",
    replace: "engine_actors (partition, sequence)",
    sentence: "in a new database each actor that is looked up costs a walk over its partition"
  },
  {
    name: "checkpoints: look-ups keep the plan of a small table",
    file: checkpoints.file,
    finders: [servers("postgres/actorPlans")],
    find: "where found.state is not null`.unprepared",
    replace: "where found.state is not null`",
    sentence: "after a table has grown each actor that is looked up costs a walk over all of them"
  },
  {
    name: "cursors: unparking takes a whole frame",
    ...cursors,
    find: "and p.sequence = batch.sequence and p.record_index = batch.record_index",
    replace: "and p.sequence = batch.sequence",
    sentence: "an operator who dismisses one record dismisses others of its frame"
  },
  {
    name: "cursors: what an attempt defers is not its own",
    ...cursors,
    find: "Effect.tap(effects, flushDeferred(sql) as Effect.Effect<void, E>)",
    replace: "effects",
    sentence: "one organization's record that breaks at its deferred statement stops the reactor for all"
  },
  {
    name: "cursors: records are worked on by two operators",
    ...cursors,
    find: "if (taken.length !== records.length) {",
    replace: "if (taken.length > records.length) {",
    sentence: "the effects of a parked record happen twice when it is retried twice at once"
  },
  {
    name: "work queue: what is given back loses its lane",
    file: "src/postgres/workQueueOutcomes.ts",
    find: "lane = coalesce(o.lane, t.lane)",
    replace: "lane = coalesce(o.lane, 0)",
    sentence:
      "a retry that a shutdown gave back is attempted as a first attempt, and a test waits for its endpoint's pause",
    finders: [servers("webhooks/DeliveryStorePostgres")]
  },
  {
    name: "work queue: a lost job is kept",
    file: "src/postgres/WorkQueue.ts",
    find: "where t.id = batch.id and t.attempts = batch.attempt and t.due_at is not null\n              returning t.id",
    replace: "where t.id = batch.id and t.due_at is not null\n              returning t.id",
    sentence: "two processes believe that a job is theirs",
    finders: [servers("postgres/workQueue")]
  }
]
