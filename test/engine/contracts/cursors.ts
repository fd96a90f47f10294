/**
 * What every `Cursors` promises, whatever stands behind it. `cursorsContract` runs it against a layer that also says how an effect is done in that
 * store (a row in a table, an element of a list); each test takes a partition that no other one uses.
 */
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, type Layer } from "effect"
import { emptyLogHash, type LogPosition } from "../../../src/engine/Checkpoints.ts"
import { Cursors, type ParkedRecord, ReactorTransaction } from "../../../src/engine/Cursors.ts"

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

let nextPartition = 3000

const freshPartition = (): number => nextPartition++

const start: LogPosition = { sequence: 0, hash: emptyLogHash }
const place = (sequence: number): LogPosition => ({ sequence, hash: sequence.toString(16).padStart(64, "f") })

const move = (partition: number, from: LogPosition, to: LogPosition) => ({ partition, reactor: "sql", from, to })

const parkedRecord = (partition: number, sequence: number, index: number, organization = "org_1"): ParkedRecord => ({
  partition,
  reactor: "sql",
  organization,
  sequence,
  index,
  record: `{"at":${sequence}}`,
  error: 'it\'s broken\n"badly"'
})

export const cursorsContract = <E>(name: string, services: Layer.Layer<Cursors | EffectsHarness, E>): void => {
  layer(services, { excludeTestServices: true, timeout: 120_000 })(`Cursors: ${name}`, (it) => cases(it))
}

const fresh = Effect.gen(function* () {
  const cursors = yield* Cursors
  const harness = yield* EffectsHarness
  const partition = freshPartition()
  const write = (text: string) => harness.write(partition, text)
  return { cursors, partition, write, written: Effect.suspend(() => harness.written(partition)) }
})

