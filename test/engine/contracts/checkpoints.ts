/** What every `Checkpoints` promises, whatever stands behind it. Each test takes partitions that no other one uses. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect, Exit, Fiber, type Layer } from "effect"
import type { ActorAddress } from "../../../src/engine/address.ts"
import { type ActorRow, type CheckpointRecord, Checkpoints } from "../../../src/engine/Checkpoints.ts"
import { maximumLoadBatch, maximumTimerPage } from "../../../src/engine/limits.ts"

let nextPartition = 0

const fresh = Effect.map(Checkpoints, (checkpoints) => ({ checkpoints, partition: nextPartition++ }))

const recordAt = (partition: number, sequence: number): CheckpointRecord => ({
  partition,
  sequence,
  hash: sequence.toString(16).padStart(64, "0"),
  epoch: 3,
  number: sequence * 2,
  now: 1_763_632_000_000 + sequence,
  signalSequence: sequence * 10
})

const address = (key: string, organization = "org_1", kind = "account"): ActorAddress => ({ organization, kind, key })

const row = (key: string, sequence: number, state: unknown, wakeAt: number | null = null): ActorRow => ({
  ...address(key),
  sequence,
  version: 1,
  state: state === null ? null : JSON.stringify(state),
  wakeAt,
  expiresAt: null
})

/** A row that means nothing from `expiresAt` on. */
const passing = (key: string, sequence: number, expiresAt: number): ActorRow => ({
  ...row(key, sequence, sequence),
  expiresAt
})

const save = (
  checkpoints: Checkpoints["Service"],
  partition: number,
  previous: number,
  sequence: number,
  rows: Iterable<ActorRow>
) => checkpoints.save({ record: recordAt(partition, sequence), previous, rows })

const byKey = (rows: ReadonlyArray<ActorRow>) => [...rows].sort((left, right) => (left.key < right.key ? -1 : 1))

const states = (rows: ReadonlyArray<ActorRow>) => byKey(rows).map((found) => [found.key, found.sequence, found.state])

const names = (rows: ReadonlyArray<ActorAddress>) => rows.map((found) => found.key)

export const checkpointsContract = <E>(name: string, checkpoints: Layer.Layer<Checkpoints, E>): void => {
  layer(checkpoints, { excludeTestServices: true, timeout: 120_000 })(`Checkpoints: ${name}`, (it) => {
    cases(it)
  })
}

