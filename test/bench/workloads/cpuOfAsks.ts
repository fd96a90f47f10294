/**
 * CPU of the engine for each decision, in memory: no server, no disk. Callers in a closed loop ask for durable decisions: as they are, under an
 * idempotency key each, which no ask has used before, or each of an actor of its own, which it claims to be fresh or which is looked for in the
 * checkpoints. Checkpoints are taken meanwhile.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer } from "effect"
import { Engine, layerMemory } from "../../../src/engine/Engine.ts"
import type { OnceError } from "../../../src/engine/errors.ts"
import type { Sample } from "../runner/benchmark.ts"
import { admit, organizationOf, Sender } from "./mail.ts"
import { serveWorkload } from "./workload.ts"

export interface CpuOfAsksLoad {
  readonly ask: "plain" | "once" | "fresh actor" | "loaded actor"
  readonly callers: number
  readonly warmUpAsks: number
  readonly asks: number
}

export interface CpuOfAsksSample extends Sample {
  /** User and system time of the process for each decision, microseconds. */
  readonly microsPerDecision: number
}

type Ask = (number: number) => Effect.Effect<unknown, OnceError>

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

const askOf = (engine: Engine["Service"], { ask, callers }: CpuOfAsksLoad): Ask => {
  const targets = Array.from({ length: callers }, (_, index) => ({ organization: organizationOf(index) }))
  const targetOf = (number: number) => targets[number % callers]!
  if (ask === "plain") return (number) => engine.ask(Sender, targetOf(number), admit(number))
  if (ask === "once")
    return (number) => engine.askOnce(Sender, targetOf(number), admit(number), { key: `key_${number}`, digest })
  const fresh = ask === "fresh actor"
  return (number) => engine.ask(Sender, { ...targetOf(number), key: `key_${number}`, fresh }, admit(number))
}

/** Asks `count` times, from number `from` on. */
const askAll = (ask: Ask, callers: number, from: number, count: number) => {
  let next = from
  return Effect.forEach(
    Array.from({ length: callers }),
    () =>
      Effect.whileLoop({
        while: () => next < from + count,
        body: () => Effect.orDie(ask(next++)),
        step: () => {}
      }),
    { concurrency: "unbounded", discard: true }
  )
}

serveWorkload((load: CpuOfAsksLoad) =>
  Effect.gen(function* () {
    const services = yield* Layer.build(layerMemory({ actors: [Sender] }))
    const engine = Context.get(services, Engine)
    const ask = askOf(engine, load)
    yield* askAll(ask, load.callers, 0, load.warmUpAsks)
    const measure = async (): Promise<CpuOfAsksSample> => {
      const before = process.cpuUsage()
      await Effect.runPromise(askAll(ask, load.callers, load.warmUpAsks, load.asks))
      const { system, user } = process.cpuUsage(before)
      return { microsPerDecision: (system + user) / load.asks }
    }
    return { measure }
  })
)