const cases = (it: Vitest.MethodsNonLive<Cursors | EffectsHarness>): void => {
  it.effect("a cursor that never moved stands before the log and is not listed", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      assert.deepStrictEqual(yield* cursors.read(partition, "sql"), { partition, reactor: "sql", ...start })
      assert.deepStrictEqual(yield* cursors.list(partition), [])
    })
  )

  it.effect("effects and the move are committed together, with the value and what was to follow the commit", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const told: Array<string> = []
      const value = yield* cursors.transact(
        move(partition, start, place(5)),
        Effect.gen(function* () {
          const transaction = yield* ReactorTransaction
          transaction.onCommit(() => told.push("first"))
          yield* write("one")
          yield* write("two")
          transaction.onCommit(() => told.push("second"))
          assert.deepStrictEqual(told, [])
          return 42
        })
      )
      assert.strictEqual(value, 42)
      assert.deepStrictEqual(told, ["first", "second"])
      assert.sameMembers([...(yield* written)], ["one", "two"])
      assert.deepStrictEqual(yield* cursors.list(partition), [{ partition, reactor: "sql", ...place(5) }])
    })
  )

  it.effect("a failure of the effects undoes them and leaves the cursor", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const told: Array<string> = []
      for (const failure of [Effect.fail("no"), Effect.die(new Error("no"))]) {
        const exit = yield* Effect.exit(
          cursors.transact(
            move(partition, start, place(5)),
            Effect.gen(function* () {
              const transaction = yield* ReactorTransaction
              transaction.onCommit(() => told.push("never"))
              yield* write("one")
              yield* failure
            })
          )
        )
        assert.isTrue(Exit.isFailure(exit))
      }
      assert.deepStrictEqual([told, yield* written], [[], []])
      assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 0)
    })
  )

  it.effect("a cursor that stands elsewhere, by sequence or by hash, rolls everything back", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      yield* cursors.transact(move(partition, start, place(5)), Effect.void)
      for (const from of [start, place(4), { sequence: 5, hash: emptyLogHash }]) {
        const error = yield* Effect.flip(cursors.transact(move(partition, from, place(9)), write("zombie")))
        assert.deepInclude(error, { _tag: "CursorMoved" })
      }
      assert.deepStrictEqual(yield* written, [])
      assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 5)
    })
  )

  it.effect("of two that move the same cursor at once, exactly one does its effects", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const exits = yield* Effect.forEach(
        [1, 2, 3, 4],
        (n) => Effect.exit(cursors.transact(move(partition, start, place(n)), write(`by ${n}`))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      const { sequence } = yield* cursors.read(partition, "sql")
      assert.deepStrictEqual(yield* written, [`by ${sequence}`])
    })
  )

  it.effect("an interruption before the commit rolls back", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const reached = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        cursors.transact(
          move(partition, start, place(5)),
          Effect.gen(function* () {
            yield* write("one")
            yield* Deferred.succeed(reached, undefined)
            yield* Effect.never
          })
        )
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* written, [])
      yield* cursors.transact(move(partition, start, place(6)), write("two"))
      assert.deepStrictEqual(yield* written, ["two"])
    })
  )

  it.effect("a failed attempt is undone alone; the transaction goes on", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      yield* cursors.transact(
        move(partition, start, place(5)),
        Effect.gen(function* () {
          yield* write("before")
          const failed = yield* Effect.exit(cursors.attempt(Effect.andThen(write("undone"), Effect.fail("no"))))
          assert.isTrue(Exit.isFailure(failed))
          yield* cursors.attempt(write("kept"))
          yield* write("after")
        })
      )
      assert.sameMembers([...(yield* written)], ["before", "kept", "after"])
    })
  )

  it.effect("records are parked with the move, once each, by organization and in log order", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      const records = [parkedRecord(partition, 5, 1), parkedRecord(partition, 4, 0), parkedRecord(partition, 4, 0)]
      yield* Effect.exit(
        cursors.transact(
          move(partition, start, place(5)),
          Effect.andThen(cursors.park(records), Effect.fail("rolled back"))
        )
      )
      assert.deepStrictEqual(yield* cursors.parkedOrganizations(partition, "sql"), [])
      yield* cursors.transact(move(partition, start, place(5)), cursors.park(records))
      yield* cursors.transact(
        move(partition, place(5), place(6)),
        cursors.park([...records, parkedRecord(partition, 6, 0, "org_2")])
      )
      const counts = yield* cursors.parkedOrganizations(partition, "sql")
      assert.sameDeepMembers(
        [...counts],
        [
          { organization: "org_1", count: 2 },
          { organization: "org_2", count: 1 }
        ]
      )
      assert.deepStrictEqual(yield* cursors.parkedOrganizations(partition, "other"), [])
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 10), [
        parkedRecord(partition, 4, 0),
        parkedRecord(partition, 5, 1)
      ])
      assert.strictEqual((yield* cursors.parked(partition, "sql", "org_1", 1)).length, 1)
    })
  )

  it.effect("parked records leave together with what is done about them, or stay", () =>
    Effect.gen(function* () {
      const { cursors, partition, write, written } = yield* fresh
      const records = [parkedRecord(partition, 1, 0), parkedRecord(partition, 2, 0)]
      yield* cursors.transact(move(partition, start, place(2)), cursors.park(records))
      yield* Effect.exit(cursors.unpark(records, Effect.andThen(write("undone"), Effect.fail("again"))))
      assert.strictEqual((yield* cursors.parked(partition, "sql", "org_1", 9)).length, 2)
      yield* cursors.unpark([records[0]!], write("done"))
      assert.deepStrictEqual(yield* cursors.parked(partition, "sql", "org_1", 9), [records[1]!])
      assert.deepStrictEqual(yield* written, ["done"])
    })
  )

  it.effect("an operator sets a cursor without a comparison", () =>
    Effect.gen(function* () {
      const { cursors, partition } = yield* fresh
      yield* cursors.transact(move(partition, start, place(9)), Effect.void)
      yield* cursors.reset({ partition, reactor: "sql", ...place(3) })
      yield* cursors.reset({ partition, reactor: "new", ...place(2) })
      assert.strictEqual((yield* cursors.read(partition, "sql")).sequence, 3)
      yield* cursors.transact({ partition, reactor: "new", from: place(2), to: place(4) }, Effect.void)
    })
  )
}
