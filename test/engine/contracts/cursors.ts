/** The contract of `Cursors`, for every implementation. Each test takes partitions that no other one uses. */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, type Layer } from "effect"
import { emptyLogHash, type LogPosition } from "../../../src/engine/ports/Checkpoints.ts"
import {
  Cursors,
  type ParkedRecord,
  ReactorTransaction,
  type RebuildProgress
} from "../../../src/engine/ports/Cursors.ts"
import { patienceMillis } from "../../support/patience.ts"

/** What the suite needs of an implementation, besides `Cursors`. */
export class EffectsHarness extends Context.Service<
  EffectsHarness,
  {
    /** Does something in the store, inside the transaction that runs it. */
    readonly write: (partition: number, text: string) => Effect.Effect<void, unknown, ReactorTransaction>
    /** Everything that was done and committed, in any order. */
    readonly written: (partition: number) => Effect.Effect<ReadonlyArray<string>, unknown>
  }
>()("test/EffectsHarness") {}

let nextPartition = 0

const fresh = Effect.gen(function* () {
  const cursors = yield* Cursors
  const harness = yield* EffectsHarness
  const partition = nextPartition++
  const write = (text: string) => Effect.orDie(harness.write(partition, text))
  const written = Effect.map(Effect.orDie(Effect.suspend(() => harness.written(partition))), (all) => [...all].sort())
  return { cursors, partition, write, written }
})

const start: LogPosition = { sequence: 0, hash: emptyLogHash }
const at = (sequence: number, mark = "a"): LogPosition => ({ sequence, hash: mark.repeat(64) })

const parkedRecord = (
  partition: number,
  organization: string,
  sequence: number,
  index: number,
  error = "broken"
): ParkedRecord => ({
  partition,
  reactor: "sql",
  organization,
  sequence,
  index,
  record: JSON.stringify({ fact: "\u0000ž", sequence }),
  error
})

export const cursorsContract = <E>(name: string, services: Layer.Layer<Cursors | EffectsHarness, E>): void => {
  layer(services, { excludeTestServices: true, timeout: patienceMillis })(`Cursors: ${name}`, (it) => {
    cases(it)
  })
}

