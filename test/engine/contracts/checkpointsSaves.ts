import { assert, type Vitest } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { maximumLoadBatch } from "../../../src/engine/limits.ts"
import type { ActorRow, Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import { address, byKey, fresh, names, recordAt, row, save, states } from "./checkpointsSupport.ts"

/** What is saved is found again, whole, and only by its own name and place. */
export const savesAndLoads = (it: Vitest.MethodsNonLive<Checkpoints>): void => {
  it.effect("the number of partitions is fixed by the first who says it", () =>
    Effect.gen(function* () {
      const { checkpoints } = yield* fresh
      const answers = yield* Effect.all([checkpoints.fixPartitions(8), checkpoints.fixPartitions(16)], {
        concurrency: 2
      })
      assert.strictEqual(answers[0], answers[1])
      assert.strictEqual(yield* checkpoints.fixPartitions(64), answers[0])
    })
  )

  it.effect("a deployment has an id from when its partitions are fixed, and never another one", () =>
    Effect.gen(function* () {
      const { checkpoints } = yield* fresh
      yield* checkpoints.fixPartitions(8)
      const first = yield* checkpoints.deployment
      assert.isAbove(first?.id.length ?? 0, 0)
      assert.isAbove(first?.home.length ?? 0, 0)
      yield* checkpoints.fixPartitions(16)
      assert.deepStrictEqual(yield* checkpoints.deployment, first)
    })
  )

  it.effect("a partition without checkpoints has nothing", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      assert.deepStrictEqual(yield* checkpoints.list(partition), [])
      assert.deepStrictEqual(yield* checkpoints.load(partition, [address("a")], 1_000), [])
      assert.deepStrictEqual(yield* checkpoints.load(partition, [], 1_000), [])
      assert.deepStrictEqual(yield* checkpoints.timers(partition, { through: 1_000, after: undefined, limit: 10 }), [])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 0), { rows: 0, checkpoints: 0 })
    })
  )

  it.effect("what is saved is there, field for field, newest checkpoint first", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const text = { quote: '"\\', line: "\n\u0000\u2028", wide: "žluťoučký 🐎", lone: "\ud800" }
      const first: ActorRow = { ...row("a", 5, text, 1_763_632_000_123), version: 7 }
      yield* save(checkpoints, partition, 0, 5, [first, row("", 5, [1])])
      yield* save(checkpoints, partition, 5, 9, [row("b", 9, { n: 1 })])
      assert.deepStrictEqual(yield* checkpoints.list(partition), [recordAt(partition, 9), recordAt(partition, 5)])
      const found = yield* checkpoints.load(partition, [address("a"), address(""), address("b"), address("c")], 9)
      assert.deepStrictEqual(byKey(found), [row("", 5, [1]), first, row("b", 9, { n: 1 })])
      assert.deepStrictEqual(JSON.parse(byKey(found)[1]!.state!), text)
    })
  )

  it.effect("the places of ingests are kept in their order, and none where there are none", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const first = recordAt(partition, 5)
      const second = { ...recordAt(partition, 9), ingests: { orders: 4_711, clicks: 0, a1: Number.MAX_SAFE_INTEGER } }
      yield* checkpoints.save({ record: first, previous: 0, rows: [] })
      yield* checkpoints.save({ record: second, previous: 5, rows: [] })
      const found = yield* checkpoints.list(partition)
      assert.deepStrictEqual(found, [second, first])
      assert.deepStrictEqual(Object.keys(found[0]!.ingests!), ["orders", "clicks", "a1"])
    })
  )

  it.effect("partitions do not see each other's actors", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const other = yield* fresh
      yield* save(checkpoints, partition, 0, 5, [row("a", 5, 1, 100)])
      yield* save(checkpoints, other.partition, 0, 6, [row("a", 6, 2, 200)])
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, [address("a")], 9)), [["a", 5, "1"]])
      const timers = yield* checkpoints.timers(other.partition, { through: 9, after: undefined, limit: 10 })
      assert.deepStrictEqual(
        timers.map((timer) => timer.wakeAt),
        [200]
      )
      assert.strictEqual((yield* checkpoints.list(partition)).length, 1)
    })
  )

  it.effect("actors are told apart by organization, kind and key", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const addresses = ["org_1", "org_2"].flatMap((organization) =>
        ["account", "domain"].flatMap((kind) =>
          ["", " ", "x", "X", "a'b", 'a"b', "a\nb", "a\\b", "a b", "ž", "𝄞", "{a,b}", "NULL"].map((key) => ({
            organization,
            kind,
            key
          }))
        )
      )
      yield* save(
        checkpoints,
        partition,
        0,
        3,
        addresses.map((one) => ({
          ...one,
          sequence: 3,
          version: 1,
          state: JSON.stringify(one),
          wakeAt: null,
          expiresAt: null
        }))
      )
      const found = yield* checkpoints.load(partition, addresses, 3)
      assert.strictEqual(found.length, addresses.length)
      for (const one of found) {
        assert.deepStrictEqual(JSON.parse(one.state!), { organization: one.organization, kind: one.kind, key: one.key })
      }
    })
  )

  it.effect("loading looks at the newest row up to a place, and a null state is no actor", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 5, [row("a", 5, 1), row("b", 5, 1)])
      yield* save(checkpoints, partition, 5, 9, [row("a", 9, 2), row("b", 9, null), row("c", 9, 1)])
      const all = ["a", "b", "c"].map((key) => address(key))
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, all, 4)), [])
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, all, 8)), [
        ["a", 5, "1"],
        ["b", 5, "1"]
      ])
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, all, 9)), [
        ["a", 9, "2"],
        ["c", 9, "1"]
      ])
    })
  )

  it.effect("a whole batch is loaded at once", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const keys = Array.from({ length: maximumLoadBatch }, (_, index) => `key ${index}`)
      yield* save(
        checkpoints,
        partition,
        0,
        5,
        keys.map((key) => row(key, 5, key))
      )
      const found = yield* checkpoints.load(
        partition,
        keys.map((key) => address(key)),
        5
      )
      assert.deepStrictEqual(names(found).sort(), keys.sort())
    })
  )

  it.effect("a checkpoint is taken only on top of the expected one", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 5, [row("a", 5, 1)])
      for (const [previous, sequence] of [
        [0, 9],
        [4, 9],
        [6, 9],
        [5, 5],
        [5, 3]
      ] as const) {
        const error = yield* Effect.flip(
          save(checkpoints, partition, previous, sequence, [row("a", sequence, "never")])
        )
        assert.strictEqual(error._tag, "CheckpointConflict")
        if (error._tag === "CheckpointConflict") {
          assert.deepStrictEqual([error.partition, error.expected, error.found], [partition, previous, 5])
        }
      }
      const untouched = yield* fresh
      const early = yield* Effect.flip(save(checkpoints, untouched.partition, 5, 9, []))
      assert.strictEqual(early._tag === "CheckpointConflict" && early.found, 0)
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, [address("a")], 100)), [["a", 5, "1"]])
      assert.strictEqual((yield* checkpoints.list(partition)).length, 1)
      yield* save(checkpoints, partition, 5, 9, [])
    })
  )

  it.effect("of several that save on top of the same one, one succeeds", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      for (let previous = 0; previous < 100; previous += 20) {
        const results = yield* Effect.forEach(
          [1, 2, 3, 4],
          (writer) =>
            Effect.result(
              save(checkpoints, partition, previous, previous + writer, [row("a", previous + writer, writer)])
            ),
          { concurrency: "unbounded" }
        )
        const winners = [1, 2, 3, 4].filter((_, index) => results[index]!._tag === "Success")
        assert.strictEqual(winners.length, 1)
        const [newest] = yield* checkpoints.list(partition)
        assert.strictEqual(newest!.sequence, previous + winners[0]!)
        assert.deepStrictEqual(states(yield* checkpoints.load(partition, [address("a")], 1_000)), [
          ["a", previous + winners[0]!, String(winners[0])]
        ])
        yield* save(checkpoints, partition, newest!.sequence, previous + 20, [])
      }
    })
  )

  it.effect("an interrupted or failing save leaves nothing", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const failing = function* (): Generator<ActorRow> {
        for (let index = 0; index < 2_000; index++) yield row(`key ${index}`, 5, index)
        throw new Error("this state cannot be encoded")
      }
      const exit = yield* Effect.exit(save(checkpoints, partition, 0, 5, failing()))
      assert.isTrue(Exit.isFailure(exit))
      for (let turns = 0; turns < 20; turns++) {
        const rows = Array.from({ length: 2_000 }, (_, index) => row(`key ${index}`, 5, index))
        const fiber = yield* Effect.forkScoped(save(checkpoints, partition, 0, 5, rows))
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
        yield* Fiber.interrupt(fiber)
        const list = yield* checkpoints.list(partition)
        const loaded = yield* checkpoints.load(partition, [address("key 0"), address("key 1999")], 100)
        assert.strictEqual(loaded.length, list.length === 0 ? 0 : 2)
        if (list.length > 0) break
      }
    })
  )

  it.effect("many rows with large states are saved while they are read", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const large = "x".repeat(60_000)
      let made = 0
      const rows = function* (): Generator<ActorRow> {
        for (; made < 1_500; made++) yield row(`key ${made}`, 5, made % 100 === 0 ? large : made)
      }
      yield* save(checkpoints, partition, 0, 5, rows())
      assert.strictEqual(made, 1_500)
      const found = yield* checkpoints.load(partition, [address("key 0"), address("key 1499")], 5)
      assert.deepStrictEqual(states(found), [
        ["key 0", 5, JSON.stringify(large)],
        ["key 1499", 5, "1499"]
      ])
    })
  )
}
