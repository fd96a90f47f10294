/**
 * What every `Checkpoints` promises, whatever stands behind it. `checkpointsContract` runs it against a layer; each test takes a partition that no
 * other one uses, so that all may share one database.
 */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type ActorRow, type CheckpointRecord, Checkpoints, type TimerRow } from "../../../src/engine/Checkpoints.ts"

let nextPartition = 2000

const freshPartition = (): number => nextPartition++

const record = (partition: number, sequence: number): CheckpointRecord => ({
  partition,
  sequence,
  hash: sequence.toString(16).padStart(64, "0"),
  epoch: 2,
  number: sequence + 7,
  now: 1_700_000_000_000 + sequence,
  signalSequence: sequence * 2
})

interface RowOptions {
  readonly state?: string | null
  readonly wakeAt?: number | null
  readonly organization?: string
  readonly kind?: string
}

const row = (key: string, sequence: number, options: RowOptions = {}): ActorRow => ({
  organization: options.organization ?? "org_1",
  kind: options.kind ?? "counter",
  key,
  sequence,
  version: 1,
  state: options.state === undefined ? `{"key":"${key}","at":${sequence}}` : options.state,
  wakeAt: options.wakeAt ?? null
})

const save = (partition: number, previous: number, sequence: number, rows: Iterable<ActorRow>) =>
  Effect.flatMap(Checkpoints, (checkpoints) =>
    checkpoints.save({ record: record(partition, sequence), previous, rows })
  )

const address = ({ organization, kind, key }: ActorRow) => ({ organization, kind, key })

const load = (partition: number, keys: ReadonlyArray<string>, through: number) =>
  Effect.gen(function* () {
    const checkpoints = yield* Checkpoints
    const rows = yield* checkpoints.load(
      partition,
      keys.map((key) => address(row(key, 0))),
      through
    )
    return rows.map(({ key, sequence, state }) => ({ key, sequence, state })).sort((a, b) => (a.key < b.key ? -1 : 1))
  })

export const checkpointsContract = <E>(name: string, checkpoints: Layer.Layer<Checkpoints, E>): void => {
  layer(checkpoints, { excludeTestServices: true, timeout: 120_000 })(`Checkpoints: ${name}`, (it) => cases(it))
}

