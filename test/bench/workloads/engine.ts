/**
 * The durable engine (`sluice/durable`) with servers of its own, callers in its process: durable decisions or asks without
 * facts in a closed loop, where every caller asks again when it has its answer, or durable decisions in an open loop, where
 * asks are due at fixed times and their latency counts from then, whether or not the process was there to send them.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Fiber, Layer } from "effect"
import * as Durable from "../../../src/durable.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import type { AskError } from "../../../src/engine/errors.ts"
import { internals } from "../../../src/engine/shell/partition/internals.ts"
import { Latencies, type LoopSample, sampleOf } from "./latencies.ts"
import { admit, look, organizationOf, Sender } from "./mail.ts"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface EngineLoad {
  readonly partitions: number
  /** Asks under way at any time, each caller's own organization; of an open loop the organizations. */
  readonly callers: number
  /** `Look` is answered from the state, without a fact. */
  readonly ask: "Admit" | "Look"
  /** Asks due per second, for an open loop. */
  readonly duePerSecond?: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

export interface EngineSample extends LoopSample {
  /** Frames the logs grew by. */
  readonly framesPerSecond: number
}

type Ask = (index: number) => Effect.Effect<unknown, AskError>

const asksOf = (engine: Engine["Service"], { ask, callers }: EngineLoad): Ask => {
  const targets = Array.from({ length: callers }, (_, index) => ({ organization: organizationOf(index) }))
  let number = 0
  return ask === "Look"
    ? (index) => engine.ask(Sender, targets[index]!, look)
    : (index) => engine.ask(Sender, targets[index]!, admit(number++))
}

/** Never ends; a failed ask ends it. */
const closedLoop = (ask: Ask, callers: number, latencies: Latencies) =>
  Effect.forEach(
    Array.from({ length: callers }, (_, index) => index),
    (index) => {
      let sent = 0
      return Effect.whileLoop({
        while: () => true,
        body: () => {
          sent = performance.now()
          return Effect.orDie(ask(index))
        },
        step: () => latencies.record(performance.now() - sent)
      })
    },
    { concurrency: "unbounded", discard: true }
  )

/** Never ends; an ask that fails ends it, unless it was refused at once: that one counts as the longest. */
const openLoop = (ask: Ask, { callers, duePerSecond = 1 }: EngineLoad, latencies: Latencies) =>
  Effect.callback<never>((resume) => {
    const start = performance.now()
    let sent = 0
    const send = () => {
      const due = ((performance.now() - start) / 1000) * duePerSecond
      for (; sent < due; sent++) {
        const dueAt = start + (sent / duePerSecond) * 1000
        const answered = Effect.match(ask(sent % callers), {
          onFailure: (error) => {
            if (error._tag === "Overloaded") latencies.refuse()
            else resume(Effect.die(error))
          },
          onSuccess: () => latencies.record(performance.now() - dueAt)
        })
        Effect.runFork(answered)
      }
    }
    const timer = setInterval(send, 1)
    return Effect.sync(() => clearInterval(timer))
  })

const framesOf = (engine: Engine["Service"]) =>
  Effect.map(
    Effect.forEach([...internals(engine).partitions.values()], (partition) => Effect.orDie(partition.log!.state)),
    (states) => states.reduce((sum, { lastSequence }) => sum + lastSequence, 0)
  )

serveWorkload((load: EngineLoad & { readonly dataFolder: string }) =>
  Effect.gen(function* () {
    const servers = yield* startServers(load.dataFolder)
    const services = yield* Layer.build(
      Durable.layer({ actors: [Sender], config: { partitions: load.partitions } }, servers)
    )
    const engine = Context.get(services, Engine)
    yield* engine.ready
    const latencies = new Latencies()
    const ask = asksOf(engine, load)
    const loop =
      load.duePerSecond === undefined ? closedLoop(ask, load.callers, latencies) : openLoop(ask, load, latencies)
    const looping = yield* Effect.forkScoped(loop)
    yield* Effect.sleep(load.warmUpSeconds * 1000)
    const measure = async (): Promise<EngineSample> => {
      const before = await Effect.runPromise(framesOf(engine))
      const started = performance.now()
      // A failed ask ends the loop, and with it the measurement.
      const ended = Effect.runPromise(Fiber.join(looping)) as Promise<never>
      const sample = await Promise.race([sampleOf(latencies, load.seconds), ended])
      ended.catch(() => {})
      const frames = (await Effect.runPromise(framesOf(engine))) - before
      return { ...sample, framesPerSecond: (frames / (performance.now() - started)) * 1000 }
    }
    return { measure }
  })
)
