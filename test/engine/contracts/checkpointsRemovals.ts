import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { ActorAddress } from "../../../src/engine/address.ts"
import { maximumTimerPage } from "../../../src/engine/limits.ts"
import type { ActorRow, Checkpoints, ExpiryRow } from "../../../src/engine/ports/Checkpoints.ts"
import { address, byKey, fresh, names, passing, recordAt, row, save, states } from "./checkpointsSupport.ts"

/** What is pruned or discarded goes, and nothing else. */
export const removals = (it: Vitest.MethodsNonLive<Checkpoints>): void => {
  it.effect("pruning keeps what the two newest checkpoints need, and no more", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const all = ["a", "b", "c", "d"].map((key) => address(key))
      const at = (through: number) => Effect.map(checkpoints.load(partition, all, through), states)
      yield* save(checkpoints, partition, 0, 10, [row("a", 10, 1), row("b", 10, 1), row("c", 10, 1, 5)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      yield* save(checkpoints, partition, 10, 20, [row("a", 20, 2), row("c", 20, null)])
      // 20 is newest, 10 second-newest: nothing is superseded at 10.
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      yield* save(checkpoints, partition, 20, 30, [row("a", 30, 3), row("d", 30, 1)])
      const before = [yield* at(20), yield* at(30)]
      // A at 10, c at 10 and the null of c.
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 3, checkpoints: 1 })
      assert.deepStrictEqual([yield* at(20), yield* at(30)], before)
      assert.deepStrictEqual(
        (yield* checkpoints.list(partition)).map((record) => record.sequence),
        [30, 20]
      )
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 0, checkpoints: 0 })
      // Two unpruned ones at once, as after a crash.
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
      // Both at 10 and bell at 20; gong at 30 only when that is covered.
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

  it.effect("rows that expire are listed in the order of time and name, page by page, and no others", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      const other = (yield* fresh).partition
      const rows = Array.from({ length: 50 }, (_, index) =>
        passing(`key ${String(index).padStart(2, "0")}`, 10, 1_763_632_000_000 + (index % 7))
      )
      yield* save(checkpoints, partition, 0, 10, [...rows, row("lasts", 10, 1)])
      yield* save(checkpoints, other, 0, 10, [passing("elsewhere", 10, 1_763_632_000_000)])
      const listed = (from: number, limit: number) =>
        Effect.gen(function* () {
          const found: Array<ExpiryRow> = []
          let after: ExpiryRow = { expiresAt: from, organization: "", kind: "", key: "" }
          while (true) {
            const page = yield* checkpoints.expiring(partition, { after, limit })
            found.push(...page)
            if (page.length < limit) return found
            after = page[page.length - 1]!
          }
        })
      const expected = rows
        .map(({ expiresAt, key, kind, organization }) => ({ organization, kind, key, expiresAt: expiresAt! }))
        .sort((left, right) => left.expiresAt - right.expiresAt || (left.key < right.key ? -1 : 1))
      assert.deepStrictEqual(yield* listed(0, 8), expected)
      assert.deepStrictEqual(
        yield* listed(1_763_632_000_003, 100),
        expected.filter(({ expiresAt }) => expiresAt >= 1_763_632_000_003)
      )
      assert.deepStrictEqual(yield* listed(1_763_632_000_007, 100), [])
      yield* checkpoints.expire(partition, 1_763_632_000_005, 100)
      assert.deepStrictEqual(
        yield* listed(0, 100),
        expected.filter(({ expiresAt }) => expiresAt > 1_763_632_000_005)
      )
    })
  )

  it.effect("rows that expire outlast pruning, and go when what is above a place is discarded", () =>
    Effect.gen(function* () {
      const { checkpoints, partition } = yield* fresh
      yield* save(checkpoints, partition, 0, 10, [passing("a", 10, 100), row("b", 10, 1)])
      yield* save(checkpoints, partition, 10, 20, [passing("a", 20, 500), row("b", 20, 2)])
      yield* save(checkpoints, partition, 20, 30, [passing("c", 30, 500), row("b", 30, 3)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 1, checkpoints: 1 })
      const after = { expiresAt: 0, organization: "", kind: "", key: "" }
      const left = Effect.map(checkpoints.expiring(partition, { after, limit: 10 }), (rows) =>
        rows.map(({ expiresAt, key }) => [key, expiresAt])
      )
      assert.deepStrictEqual(yield* left, [
        ["a", 100],
        ["a", 500],
        ["c", 500]
      ])
      assert.deepStrictEqual(yield* checkpoints.discardAbove(partition, 20), { rows: 2, checkpoints: 1 })
      assert.deepStrictEqual(yield* left, [
        ["a", 100],
        ["a", 500]
      ])
      assert.deepStrictEqual(states(yield* checkpoints.load(partition, [address("a"), address("b")], 100)), [
        ["a", 20, "20"],
        ["b", 20, "2"]
      ])
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
      // What is superseded from the beginning on is pruned again.
      yield* save(checkpoints, partition, 1, 2, [row("a", 2, 2)])
      yield* save(checkpoints, partition, 2, 3, [row("a", 3, 3)])
      assert.deepStrictEqual(yield* checkpoints.prune(partition), { rows: 1, checkpoints: 1 })
    })
  )
}
