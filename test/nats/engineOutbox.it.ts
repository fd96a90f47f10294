/** Messages between organizations of two processes, on a real nats-server and PostgreSQL (docs/outbox.md). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { partitionOf } from "../../src/engine/address.ts"
import { dismissParked, listParked, showParkedRecords } from "../../src/engine/operator/parkedRecords.ts"
import { outboxName } from "../../src/engine/outbox.ts"
import { Placement } from "../../src/engine/ports/Placement.ts"
import { internals } from "../../src/engine/shell/partition/internals.ts"
import { breakingAmount, Purse } from "../simulation/bank/transfers.ts"
import { deployment, type ProcessOptions, type Running, servingEngine } from "./engineSupport.ts"
import { waitUntil } from "./jetStreamSupport.ts"

const partitions = 2

/** A process that runs one of the partitions. */
const running = (options: ProcessOptions, partition: number) =>
  servingEngine({
    ...options,
    partitions,
    engine: { actors: [Purse] },
    placement: Layer.succeed(
      Placement,
      Placement.of({
        place: (_, serve) => Effect.asVoid(Effect.forkScoped(serve(partition), { startImmediately: true })),
        owns: () => Effect.succeed(true)
      })
    )
  })

const purse = (organization: string) => ({ organization, key: "a" })
const send = (engine: Running, amount: number) =>
  engine.ask(Purse, purse("org_1"), {
    _tag: "Send",
    name: "send",
    amount,
    to: [{ organization: "org_2", key: "a" }]
  })
const balance = (engine: Running, organization: string) =>
  Effect.catch(engine.state(Purse, purse(organization)), () => Effect.succeed(-1))
const holds = (engine: Running, organization: string, cents: number) =>
  waitUntil(Effect.map(balance(engine, organization), (found) => found === cents))

describe("messages between two processes", () => {
  it.live(
    "arrive once, over the ends of either; what breaks is parked in the database",
    () =>
      Effect.gen(function* () {
        const { options, sql } = yield* deployment
        const [here, there] = [partitionOf("org_1", partitions), partitionOf("org_2", partitions)]
        assert.notStrictEqual(here, there)
        const sender = yield* running(options, here)
        yield* sender.engine.ask(Purse, purse("org_1"), { _tag: "Fund", name: "fund", amount: 1_000 })
        // Nobody runs the receiver's partition yet.
        for (let count = 0; count < 20; count++) yield* send(sender.engine, 2)
        const receiver = yield* running(options, there)
        yield* holds(receiver.engine, "org_2", 40)
        yield* receiver.stop
        for (let count = 0; count < 20; count++) yield* send(sender.engine, 2)
        yield* sender.stop

        const next = yield* running(options, here)
        const last = yield* running(options, there)
        yield* holds(last.engine, "org_2", 80)
        assert.strictEqual(yield* balance(next.engine, "org_1"), 920)

        yield* send(next.engine, breakingAmount)
        yield* send(next.engine, 3)
        const list = listParked(next.engine, outboxName, { limit: 5 })
        yield* waitUntil(Effect.map(list, ({ records }) => records === 2))
        const rows = yield* sql<{ readonly error: string }>`
          select error from engine_parked where reactor = ${outboxName} order by sequence`
        assert.include(rows[0]!.error, "this amount breaks the rule")
        const { outbox } = internals(next.engine).partitions.get(here)!
        assert.strictEqual(outbox.count, 0)
        const [first] = yield* showParkedRecords(next.engine, outboxName, "org_2", 1)
        // The cursor has to pass it first.
        yield* waitUntil(
          Effect.orElseSucceed(dismissParked(next.engine, here, outboxName, "org_2", { record: first! }), () => false)
        )
        yield* holds(last.engine, "org_2", 83)
        // it is taken off after it was delivered
        yield* waitUntil(Effect.map(list, ({ records }) => records === 0))
      }).pipe(Effect.scoped),
    120_000
  )
})
