/**
 * CPU of a command for another organization, in memory: as a message of a decision, until it is decided there, or as a second ask after the first.
 * Callers in a closed loop ask; checkpoints are taken meanwhile.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import { Engine, layerMemory } from "../../../src/engine/Engine.ts"
import { internals } from "../../../src/engine/shell/partition/internals.ts"
import type { Sample } from "../runner/benchmark.ts"
import { organizationOf } from "./mail.ts"
import { serveWorkload } from "./workload.ts"

export interface CpuOfMessagesLoad {
  readonly way: "message" | "second ask"
  readonly callers: number
  readonly warmUp: number
  readonly transfers: number
}

export interface CpuOfMessagesSample extends Sample {
  /** User and system time of the process for both decisions, microseconds. */
  readonly microsPerTransfer: number
}

const Command = Schema.Struct({ id: Schema.String, amount: Schema.Number, to: Schema.optionalKey(Schema.String) })

/** Adds up what comes, and passes it on where the command says so. */
const Till: Actor.Actor<typeof Command.Type, number, number, void, never> = Actor.make<
  typeof Command.Type,
  number,
  number
>({
  kind: "till",
  command: Command,
  fact: Schema.Number,
  state: Schema.Number,
  initial: () => 0,
  decide: (_, { amount, id, to }) =>
    Actor.decided({
      facts: [amount],
      messages: to === undefined ? [] : [Actor.message(Till, to, "", { id, amount })]
    }),
  evolve: (sum, amount) => sum + amount
})

/** Transfers once: from a caller's organization to that of the next one. */
const transferOf = (engine: Engine["Service"], { callers, way }: CpuOfMessagesLoad) => {
  const names = Array.from({ length: callers }, (_, index) => organizationOf(index))
  return (number: number) => {
    const from = { organization: names[number % callers]! }
    const to = names[(number + 1) % callers]!
    const command = { id: `transfer_${number}`, amount: 1 }
    return way === "message"
      ? engine.ask(Till, from, { ...command, to })
      : Effect.andThen(engine.ask(Till, from, command), engine.ask(Till, { organization: to }, command))
  }
}

/** Transfers `count` times from number `from` on, and waits until all messages are done. */
const transferAll = (engine: Engine["Service"], load: CpuOfMessagesLoad, from: number, count: number) => {
  const transfer = transferOf(engine, load)
  let next = from
  const loop = Effect.whileLoop({
    while: () => next < from + count,
    body: () => Effect.orDie(transfer(next++)),
    step: () => {}
  })
  const { partitions } = internals(engine)
  const isDone = () => [...partitions.values()].every(({ outbox }) => outbox.count === 0)
  return Effect.andThen(
    Effect.forEach(Array.from({ length: load.callers }), () => loop, { concurrency: "unbounded", discard: true }),
    Effect.repeat(Effect.sleep("1 millis"), { until: isDone })
  )
}

serveWorkload((load: CpuOfMessagesLoad) =>
  Effect.gen(function* () {
    const services = yield* Layer.build(layerMemory({ actors: [Till] }))
    const engine = Context.get(services, Engine)
    yield* transferAll(engine, load, 0, load.warmUp)
    const measure = async (): Promise<CpuOfMessagesSample> => {
      const before = process.cpuUsage()
      await Effect.runPromise(transferAll(engine, load, load.warmUp, load.transfers))
      const { system, user } = process.cpuUsage(before)
      return { microsPerTransfer: (system + user) / load.transfers }
    }
    return { measure }
  })
)
