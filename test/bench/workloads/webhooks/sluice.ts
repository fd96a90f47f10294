/**
 * Deliveries by the platform, from the emitted event to the recorded outcome. In a closed loop events are emitted as long as fewer than
 * `outstanding` wait for their outcome; in an open loop they are due at fixed times, which they carry in their bodies, so that the sink can tell
 * how long after that moment they arrived.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { type Context, Effect, Metric } from "effect"
import type { Sample } from "../../runner/benchmark.ts"
import { serveWorkload } from "../workload.ts"
import { type DeliveryLoad, failLoudly, outstanding, sampleDeliveries } from "./deliveries.ts"
import { connections, hangingPath, hookPath, momentBefore } from "./events.ts"
import { type Deliveries, startDeliveries } from "./platform.ts"

export interface SluiceLoad extends DeliveryLoad {
  /** Organizations with one endpoint each. */
  readonly endpoints: number
  /** Further ones that never answer, and those that refuse the connection. */
  readonly hanging?: number
  readonly refusing?: number
  /** Where nobody listens. */
  readonly refusingUrl?: string
  /** Of an open loop; the organizations emit in turn. */
  readonly eventsPerSecond?: number
  /** Attempts at the same time, where it is not what the platform has by default. */
  readonly inFlight?: number
}

export interface OpenSample extends Sample {
  readonly emitted: number
  /** Asks that were refused because the engine was full. */
  readonly refused: number
}

/** Asks under way at most. */
const callers = 256
/** How long outcomes may take after the last event. */
const drainMillis = 30_000

const outcomes = (outcome: string) =>
  Metric.counter("sluice_webhook_deliveries_total", {
    description: "Outcomes of deliveries and their attempts",
    incremental: true,
    attributes: { outcome }
  })

const countOf = (context: Context.Context<never>): (() => number) => {
  const succeeded = outcomes("succeeded")
  return () => succeeded.valueUnsafe(context).count
}

/** Emits for ever, never more than `outstanding` ahead of what is recorded. */
const closedLoop = ({ emit }: Deliveries, { endpoints }: SluiceLoad, recorded: () => number) => {
  let asked = 0
  let underWay = 0
  const pump = () => {
    let room = Math.min(callers - underWay, outstanding - (asked - recorded()))
    for (; room > 0; room--) {
      underWay++
      Effect.runCallback(emit(asked % endpoints, asked), {
        onExit: (exit) => {
          underWay--
          if (exit._tag === "Failure") failLoudly(exit.cause)
        }
      })
      asked++
    }
  }
  return Effect.acquireRelease(
    Effect.sync(() => setInterval(pump, 1)),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
}

/** Emits so many a second for a time. */
const openLoop = ({ emit }: Deliveries, organizations: number, perSecond: number, seconds: number) =>
  Effect.promise(
    () =>
      new Promise<OpenSample>((resolve) => {
        const started = performance.now()
        let sent = 0
        let answered = 0
        let refused = 0
        const send = () => {
          const now = performance.now()
          const due = Math.min(((now - started) / 1000) * perSecond, seconds * perSecond)
          for (; sent < due; sent++) {
            const late = now - started - (sent / perSecond) * 1000
            Effect.runCallback(emit(sent % organizations, momentBefore(late)), {
              onExit: (exit) => {
                answered++
                if (exit._tag === "Failure") refused++
              }
            })
          }
          if (sent < seconds * perSecond || answered < sent) return
          clearInterval(timer)
          resolve({ emitted: sent - refused, refused })
        }
        const timer = setInterval(send, 1)
      })
  )

const drained = async (recorded: () => number, expected: number): Promise<void> => {
  for (const deadline = performance.now() + drainMillis; recorded() < expected; ) {
    if (performance.now() > deadline) throw new Error(`${recorded()} of ${expected} outcomes were recorded`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

serveWorkload((load: SluiceLoad) =>
  Effect.gen(function* () {
    const { endpoints, eventsPerSecond, hanging = 0, inFlight = connections, refusing = 0, seconds, url } = load
    const deliveries = yield* startDeliveries(load.dataFolder, {
      capacity: { main: inFlight, slow: inFlight }
    })
    const organizations = endpoints + hanging + refusing
    yield* Effect.forEach(
      Array.from({ length: organizations }, (_, index) => index),
      (index) =>
        deliveries.createEndpoint(
          index,
          index < endpoints
            ? url + hookPath
            : index < endpoints + hanging
              ? url + hangingPath
              : `${load.refusingUrl}${hookPath}`
        ),
      { concurrency: callers, discard: true }
    )
    const recorded = countOf(yield* Effect.context<never>())
    if (eventsPerSecond === undefined) {
      yield* closedLoop(deliveries, load, recorded)
      yield* Effect.sleep(load.warmUpSeconds * 1000)
      return { measure: () => sampleDeliveries(recorded, seconds) }
    }
    const emit = async (forSeconds: number): Promise<OpenSample> => {
      const before = recorded()
      const sample = await Effect.runPromise(openLoop(deliveries, organizations, eventsPerSecond, forSeconds))
      // where some never answer, who waits for outcomes waits for ever
      if (organizations === endpoints) await drained(recorded, before + sample.emitted)
      return sample
    }
    yield* Effect.promise(() => emit(load.warmUpSeconds))
    return { measure: () => emit(seconds) }
  })
)