const cases = (it: Vitest.MethodsNonLive<Checkpoints>): void => {
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

  it.effect("timers come in the order of time and name, page by page", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const rows = Array.from({ length: 300 }, (_, index) =>
        row(`key ${String(index).padStart(3, "0")}`, 5, 1, 1_000 + (index % 7))
      )
      yield* save(checkpoints, partition, 0, 5, [...rows, row("sleeps", 5, 1, null)])
      const found = []
      let after: (ActorAddress & { readonly wakeAt: number }) | undefined
      while (true) {
        const page = yield* checkpoints.timers(partition, { through: 5, after, limit: 64 })
        found.push(...page)
        after = page[page.length - 1]
        if (page.length < 64) break
      }
      const expected = [...rows].sort((left, right) => left.wakeAt! - right.wakeAt! || (left.key < right.key ? -1 : 1))
      assert.deepStrictEqual(
        found.map((timer) => [timer.wakeAt, timer.key]),
        expected.map((one) => [one.wakeAt, one.key])
      )
      const all = yield* checkpoints.timers(partition, { through: 5, after: undefined, limit: maximumTimerPage })
      assert.strictEqual(all.length, maximumTimerPage)
    })
  )

  it.effect("an actor's timer is that of its newest row up to the place", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 5, [row("a", 5, 1, 100), row("b", 5, 1, 100), row("c", 5, 1, 100)])
      yield* save(checkpoints, partition, 5, 9, [row("a", 9, 1, 50), row("b", 9, 1, null), row("c", 9, null, null)])
      const timers = (through: number) =>
        Effect.map(checkpoints.timers(partition, { through, after: undefined, limit: 10 }), (found) =>
          found.map((timer) => [timer.key, timer.wakeAt])
        )
      assert.deepStrictEqual(yield* timers(9), [["a", 50]])
      assert.deepStrictEqual(yield* timers(8), [
        ["a", 100],
        ["b", 100],
        ["c", 100]
      ])
      assert.deepStrictEqual(yield* timers(4), [])
    })
  )

  it.effect("a page of timers is full while there are more, however many superseded ones stand before them", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const keys = Array.from({ length: 40 }, (_, index) => `key ${String(index).padStart(2, "0")}`)
      yield* save(
        checkpoints,
        partition,
        0,
        5,
        keys.map((key, index) => row(key, 5, 1, 100 + index))
      )
      // the first thirty have rung: some are over, some sleep, some wait for later
      yield* save(
        checkpoints,
        partition,
        5,
        9,
        keys
          .slice(0, 30)
          .map((key, index) => row(key, 9, index % 3 === 0 ? null : 2, index % 3 === 2 ? 1_000 + index : null))
      )
      const found: Array<string> = []
      let after: (ActorAddress & { readonly wakeAt: number }) | undefined
      while (true) {
        const page = yield* checkpoints.timers(partition, { through: 9, after, limit: 4 })
        found.push(...names(page))
        if (page.length < 4) break
        after = page[page.length - 1]
      }
      assert.deepStrictEqual(found, [...keys.slice(30), ...keys.slice(0, 30).filter((_, index) => index % 3 === 2)])
    })
  )

  it.effect("pruning keeps what the two newest checkpoints need, and no more", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const all = ["a", "b", "c", "d"].map((key) => address(key))
      const at = (through: number) => Effect.map(checkpoints.load(partition, all, through), states)
      yield* save(checkpoints, partition, 0, 10, [row("a", 10, 1), row("b", 10, 1), row("c", 10, 1, 5)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      yield* save(checkpoints, partition, 10, 20, [row("a", 20, 2), row("c", 20, null)])
      // 20 is newest, 10 second-newest: nothing is superseded at 10
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      yield* save(checkpoints, partition, 20, 30, [row("a", 30, 3), row("d", 30, 1)])
      const before = [yield* at(20), yield* at(30)]
      // a at 10, c at 10 and the null of c
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 3, checkpoints: 1 })
      assert.deepStrictEqual([yield* at(20), yield* at(30)], before)
      assert.deepStrictEqual(
        (yield* checkpoints.list(partition)).map((record) => record.sequence),
        [30, 20]
      )
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      // two unpruned ones at once, as after a crash
      yield* save(checkpoints, partition, 30, 40, [row("a", 40, 4), row("b", 40, 2)])
      yield* save(checkpoints, partition, 40, 50, [row("a", 50, 5)])
      const later = [yield* at(40), yield* at(50)]
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 3, checkpoints: 2 })
      assert.deepStrictEqual([yield* at(40), yield* at(50)], later)
      assert.deepStrictEqual(yield* at(50), [
        ["a", 50, "5"],
        ["b", 40, "2"],
        ["d", 30, "1"]
      ])
    })
  )

  it.effect("pruning takes the rows of kinds that keep none, up to the second-newest checkpoint", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const of = (kind: string, sequence: number): ActorRow => ({ ...row(kind, sequence, 1, 7), kind })
      const timers = Effect.map(
        checkpoints.timers(partition, { through: 30, after: undefined, limit: maximumTimerPage }),
        names
      )
      yield* save(checkpoints, partition, 0, 10, [of("bell", 10), of("gong", 10), of("account", 10)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition, ["bell", "gong"]), { rows: 0, checkpoints: 0 })
      yield* save(checkpoints, partition, 10, 20, [of("bell", 20)])
      yield* save(checkpoints, partition, 20, 30, [of("gong", 30)])
      // both at 10 and bell at 20; gong at 30 only when that is covered
      assert.deepStrictEqual(yield* checkpoints.prune(partition, ["bell", "gong"]), { rows: 3, checkpoints: 1 })
      assert.deepStrictEqual(yield* timers, ["account", "gong"])
      yield* save(checkpoints, partition, 30, 40, [])
      assert.deepStrictEqual(yield* checkpoints.prune(partition, ["bell", "gong"]), { rows: 1, checkpoints: 1 })
      assert.deepStrictEqual(yield* timers, ["account"])
    })
  )

  it.effect("pruning tells actors apart by organization, kind and key", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const others = [address("a"), address("a", "org_2"), address("a", "org_1", "counter"), address("b")]
      const at = (sequence: number, of: ReadonlyArray<ActorAddress>): ReadonlyArray<ActorRow> =>
        of.map((one) => ({ ...one, sequence, version: 1, state: "1", wakeAt: null, expiresAt: null }))
      yield* save(checkpoints, partition, 0, 10, at(10, others))
      yield* save(checkpoints, partition, 10, 20, at(20, others.slice(0, 1)))
      yield* save(checkpoints, partition, 20, 30, [])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 1, checkpoints: 1 })
      const left = yield* checkpoints.load(partition, others, 30)
      assert.deepStrictEqual(
        left.map((found) => [found.organization, found.kind, found.key, found.sequence].join(" ")).toSorted(),
        ["org_1 account a 20", "org_1 account b 10", "org_1 counter a 10", "org_2 account a 10"]
      )
    })
  )

  it.effect("rows whose time is over go, the earliest first, and no others", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const other = (yield* fresh).partition
      yield* save(checkpoints, partition, 0, 10, [
        passing("a", 10, 300),
        passing("b", 10, 100),
        passing("c", 10, 200),
        passing("d", 10, 301),
        row("e", 10, 1)
      ])
      yield* save(checkpoints, other, 0, 10, [passing("a", 10, 100)])
      const all = ["a", "b", "c", "d", "e"].map((key) => address(key))
      const left = Effect.map(checkpoints.load(partition, all, 10), (rows) => names(byKey(rows)))
      assert.strictEqual(yield* checkpoints.expire(partition, 99, 10), 0)
      assert.strictEqual(yield* checkpoints.expire(partition, 300, 2), 2)
      assert.deepStrictEqual(yield* left, ["a", "d", "e"])
      assert.strictEqual(yield* checkpoints.expire(partition, 300, 2), 1)
      assert.deepStrictEqual(yield* left, ["d", "e"])
      assert.strictEqual(yield* checkpoints.expire(partition, 300, 2), 0)
      assert.deepStrictEqual(byKey(yield* checkpoints.load(partition, all, 10))[0], passing("d", 10, 301))
      assert.strictEqual((yield* checkpoints.load(other, [address("a")], 10)).length, 1)
    })
  )

  it.effect("a row that was used again outlasts the time of the row before it", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 10, [passing("a", 10, 100)])
      yield* save(checkpoints, partition, 10, 20, [passing("a", 20, 500)])
      assert.strictEqual(yield* checkpoints.expire(partition, 200, 10), 1)
      assert.deepStrictEqual(yield* checkpoints.load(partition, [address("a")], 20), [passing("a", 20, 500)])
      assert.strictEqual(yield* checkpoints.expire(partition, 500, 10), 1)
      assert.deepStrictEqual(yield* checkpoints.load(partition, [address("a")], 20), [])
    })
  )

  it.effect("discarding takes what is above its place, and nothing at it", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      for (const sequence of [1, 2, 3, 4])
        yield* save(checkpoints, partition, sequence - 1, sequence, [row("a", sequence, sequence)])
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 2), { rows: 2, checkpoints: 2 })
      assert.deepStrictEqual(yield* checkpoints.list(partition), [recordAt(partition, 2), recordAt(partition, 1)])
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, [address("a")], 100)), [["a", 2, "2"]])
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 2), { rows: 0, checkpoints: 0 })
      yield* save(checkpoints, partition, 2, 3, [row("a", 3, "again")])
    })
  )

  it.effect("discarding goes back to an older checkpoint, from which saving goes on", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 10, [row("a", 10, 1, 100), row("b", 10, 1)])
      yield* save(checkpoints, partition, 10, 20, [row("a", 20, 2), row("c", 20, 1)])
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 15), { rows: 2, checkpoints: 1 })
      const all = ["a", "b", "c"].map((key) => address(key))
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, all, 100)), [
        ["a", 10, "1"],
        ["b", 10, "1"]
      ])
      assert.deepStrictEqual(
        names(yield* checkpoints.timers(partition, { through: 100, after: undefined, limit: 5 })),
        ["a"]
      )
      yield* save(checkpoints, partition, 10, 16, [row("a", 16, 3)])
      yield* save(checkpoints, partition, 16, 17, [row("a", 17, 4)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 1, checkpoints: 1 })
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 0), { rows: 3, checkpoints: 2 })
      assert.deepStrictEqual(yield* checkpoints.list(partition), [])
      yield* save(checkpoints, partition, 0, 1, [row("a", 1, 1)])
      // what is superseded from the beginning on is pruned again
      yield* save(checkpoints, partition, 1, 2, [row("a", 2, 2)])
      yield* save(checkpoints, partition, 2, 3, [row("a", 3, 3)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 1, checkpoints: 1 })
    })
  )
}