const cases = (it: Vitest.MethodsNonLive<Cursors | EffectsHarness>): void => {
  it.effect("a cursor that was never moved stands before the log", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      assert.deepStrictEqual(yield* cursors.read(partition, "sql"), { partition, reactor: "sql", ...start })
      assert.deepStrictEqual(yield* cursors.list(partition), [])
    })
  )

  it.effect("effects and move happen together", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const value = yield* cursors.transact(
        { partition, reactor: "sql", from: start, to: at(5) },
        Effect.as(write("first"), "value")
      )
      assert.strictEqual(value, "value")
      yield* cursors.transact({ partition, reactor: "sql", from: at(5), to: at(9, "b") }, write("second"))
      assert.deepStrictEqual(yield* cursors.read(partition, "sql"), { partition, reactor: "sql", ...at(9, "b") })
      assert.deepStrictEqual(yield* written, ["first", "second"])
    })
  )

  it.effect("cursors are told apart by partition and reactor", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      const other = yield* fresh
      yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(5) }, Effect.void)
      yield* cursors.transact({ partition, reactor: "mail", from: start, to: at(7) }, Effect.void)
      yield* cursors.transact({ partition: other.partition, reactor: "sql", from: start, to: at(6) }, Effect.void)
      const list = yield* cursors.list(partition)
      assert.deepStrictEqual(list.map((cursor) => [cursor.reactor, cursor.sequence]).sort(), [
        ["mail", 7],
        ["sql", 5]
      ])
      assert.strictEqual((yield* cursors.read(other.partition, "sql")).sequence, 6)
    })
  )

  it.effect("a cursor that is elsewhere undoes the effects and is told", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const never = yield* Effect.flip(
        cursors.transact({ partition, reactor: "sql", from: at(5), to: at(9) }, write("never"))
      )
      assert.strictEqual(never._tag, "CursorMoved")
      if (never._tag === "CursorMoved") assert.deepInclude(never.found, start)
      yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(5) }, write("once"))
      for (const from of [start, at(4), at(6), at(5, "b")]) {
        const error = yield* Effect.flip(
          cursors.transact({ partition, reactor: "sql", from, to: at(9) }, write("never"))
        )
        assert.strictEqual(error._tag, "CursorMoved")
        if (error._tag === "CursorMoved") {
          assert.deepStrictEqual([error.partition, error.reactor, error.expected], [partition, "sql", from])
          assert.deepInclude(error.found, at(5))
        }
      }
      assert.deepStrictEqual(yield* written, ["once"])
      assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 5)
    })
  )

  it.effect("of several at the same place one commits, and the others' effects are undone", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      let from = start
      for (let round = 1; round <= 5; round++) {
        const to = at(round)
        const results = yield* Effect.forEach(
          [1, 2, 3],
          (zombie) =>
            Effect.result(
              cursors.transact(
                { partition, reactor: "sql", from, to },
                Effect.andThen(Effect.yieldNow, write(`${round} by ${zombie}`))
              )
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results.map((result) => result._tag).sort(), ["Failure", "Failure", "Success"])
        const winner = results.findIndex((result) => result._tag === "Success") + 1
        assert.strictEqual((yield* written)[round - 1], `${round} by ${winner}`)
        from = to
      }
      assert.strictEqual((yield* written).length, 5)
    })
  )

  it.effect("effects that fail undo themselves and the move", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const move = { partition, reactor: "sql", from: start, to: at(5) }
      const error = yield* Effect.flip(
        cursors.transact(move, Effect.andThen(write("never"), Effect.fail("own failure" as const)))
      )
      assert.strictEqual(error, "own failure")
      const died = yield* Effect.exit(cursors.transact(move, Effect.andThen(write("never"), Effect.die("defect"))))
      assert.isTrue(Exit.isFailure(died) && Exit.hasDies(died))
      assert.deepStrictEqual(yield* written, [])
      yield* cursors.transact(move, write("in the end"))
      assert.deepStrictEqual(yield* written, ["in the end"])
    })
  )

  it.effect("interruption before the end undoes everything", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const reached = yield* Deferred.make<void>()
      const move = { partition, reactor: "sql", from: start, to: at(5) }
      const fiber = yield* Effect.forkScoped(
        cursors.transact(
          move,
          Effect.gen(function* () {
            yield* write("never")
            yield* Deferred.succeed(reached, undefined)
            return yield* Effect.never
          })
        )
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* written, [])
      yield* cursors.transact(move, write("in the end"))
    })
  )

  it.effect("what is to happen after the commit happens in order, and only after a commit", () =>
    Effect.gen(function* () {
      const { cursors, partition, written, write } = yield* fresh
      const happened: Array<string> = []
      const later = (what: string) =>
        Effect.map(ReactorTransaction, ({ onCommit }) => onCommit(() => happened.push(what)))
      yield* cursors.transact(
        { partition, reactor: "sql", from: start, to: at(5) },
        Effect.gen(function* () {
          yield* later("1")
          yield* cursors.attempt(later("2"))
          yield* Effect.ignore(cursors.attempt(Effect.andThen(later("undone"), Effect.fail("no"))))
          yield* later("3")
          yield* write("x")
          assert.deepStrictEqual(happened, [])
        })
      )
      assert.deepStrictEqual(happened, ["1", "2", "3"])
      yield* Effect.flip(cursors.transact({ partition, reactor: "sql", from: start, to: at(9) }, later("moved")))
      yield* Effect.flip(
        cursors.transact(
          { partition, reactor: "sql", from: at(5), to: at(9) },
          Effect.andThen(later("failed"), Effect.fail("no"))
        )
      )
      assert.deepStrictEqual(happened, ["1", "2", "3"])
      assert.deepStrictEqual(yield* written, ["x"])
    })
  )

  it.effect("an attempt that fails is undone and the transaction goes on", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      yield* cursors.transact(
        { partition, reactor: "sql", from: start, to: at(5) },
        Effect.gen(function* () {
          yield* write("before")
          const error = yield* Effect.flip(
            cursors.attempt(Effect.andThen(write("undone"), Effect.fail("poison" as const)))
          )
          assert.strictEqual(error, "poison")
          yield* cursors.attempt(write("kept"))
          yield* cursors.attempt(
            Effect.gen(function* () {
              yield* write("outer")
              yield* Effect.ignore(cursors.attempt(Effect.andThen(write("inner, undone"), Effect.fail("no"))))
            })
          )
          yield* write("after")
        })
      )
      assert.deepStrictEqual(yield* written, ["after", "before", "kept", "outer"])
    })
  )

  it.effect("records are parked with the transaction, once, and read in the log's order", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      const one = parkedRecord(partition, "org_1", 5, 2)
      const behind = parkedRecord(partition, "org_1", 5, 10, "behind 5/2")
      const later = parkedRecord(partition, "org_1", 12, 0, 'it\'s broken\n"badly"')
      const records = [behind, one, later, parkedRecord(partition, "org_2", 7, 1)]
      yield* Effect.flip(
        cursors.transact(
          { partition, reactor: "sql", from: start, to: at(5) },
          Effect.andThen(cursors.park(records), Effect.fail("no"))
        )
      )
      assert.deepStrictEqual(yield* cursors.parkedOrganizations(partition, "sql"), [])
      yield* cursors.transact(
        { partition, reactor: "sql", from: start, to: at(5) },
        Effect.andThen(cursors.park(records), cursors.park([{ ...one, error: "again" }]))
      )
      yield* cursors.transact({ partition, reactor: "sql", from: at(5), to: at(6) }, cursors.park([]))
      assert.deepStrictEqual(
        [...(yield* cursors.parkedOrganizations(partition, "sql"))].sort((left, right) => right.count - left.count),
        [
          { organization: "org_1", count: 3 },
          { organization: "org_2", count: 1 }
        ]
      )
      assert.deepStrictEqual(yield* cursors.parkedOrganizations(partition, "mail"), [])
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 10), [one, behind, later])
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 1), [one])
    })
  )

  it.effect("parked records are counted as they come and go, each once", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      const record = (organization: string, sequence: number) =>
        parkedRecord(partition, organization, sequence, Number(organization.at(-1)))
      const counts = Effect.all([
        cursors.parkedCount(partition, "sql"),
        cursors.parkedCount(partition, "sql", "org_1"),
        cursors.parkedCount(partition, "sql", "org_2"),
        cursors.parkedCount(partition, "mail")
      ])
      const named = (page: { readonly after?: string; readonly limit: number }) =>
        Effect.map(cursors.parkedOrganizations(partition, "sql", page), (found) =>
          found.map(({ count, organization }) => [organization, count])
        )
      const park = (from: number, to: number, records: ReadonlyArray<ParkedRecord>) =>
        cursors.transact(
          { partition, reactor: "sql", from: from === 0 ? start : at(from), to: at(to) },
          cursors.park(records)
        )
      assert.deepStrictEqual(yield* counts, [0, 0, 0, 0])
      yield* park(0, 5, [record("org_1", 4), record("org_1", 5), record("org_2", 5), record("org_3", 5)])
      yield* park(5, 6, [record("org_1", 4), record("org_1", 6)])
      yield* Effect.flip(
        cursors.transact({ partition, reactor: "sql", from: at(5), to: at(7) }, cursors.park([record("org_2", 7)]))
      )
      assert.deepStrictEqual(yield* counts, [5, 3, 1, 0])
      assert.deepStrictEqual(yield* named({ limit: 2 }), [
        ["org_1", 3],
        ["org_2", 1]
      ])
      assert.deepStrictEqual(yield* named({ limit: 2, after: "org_2" }), [["org_3", 1]])
      yield* cursors.unpark([record("org_1", 4), record("org_1", 5)], Effect.void)
      yield* Effect.flip(cursors.unpark([record("org_1", 6)], Effect.fail("still broken")))
      yield* cursors.unpark([record("org_2", 5)], Effect.void)
      assert.deepStrictEqual(yield* counts, [2, 1, 0, 0])
      assert.deepStrictEqual(yield* named({ limit: 9 }), [
        ["org_1", 1],
        ["org_3", 1]
      ])
      const among = yield* cursors.transact(
        { partition, reactor: "sql", from: at(6), to: at(8) },
        cursors.parkedAmong(partition, "sql", ["org_1", "org_2", "org_3"])
      )
      assert.deepStrictEqual([...among].sort(), ["org_1", "org_3"])
    })
  )

  it.effect("records leave the parking place with the effects of their retry, or not at all", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const records = [parkedRecord(partition, "org_1", 5, 0), parkedRecord(partition, "org_1", 6, 0)]
      yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(6) }, cursors.park(records))
      const failed = yield* Effect.flip(
        cursors.unpark(records, Effect.andThen(write("never"), Effect.fail("still broken" as const)))
      )
      assert.strictEqual(failed, "still broken")
      assert.strictEqual((yield* cursors.parked(partition, "sql", "org_1", 10)).length, 2)
      yield* cursors.unpark(records.slice(0, 1), write("retried"))
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 10), records.slice(1))
      assert.deepStrictEqual(yield* written, ["retried"])
    })
  )

  it.effect("a record that leaves may be parked again at once, with another error", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      const record = parkedRecord(partition, "org_1", 5, 0)
      yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(6) }, cursors.park([record]))
      const other = { ...record, error: "another error" }
      yield* cursors.unpark([record], cursors.park([other]))
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 10), [other])
      assert.strictEqual(yield* cursors.parkedCount(partition, "sql"), 1)
      assert.strictEqual(yield* cursors.parkedCount(partition, "sql", "org_1"), 1)
    })
  )

  it.effect("a transaction may leave the cursor where it is, also one that was never moved", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      for (const place of [start, at(6)]) {
        const record = parkedRecord(partition, "org_1", place.sequence + 1, 0)
        if (place !== start) yield* cursors.transact({ partition, reactor: "sql", from: start, to: place }, Effect.void)
        yield* cursors.transact({ partition, reactor: "sql", from: place, to: place }, cursors.park([record]))
        assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, place.sequence)
      }
      assert.strictEqual(yield* cursors.parkedCount(partition, "sql"), 2)
      const stale = cursors.transact({ partition, reactor: "sql", from: start, to: start }, cursors.park([]))
      assert.strictEqual((yield* Effect.flip(stale))._tag, "CursorMoved")
    })
  )

  it.effect("who lets records go that somebody else let go before does nothing", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const records = [parkedRecord(partition, "org_1", 5, 0), parkedRecord(partition, "org_1", 6, 0)]
      yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(6) }, cursors.park(records))
      yield* cursors.unpark(records.slice(0, 1), write("mine"))
      const failed = yield* Effect.flip(cursors.unpark(records, write("theirs")))
      assert.strictEqual(failed._tag, "CursorsUnavailable")
      assert.deepStrictEqual(yield* written, ["mine"])
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 10), records.slice(1))
    })
  )

  it.effect(
    "a record that leaves takes no other one with it: of its frame, of its organization, of another reactor",
    () =>
      Effect.gen(function* () {
        const { cursors, partition } = yield* fresh
        const [first, ...others] = [
          parkedRecord(partition, "org_1", 5, 0),
          parkedRecord(partition, "org_1", 5, 1),
          parkedRecord(partition, "org_1", 6, 0),
          parkedRecord(partition, "org_2", 5, 2)
        ] as const
        const mail = { ...first, reactor: "mail" }
        yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(6) }, cursors.park([first, ...others]))
        yield* cursors.transact({ partition, reactor: "mail", from: start, to: at(6) }, cursors.park([mail]))
        yield* cursors.unpark([first], Effect.void)
        assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 10), others.slice(0, 2))
        assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_2", 10), others.slice(2))
        assert.deepStrictEqual(yield* cursors.parked(partition, "mail", "org_1", 10), [mail])
      })
  )

  it.effect("a reset cursor is where it was told, whatever it was", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      yield* cursors.reset({ partition, reactor: "sql", ...at(3) })
      assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 3)
      yield* cursors.transact({ partition, reactor: "sql", from: at(3), to: at(8) }, Effect.void)
      yield* cursors.reset({ partition, reactor: "sql", ...start })
      yield* cursors.transact({ partition, reactor: "sql", from: start, to: at(1) }, Effect.void)
      assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 1)
    })
  )

  it.effect("the progress of a rebuild moves with the effects, from the step that is expected, and is kept", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const move = { partition, reactor: "sql", from: at(5), to: at(5) }
      const read = Effect.map(cursors.read(partition, "sql"), ({ rebuild, sequence }) => ({ rebuild, sequence }))
      const progress = (step: number): RebuildProgress => ({
        step,
        states: 7,
        place: { organization: "org_1", kind: "a", key: "\u0001ž" },
        isWalked: false,
        cuts: [{ through: { organization: "org_1", kind: "a", key: "\u0001ž" }, sequence: 4 }]
      })
      yield* cursors.transact({ ...move, from: start, rebuild: { from: "any", to: progress(0) } }, write("cleared"))
      assert.deepStrictEqual(yield* read, { sequence: 5, rebuild: progress(0) })
      yield* cursors.transact({ ...move, rebuild: { from: 0, to: progress(1) } }, write("page 1"))
      for (const from of [0, 2, undefined]) {
        const taken = cursors.transact({ ...move, rebuild: { from, to: progress(9) } }, write("never"))
        assert.strictEqual((yield* Effect.flip(taken))._tag, "CursorMoved")
      }
      const failed = cursors.transact({ ...move, rebuild: { from: 1, to: progress(2) } }, Effect.fail("broken"))
      assert.strictEqual(yield* Effect.flip(failed), "broken")
      // A batch leaves it as it is.
      yield* cursors.transact({ ...move, to: at(6) }, write("batch"))
      assert.deepStrictEqual(yield* read, { sequence: 6, rebuild: progress(1) })
      yield* cursors.transact({ ...move, from: at(6), to: at(7), rebuild: { from: 1, to: undefined } }, write("end"))
      assert.deepStrictEqual(yield* read, { sequence: 7, rebuild: undefined })
      yield* cursors.transact(
        { ...move, from: at(7), to: at(7), rebuild: { from: undefined, to: progress(0) } },
        Effect.void
      )
      yield* cursors.reset({ partition, reactor: "sql", ...at(3) })
      assert.deepStrictEqual(yield* read, { sequence: 3, rebuild: undefined })
      assert.deepStrictEqual(yield* written, ["batch", "cleared", "end", "page 1"])
    })
  )
}