const cases = (it: Vitest.MethodsNonLive<Checkpoints>): void => {
  it.effect("the number of partitions is fixed by the first call", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const first = yield* checkpoints.fixPartitions(8)
      assert.strictEqual(yield* checkpoints.fixPartitions(first + 4), first)
    })
  )

  it.effect("a new partition has nothing", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      assert.deepStrictEqual(yield* checkpoints.list(partition), [])
      assert.deepStrictEqual(yield* load(partition, ["a"], 100), [])
      assert.deepStrictEqual(yield* checkpoints.timers(partition, { through: 100, after: undefined, limit: 10 }), [])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
    })
  )

  it.effect("what was saved is listed newest first, whole", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      yield* save(partition, 0, 10, [row("a", 10)])
      yield* save(partition, 10, 20, [])
      assert.deepStrictEqual(yield* checkpoints.list(partition), [record(partition, 20), record(partition, 10)])
      assert.deepStrictEqual(yield* checkpoints.list(freshPartition()), [])
    })
  )

  it.effect("an actor's newest row up to a sequence is loaded; others are left out", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      yield* save(partition, 0, 10, [row("a", 10), row("b", 10)])
      yield* save(partition, 10, 20, [row("a", 20)])
      assert.deepStrictEqual(yield* load(partition, ["a", "b", "nobody"], 20), [
        { key: "a", sequence: 20, state: '{"key":"a","at":20}' },
        { key: "b", sequence: 10, state: '{"key":"b","at":10}' }
      ])
      assert.deepStrictEqual(
        (yield* load(partition, ["a", "b"], 15)).map(({ sequence }) => sequence),
        [10, 10]
      )
      assert.deepStrictEqual(yield* load(partition, ["a", "b"], 9), [])
      assert.deepStrictEqual(yield* load(freshPartition(), ["a"], 20), [])
    })
  )

  it.effect("names with quotes, blanks, line ends and other alphabets keep apart", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      const keys = ["", " ", "a'b", 'a"b', "a\nb", "a\\b", "Ä", "𝄞", "a b", "A"]
      yield* save(
        partition,
        0,
        1,
        keys.map((key) => row(key, 1))
      )
      const loaded = yield* checkpoints.load(
        partition,
        keys.map((key) => address(row(key, 1))),
        1
      )
      assert.sameMembers(
        loaded.map(({ key }) => key),
        keys
      )
      for (const found of loaded) assert.strictEqual(found.state, row(found.key, 1).state)
    })
  )

  it.effect("a checkpoint that does not follow the newest is refused and writes nothing", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      yield* save(partition, 0, 10, [row("a", 10)])
      for (const previous of [0, 5, 11]) {
        const error = yield* Effect.flip(save(partition, previous, 20, [row("a", 20)]))
        assert.deepInclude(error, { _tag: "CheckpointConflict", expected: previous, found: 10 })
      }
      assert.strictEqual((yield* Effect.flip(save(partition, 10, 10, [])))._tag, "CheckpointConflict")
      assert.deepStrictEqual(yield* checkpoints.list(partition), [record(partition, 10)])
      assert.deepStrictEqual(
        (yield* load(partition, ["a"], 100)).map(({ sequence }) => sequence),
        [10]
      )
    })
  )

  it.effect("of two that save at once after the same one, exactly one succeeds", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const exits = yield* Effect.forEach(
        [20, 21, 22, 23],
        (sequence) => Effect.exit(save(partition, 0, sequence, [row("a", sequence)])),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 1)
      const checkpoints = yield* Checkpoints
      const [newest, ...rest] = yield* checkpoints.list(partition)
      assert.deepStrictEqual(rest, [])
      assert.deepStrictEqual(
        (yield* load(partition, ["a"], 100)).map(({ sequence }) => sequence),
        [newest!.sequence]
      )
    })
  )

  it.effect("a checkpoint whose rows fail half-way is not there at all", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      const failing = function* () {
        for (let index = 0; index < 2_000; index++) yield row(`k${index}`, 10)
        throw new Error("an encoder failed")
      }
      assert.strictEqual((yield* Effect.exit(save(partition, 0, 10, failing())))._tag, "Failure")
      assert.deepStrictEqual(yield* checkpoints.list(partition), [])
      assert.deepStrictEqual(yield* load(partition, ["k0"], 100), [])
      yield* save(partition, 0, 10, [row("k0", 10)])
    })
  )

  it.effect("thousands of rows are saved and loaded", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const keys = Array.from({ length: 3_000 }, (_, index) => `k${index}`)
      yield* save(
        partition,
        0,
        10,
        keys.map((key) => row(key, 10, { state: JSON.stringify("x".repeat(100)) }))
      )
      assert.strictEqual((yield* load(partition, keys.slice(0, 512), 10)).length, 512)
      assert.strictEqual((yield* load(partition, keys.slice(2_900), 10)).length, 100)
    })
  )

  it.effect("timers come in the order of time, then address, from the newest rows only", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      yield* save(partition, 0, 10, [
        row("b", 10, { wakeAt: 500 }),
        row("a", 10, { wakeAt: 500 }),
        row("late", 10, { wakeAt: 900 }),
        row("moved", 10, { wakeAt: 100 }),
        row("none", 10),
        row("a", 10, { wakeAt: 500, organization: "org_0" })
      ])
      yield* save(partition, 10, 20, [row("moved", 20, { wakeAt: 700 }), row("late", 20)])
      const page = (options: { readonly through?: number; readonly after?: TimerRow; readonly limit?: number }) =>
        Effect.map(
          checkpoints.timers(partition, {
            through: options.through ?? 20,
            after: options.after,
            limit: options.limit ?? 100
          }),
          (timers) => timers.map(({ organization, key, wakeAt }) => `${wakeAt} ${organization} ${key}`)
        )
      const all = ["500 org_0 a", "500 org_1 a", "500 org_1 b", "700 org_1 moved"]
      assert.deepStrictEqual(yield* page({}), all)
      assert.deepStrictEqual(yield* page({ limit: 2 }), all.slice(0, 2))
      const after = { organization: "org_1", kind: "counter", key: "a", wakeAt: 500 }
      assert.deepStrictEqual(yield* page({ after }), all.slice(2))
      assert.deepStrictEqual(yield* page({ through: 10, limit: 1 }), ["100 org_1 moved"])
    })
  )

  it.effect("an actor that is over is not loaded and has no timer", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      yield* save(partition, 0, 10, [row("a", 10, { wakeAt: 5 })])
      yield* save(partition, 10, 20, [row("a", 20, { state: null })])
      const checkpoints = yield* Checkpoints
      assert.deepStrictEqual(yield* load(partition, ["a"], 20), [])
      assert.deepStrictEqual(yield* checkpoints.timers(partition, { through: 20, after: undefined, limit: 9 }), [])
      assert.deepStrictEqual(
        (yield* load(partition, ["a"], 19)).map(({ sequence }) => sequence),
        [10]
      )
    })
  )

  it.effect("pruning keeps two checkpoints and all that either of them needs", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      yield* save(partition, 0, 10, [row("a", 10), row("b", 10), row("over", 10)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      yield* save(partition, 10, 20, [row("a", 20), row("over", 20, { state: null })])
      yield* checkpoints.prune(partition)
      const atTen = yield* load(partition, ["a", "b", "over"], 10)
      assert.deepStrictEqual(
        atTen.map(({ key, sequence }) => [key, sequence]),
        [
          ["a", 10],
          ["b", 10],
          ["over", 10]
        ]
      )
      yield* save(partition, 20, 30, [row("a", 30)])
      const removed = yield* checkpoints.prune(partition)
      // a at 10, over at 10 and its end at 20; the checkpoint at 10
      assert.deepStrictEqual(removed, { rows: 3, checkpoints: 1 })
      const sequences = (through: number) =>
        Effect.map(load(partition, ["a", "b", "over"], through), (rows) => rows.map((r) => [r.key, r.sequence]))
      assert.deepStrictEqual(yield* sequences(30), [
        ["a", 30],
        ["b", 10]
      ])
      assert.deepStrictEqual(yield* sequences(20), [
        ["a", 20],
        ["b", 10]
      ])
      assert.deepStrictEqual(
        (yield* checkpoints.list(partition)).map(({ sequence }) => sequence),
        [30, 20]
      )
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
    })
  )

  it.effect("an operator discards what lies above a sequence", () =>
    Effect.gen(function* () {
      const checkpoints = yield* Checkpoints
      const partition = freshPartition()
      const other = freshPartition()
      yield* save(other, 0, 10, [row("a", 10)])
      yield* save(partition, 0, 10, [row("a", 10)])
      yield* save(partition, 10, 20, [row("a", 20), row("b", 20)])
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 15), { rows: 2, checkpoints: 1 })
      assert.deepStrictEqual(
        (yield* load(partition, ["a", "b"], 100)).map(({ sequence }) => sequence),
        [10]
      )
      yield* save(partition, 10, 20, [row("b", 20)])
      assert.deepStrictEqual(
        (yield* checkpoints.list(other)).map(({ sequence }) => sequence),
        [10]
      )
    })
  )
}
